// Sizes that only a run knows: axes of outputs whose extent in the manifest is the greatest, and
// where a run leaves how much of it holds (docs/adr/0013-bounded-axes.md).
#ifndef COMPILER_RUNTIME_RUN_SIZES_H_
#define COMPILER_RUNTIME_RUN_SIZES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/place.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/tensor_info.h"

namespace burnish {

struct RunSize {
  std::string name;  // For people.
  Place place;       // An i64 in the arena, which a step writes and nothing overwrites.
  int64_t least = 0, greatest = 0;

  friend bool operator==(const RunSize&, const RunSize&) = default;
};

struct BoundedAxis {
  Region region = Region::kOutput;
  uint32_t tensor = 0;  // Its number among the model's outputs.
  uint32_t axis = 0;
  uint32_t size = 0;  // Index into RunSizes::sizes.

  friend bool operator==(const BoundedAxis&, const BoundedAxis&) = default;
};

struct RunSizes {
  std::vector<RunSize> sizes;
  std::vector<BoundedAxis> axes;

  bool empty() const { return sizes.empty() && axes.empty(); }
  friend bool operator==(const RunSizes&, const RunSizes&) = default;
};

std::string EncodeRunSizes(const RunSizes& sizes);
// kDataLoss: not such bytes. Checks no meaning.
RuntimeOr<RunSizes> DecodeRunSizes(std::span<const uint8_t> bytes);

// The tensor's shape in a run that left these extents, one a size.
std::vector<int64_t> ShapeInRun(const RunSizes& sizes, Region region, size_t tensor,
                                const std::vector<int64_t>& bound,
                                std::span<const int64_t> extents);

// Moves the elements of a dense tensor of shape `bound` that lie within `shape` to where a dense
// tensor of that shape has them.
void MoveTogether(int element_bytes, std::span<const int64_t> bound, std::span<const int64_t> shape,
                  uint8_t* data);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_RUN_SIZES_H_
