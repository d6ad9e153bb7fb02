#include "compiler/driver/unwritten_bundle.h"

#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "compiler/runtime/bundle.h"

namespace burnish {
namespace {

std::span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

void AddWeight(const std::string& name, ConstantPtr bytes, UnwrittenBundle& bundle) {
  uint64_t& end = bundle.manifest.weights_bytes;
  end = (end + kWeightAlignment - 1) / kWeightAlignment * kWeightAlignment;
  bundle.manifest.constants.push_back(
      {.name = name, .offset_bytes = end, .size_bytes = bytes->bytes().size()});
  end += bytes->bytes().size();
  bundle.weights.push_back(std::move(bytes));
}

absl::StatusOr<std::string> Write(const UnwrittenBundle& bundle) {
  constexpr uint8_t kZeros[kWeightAlignment] = {};
  std::vector<std::span<const uint8_t>> weights;
  uint64_t end = 0;
  for (size_t i = 0; i < bundle.weights.size(); ++i) {
    const absl::Span<const uint8_t> bytes = bundle.weights[i]->bytes();
    const uint64_t begin = bundle.manifest.constants[i].offset_bytes;
    weights.push_back(std::span(kZeros).first(begin - end));
    weights.push_back({bytes.data(), bytes.size()});
    end = begin + bytes.size();
  }
  RuntimeOr<std::string> written =
      WriteBundleOfPieces(bundle.manifest, bundle.elf, std::move(weights),
                          {.refit = BytesOf(bundle.refit),
                           .plan = BytesOf(bundle.plan),
                           .packs = BytesOf(bundle.packs),
                           .program = BytesOf(bundle.program)},
                          bundle.variants);
  if (!written.ok()) {
    return absl::Status(static_cast<absl::StatusCode>(written.status().code()),
                        absl::StrCat("bundle: ", written.status().message()));
  }
  return *std::move(written);
}

}  // namespace burnish
