// A bundle before it is a file: its weights lie where they were made, and bundles for several
// bounds have most of them in common.
#ifndef COMPILER_DRIVER_UNWRITTEN_BUNDLE_H_
#define COMPILER_DRIVER_UNWRITTEN_BUNDLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/constant.h"
#include "compiler/runtime/bundle_manifest.h"

namespace burnish {

struct UnwrittenBundle {
  BundleManifest manifest;
  std::vector<uint8_t> elf;
  std::vector<ConstantPtr> weights;         // Of manifest.constants.
  std::string refit, plan, packs, program;  // Of RefitSections.
  std::vector<std::string> variants = {};   // Of WriteVariant, from the smallest.
};

// Kernels ask for 64 bytes at most; the section of the weights itself is aligned to a page.
inline constexpr size_t kWeightAlignment = 64;

// Puts a constant behind the others.
void AddWeight(const std::string& name, ConstantPtr bytes, UnwrittenBundle& bundle);

// Errors: WriteBundle's.
absl::StatusOr<std::string> Write(const UnwrittenBundle& bundle);

}  // namespace burnish

#endif  // COMPILER_DRIVER_UNWRITTEN_BUNDLE_H_
