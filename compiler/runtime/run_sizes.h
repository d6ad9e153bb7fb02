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

// An axis of an input, which the caller sizes: constant + sum of sizes times factors.
struct InputAxis {
  struct Part {
    uint32_t size = 0;  // Index into RunSizes::sizes.
    int64_t factor = 1;

    friend bool operator==(const Part&, const Part&) = default;
  };
  uint32_t input = 0;
  uint32_t axis = 0;
  int64_t constant = 0;
  std::vector<Part> parts;

  // Whether the axis says by itself what the size is.
  bool GivesSize() const { return constant == 0 && parts.size() == 1 && parts[0].factor == 1; }
  friend bool operator==(const InputAxis&, const InputAxis&) = default;
};

struct RunSizes {
  std::vector<RunSize> sizes;
  std::vector<BoundedAxis> axes;
  // In a section of their own. A size that one of them gives is written by the session, and by no
  // step.
  std::vector<InputAxis> inputs = {};

  bool empty() const { return sizes.empty() && axes.empty(); }
  // By size: whether an input's axis gives it.
  std::vector<bool> GivenSizes() const;
  friend bool operator==(const RunSizes&, const RunSizes&) = default;
};

// Each without what has a section of its own.
std::string EncodeRunSizes(const RunSizes& sizes);
std::string EncodeInputAxes(const std::vector<InputAxis>& axes);
// kDataLoss: not such bytes. Checks no meaning.
RuntimeOr<RunSizes> DecodeRunSizes(std::span<const uint8_t> bytes);
RuntimeOr<std::vector<InputAxis>> DecodeInputAxes(std::span<const uint8_t> bytes);

// An input of a call: its name, and the shape that the caller gave.
struct ShapedInput {
  std::string name;
  std::vector<int64_t> shape;
};
// Sets those of `extents`, one a size, that the inputs' shapes give. `inputs`: all of the model's,
// each of its rank. kInvalidArgument, with the input, the axis, the size and the range: a size
// outside of its range, or inputs that disagree.
RuntimeStatus ReadGivenSizes(const RunSizes& sizes, std::span<const ShapedInput> inputs,
                             std::span<int64_t> extents);
// An input's shape where the sizes are these.
std::vector<int64_t> InputShapeInRun(const RunSizes& sizes, size_t input,
                                     const std::vector<int64_t>& bound,
                                     std::span<const int64_t> extents);

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
