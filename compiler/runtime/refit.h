// New weights for the code of a bundle: which of the model's parameters can be replaced, and how
// each is packed. Nothing is compiled: the bundle carries its pack functions along.
//
// Without a plan, a parameter can be replaced when the compiler took it as it is: what it folded
// with others, shared or rewrote is not in the bundle in the model's own terms. With a plan
// (`--refit`), the bundle has a second one inside, the refit program, that computes from parameters
// what the compiler did; its outputs are packed like parameters.
#ifndef COMPILER_RUNTIME_REFIT_H_
#define COMPILER_RUNTIME_REFIT_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/aligned_bytes.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/call_tensor.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/tensor_info.h"

namespace burnish {

// A source (RefitInfo) as a pack function, or the weights section itself, has it.
struct RefitInput {
  uint32_t source = 0;
  TensorInfo tensor;  // As many elements, maybe in another order and of another shape.
  // By axis of `tensor`: steps in elements of the dense source.
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

// An output of the refit program.
struct RefitComputed {
  TensorInfo tensor;                 // Dense.
  std::vector<uint32_t> parameters;  // That it is made of.

  friend bool operator==(const RefitComputed&, const RefitComputed&) = default;
};

// What no parameter changes, and a pack function reads beside what one does.
struct RefitConstant {
  TensorInfo tensor;  // Dense.
  std::string bytes;

  friend bool operator==(const RefitConstant&, const RefitConstant&) = default;
};

// What recipes read, their sources, are numbered: parameters, then computed, then constants.
struct RefitInfo {
  std::vector<TensorInfo> parameters;  // As the model has them, dense; names are unique.
  std::vector<RefitRecipe> recipes;
  // Of a plan only.
  std::vector<RefitComputed> computed;   // The refit program's outputs, in order.
  std::vector<uint32_t> program_inputs;  // Parameters, in the order of the program's inputs.
  std::vector<RefitConstant> constants;

  friend bool operator==(const RefitInfo&, const RefitInfo&) = default;
};

// Parameters and recipes.
std::string EncodeRefit(const RefitInfo& info);
// All of it.
std::string EncodeRefitPlan(const RefitInfo& info);
// kDataLoss: not such bytes.
RuntimeOr<RefitInfo> DecodeRefit(std::span<const uint8_t> bytes);
RuntimeOr<RefitInfo> DecodeRefitPlan(std::span<const uint8_t> bytes);

// kInvalidArgument unless every index names something, tensors lie inside of their storages,
// outputs inside of the weights, buffers are as large as pack functions want them, and the refit
// program has inputs and outputs as `info` says. `packs` and `program` may be nullptr.
RuntimeStatus CheckRefit(const RefitInfo& info, uint64_t weights_bytes, const Artifact* packs,
                         const BundleManifest* program);

// Parameter bytes in storage, the border where no element lies.
AlignedBytes LayOut(const RefitInput& input, const uint8_t* dense);

// Runs pack function `index`. `inputs`: memory like LayOut's, one for each input of the function;
// `outputs`: aligned memory for each of its outputs, in order.
RuntimeStatus RunPack(const Artifact& packs, int32_t index, const ByteViews& inputs,
                      std::span<uint8_t* const> outputs);

struct Replacement {
  std::string name;
  GivenTensor tensor;
};

// Dense inputs of the refit program, empty for zeros, to its dense outputs.
using RunRefitProgram =
    std::function<RuntimeOr<std::vector<AlignedBytes>>(const ByteViews& inputs)>;

// Writes what the replacements change into `weights`, after an error anything. `info` was checked.
// Runs the program where something that it computes changes. kOutOfRange: no such parameter, or one
// that cannot be replaced; kInvalidArgument: another type or shape, one given twice, one of several
// that are packed or computed together (their old values are not in the bundle: for a full set of
// weights they would double the file, and a part of one rarely changes alone).
RuntimeStatus ApplyRefit(const RefitInfo& info, const Artifact* packs,
                         const RunRefitProgram& run_program,
                         std::span<const Replacement> replacements, std::span<uint8_t> weights);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_REFIT_H_
