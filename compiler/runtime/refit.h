// New weights for the code of a bundle: which of the model's parameters can be replaced, and how
// each is packed. Nothing is compiled: the bundle carries its pack functions along.
//
// A parameter can be replaced when the compiler took it as it is: what it folded with others,
// shared or rewrote is not in the bundle in the model's own terms.
#ifndef COMPILER_RUNTIME_REFIT_H_
#define COMPILER_RUNTIME_REFIT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/artifact.h"
#include "compiler/runtime/call_tensor.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/tensor_info.h"

namespace burnish {

// A parameter as a pack function, or the weights section itself, has it.
struct RefitInput {
  uint32_t parameter = 0;  // Index into RefitInfo::parameters.
  TensorInfo tensor;       // As many elements, maybe in another order and of another shape.
  // By axis of `tensor`: steps in elements of the dense parameter.
  std::vector<int64_t> source_strides;
  uint64_t storage_bytes = 0;  // That `tensor` lies in.
  uint64_t border_bits = 0;    // Element that fills what `tensor` leaves of it.

  friend bool operator==(const RefitInput&, const RefitInput&) = default;
};

struct RefitOutput {
  uint64_t offset_bytes = 0, size_bytes = 0;  // In the weights section.

  friend bool operator==(const RefitOutput&, const RefitOutput&) = default;
};

// What becomes of parameters in the weights section.
struct RefitRecipe {
  int32_t pack = -1;  // Kernel of the pack artifact; -1: the one input as it lies.
  std::vector<RefitInput> inputs;
  std::vector<RefitOutput> outputs;

  friend bool operator==(const RefitRecipe&, const RefitRecipe&) = default;
};

struct RefitInfo {
  std::vector<TensorInfo> parameters;  // As the model has them, dense; names are unique.
  std::vector<RefitRecipe> recipes;

  friend bool operator==(const RefitInfo&, const RefitInfo&) = default;
};

std::string EncodeRefit(const RefitInfo& info);
// kDataLoss: not such bytes.
RuntimeOr<RefitInfo> DecodeRefit(std::span<const uint8_t> bytes);

// kInvalidArgument unless every index names something, tensors lie inside of their storages,
// outputs inside of the weights, and buffers are as large as pack functions want them. `packs` may
// be nullptr.
RuntimeStatus CheckRefit(const RefitInfo& info, uint64_t weights_bytes, const Artifact* packs);

// Parameter bytes in storage, the border where no element lies.
std::vector<uint8_t> LayOut(const RefitInput& input, const uint8_t* dense);

// Runs pack function `index` on memory like LayOut's, one for each input of the function.
RuntimeOr<std::vector<std::vector<uint8_t>>> RunPack(
    const Artifact& packs, int32_t index, const std::vector<std::vector<uint8_t>>& inputs);

struct Replacement {
  std::string name;
  GivenTensor tensor;
};

// Writes what the replacements change into `weights`. `info` was checked. kOutOfRange: no such
// parameter, or one that cannot be replaced; kInvalidArgument: another type or shape, one given
// twice, one of several that are packed together.
RuntimeStatus ApplyRefit(const RefitInfo& info, const Artifact* packs,
                         std::span<const Replacement> replacements, std::span<uint8_t> weights);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_REFIT_H_
