#include "compiler/ir/contract.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

// Elements: 1 TiB of the smallest. The bound of each number alone, too, so that a product of two of
// them fits 128 bits.
constexpr int64_t kNumberMax = int64_t{1} << 40;

absl::Status Malformed(absl::string_view line) {
  return absl::InvalidArgumentError(absl::StrCat(
      "contract: got \"", line.substr(0, 200),
      "\", want \"parameter N strides S,.. [border A:B,.. value V] offset O [align A]\""));
}

bool ReadNumber(absl::string_view text, int64_t* number) {
  return absl::SimpleAtoi(text, number) && *number >= 0 && *number <= kNumberMax;
}

bool ReadStrides(absl::string_view text, std::vector<int64_t>* strides) {
  if (text == "-") return true;  // A scalar.
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    if (!ReadNumber(part, &strides->emplace_back())) return false;
  }
  return true;
}

bool ReadBorder(absl::string_view text, std::vector<std::pair<int64_t, int64_t>>* border) {
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> sides = absl::StrSplit(part, ':');
    auto& [below, above] = border->emplace_back();
    if (sides.size() != 2 || !ReadNumber(sides[0], &below) || !ReadNumber(sides[1], &above)) {
      return false;
    }
  }
  return true;
}

// In hexadecimal, so that every bit comes back.
std::string ValueText(double value) { return absl::StrFormat("%a", value); }

// One line into *parameter and *storage.
bool ReadLine(absl::string_view line, int64_t* parameter, Storage* storage) {
  std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() >= 2 && words[words.size() - 2] == "align") {
    const int64_t dense = storage->alignment_bytes;
    int64_t& alignment = storage->alignment_bytes;
    if (!ReadNumber(words.back(), &alignment) || alignment < 1 || alignment >= dense ||
        (alignment & (alignment - 1)) != 0) {
      return false;
    }
    words.resize(words.size() - 2);
  }
  const bool bordered = words.size() == 10;
  if (words.size() != 6 && !bordered) return false;
  if (words[0] != "parameter" || !ReadNumber(words[1], parameter) || words[2] != "strides" ||
      !ReadStrides(words[3], &storage->strides)) {
    return false;
  }
  if (bordered) {
    if (words[4] != "border" || !ReadBorder(words[5], &storage->border) || words[6] != "value") {
      return false;
    }
    // Not checked here: ApplyContract compares the whole text with what it would have written.
    storage->border_value = std::strtod(std::string(words[7]).c_str(), nullptr);
  }
  return words[words.size() - 2] == "offset" && ReadNumber(words.back(), &storage->offset);
}

// All that may be touched lies between the start of the allocation and kNumberMax elements.
absl::Status CheckExtent(const Buffer& buffer) {
  // In 128 bits: the text is foreign, and 2^40 times 2^40 would wrap in 64.
  __int128 first = buffer.storage.offset;
  __int128 last = buffer.storage.offset;
  for (size_t d = 0; d < buffer.shape.size(); ++d) {
    const auto [below, above] = BorderOf(buffer, static_cast<int>(d));
    first -= static_cast<__int128>(below) * buffer.storage.strides[d];
    last += static_cast<__int128>(buffer.shape[d] - 1 + above) * buffer.storage.strides[d];
  }
  if (first >= 0 && last < kNumberMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("contract: the storage of ", buffer.name, " leaves its memory"));
}

bool IsDense(const Buffer& buffer) {
  const Storage dense = DenseStorage(buffer.shape);
  return SameStorage(buffer.storage, dense) &&
         buffer.storage.alignment_bytes >= dense.alignment_bytes;
}

}  // namespace

bool SameStorage(const Storage& a, const Storage& b) {
  return a.strides == b.strides && a.border == b.border && a.offset == b.offset &&
         (a.border.empty() || a.border_value == b.border_value);
}

std::vector<BufferId> ParametersOf(const Program& program) {
  std::vector<BufferId> parameters;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const BufferRole role = program.buffers[i].role;
    if (role == BufferRole::kInput || role == BufferRole::kConstant ||
        role == BufferRole::kOutput) {
      parameters.push_back(static_cast<BufferId>(i));
    }
  }
  return parameters;
}

std::string ContractOf(const Program& program) {
  std::string text;
  int parameter = -1;
  for (const BufferId id : ParametersOf(program)) {
    ++parameter;
    const Buffer& buffer = program.buffers[id];
    if (IsDense(buffer)) continue;
    const Storage& storage = buffer.storage;
    absl::StrAppend(&text, "parameter ", parameter, " strides ",
                    storage.strides.empty() ? "-" : absl::StrJoin(storage.strides, ","));
    if (!storage.border.empty()) {
      absl::StrAppend(&text, " border ",
                      absl::StrJoin(storage.border, ",", absl::PairFormatter(":")), " value ",
                      ValueText(storage.border_value));
    }
    absl::StrAppend(&text, " offset ", storage.offset);
    if (storage.alignment_bytes < Storage().alignment_bytes) {
      absl::StrAppend(&text, " align ", storage.alignment_bytes);
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

absl::Status ApplyContract(absl::string_view text, Program& program) {
  if (text.empty()) return absl::OkStatus();
  if (text.size() > kContractBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("contract: got ", text.size(), " bytes, want at most ", kContractBytesMax));
  }
  const std::vector<BufferId> parameters = ParametersOf(program);
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    int64_t parameter = 0;
    Storage storage;
    if (!ReadLine(line, &parameter, &storage)) return Malformed(line);
    if (parameter >= static_cast<int64_t>(parameters.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("contract: got parameter ", parameter, " of ", parameters.size()));
    }
    Buffer& buffer = program.buffers[parameters[parameter]];
    const size_t rank = buffer.shape.size();
    if (storage.strides.size() != rank ||
        (!storage.border.empty() && storage.border.size() != rank)) {
      return absl::InvalidArgumentError(
          absl::StrCat("contract: parameter ", parameter, " has ", rank, " dimensions"));
    }
    // Where the text says nothing, what the program was made with stays.
    if (storage.alignment_bytes == Storage().alignment_bytes) {
      storage.alignment_bytes = buffer.storage.alignment_bytes;
    }
    buffer.storage = std::move(storage);
    RETURN_IF_ERROR(CheckExtent(buffer));
  }
  // One spelling only: the text is a part of a record's key, where two spellings would be two
  // tasks. This also finds lines out of order, a parameter named twice, and one that lies densely.
  if (ContractOf(program) != text) {
    return absl::InvalidArgumentError("contract: got lines that are not spelled as they should be");
  }
  return absl::OkStatus();
}

}  // namespace burnish
