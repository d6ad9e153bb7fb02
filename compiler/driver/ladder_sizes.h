// The sizes of a bundle for smaller bounds, as the bundle for all sizes has them.
#ifndef COMPILER_DRIVER_LADDER_SIZES_H_
#define COMPILER_DRIVER_LADDER_SIZES_H_

#include "absl/status/status.h"
#include "compiler/runtime/bundle_manifest.h"

namespace burnish {

// Writes the sizes of `variant`, and all that counts them, in the order of those of `whole`. What a
// run decides in `whole` may be fixed in `variant`, whose range is narrower: such a size has one
// value, and a number of the arena has it from the start. Errors: INVALID_ARGUMENT where the inputs
// or outputs do not hold the same as those of `whole` in any run of the narrower range.
absl::Status TakeSizesOf(const BundleManifest& whole, BundleManifest& variant);

}  // namespace burnish

#endif  // COMPILER_DRIVER_LADDER_SIZES_H_
