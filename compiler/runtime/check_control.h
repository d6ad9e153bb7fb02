// The part of CheckManifest that is about loops and branches. Of use to nobody but CheckManifest
// and its tests.
#ifndef COMPILER_RUNTIME_CHECK_CONTROL_H_
#define COMPILER_RUNTIME_CHECK_CONTROL_H_

#include <cstdint>
#include <vector>

#include "compiler/runtime/bundle_manifest.h"

namespace burnish {

// kInvalidArgument unless `size_bytes` at `place` lie in its region. Of a walker's place: in what
// may be touched at each of its addresses.
RuntimeStatus CheckPlace(const BundleManifest& manifest, const Place& place, uint64_t size_bytes);

// False: weights or a model input, in some iteration.
bool IsWritable(const BundleManifest& manifest, const Place& place);

// Blocks nest, and every walker stays in its region in each iteration.
RuntimeStatus CheckControl(const BundleManifest& manifest);

// The innermost block around each step; kNoBlock where there is none. Of a checked program.
std::vector<uint32_t> BlocksOfSteps(const BundleManifest& manifest);

// Whether `place` means something inside of `block`: its walker is of a loop around that, or of
// that.
bool IsInScope(const ControlProgram& control, const Place& place, uint32_t block);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_CHECK_CONTROL_H_
