#include "compiler/runtime/number_notes.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "compiler/runtime/byte_archive.h"

namespace burnish {
namespace {

// A path, and words around it.
constexpr size_t kTextBytesMax = 8192;

template <typename Archive>
void Fields(Archive& archive, NumberNotes& notes) {
  archive.Numbers(notes.step_types);
  auto bits = std::bit_cast<uint64_t>(notes.error);
  archive.Number(bits);
  notes.error = std::bit_cast<double>(bits);
  archive.Text(notes.measured_on);
}

}  // namespace

std::string EncodeNumberNotes(const NumberNotes& notes) {
  ByteWriter writer;
  NumberNotes copy = notes;
  Fields(writer, copy);
  return writer.Take();
}

RuntimeOr<NumberNotes> DecodeNumberNotes(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  NumberNotes notes;
  Fields(reader, notes);
  if (!reader.ok() || !reader.AtEnd()) {
    return RuntimeStatus(RuntimeCode::kDataLoss, "damaged file: what it says of its numbers");
  }
  return notes;
}

RuntimeStatus CheckNumberNotes(const NumberNotes& notes, size_t step_count) {
  const auto is_known = [](ElementType type) { return ElementBytes(type) > 0; };
  const bool has_types = notes.step_types.empty() ||
                         (notes.step_types.size() == step_count &&
                          std::all_of(notes.step_types.begin(), notes.step_types.end(), is_known));
  const bool has_error =
      notes.error == NumberNotes::kNotMeasured || (std::isfinite(notes.error) && notes.error >= 0);
  if (has_types && has_error && notes.measured_on.size() <= kTextBytesMax) return RuntimeStatus();
  return RuntimeStatus(RuntimeCode::kInvalidArgument,
                       "what the bundle says of its numbers is not of its steps");
}

}  // namespace burnish
