// The weights section of a bundle: constants as their kernels want them, each once.
#ifndef COMPILER_DRIVER_WEIGHTS_H_
#define COMPILER_DRIVER_WEIGHTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/driver/refit_program.h"
#include "compiler/graph/constant.h"
#include "compiler/graph/graph.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/refit.h"
#include "compiler/runtime/tensor_info.h"
#include "proto/compile.h"

namespace burnish {

class WeightsWriter {
 public:
  // The parameter of a model that a constant of its cut graph is, and where each element of the
  // constant is in it: steps in elements by the constant's axis.
  struct Origin {
    TensorInfo parameter;
    std::vector<int64_t> strides;
  };

  // `graph`: as it was cut, of `source`, the model as it came in. `packs`: kernel n is pack
  // function n, in code for this machine; null if there is none. `refit`: of `graph`; null:
  // parameters are recognised by their elements. All of them outlive this.
  WeightsWriter(const Graph& graph, const Graph& source, const Artifact* packs,
                const RefitProgram* refit);

  // Byte offset in the section of constant `value`, stored so.
  int64_t AddConstant(ValueId value, const Storage& storage);

  // A constant that goes into a pack function, and how the function reads it.
  struct PackInput {
    ValueId value = -1;
    Storage storage;
  };
  // Runs pack function `pack_index`; `inputs` and outputs in the order of its buffers by role.
  // Returns the byte offset of each output. Errors: INTERNAL when the function fails.
  absl::StatusOr<std::vector<int64_t>> AddPacked(int pack_index,
                                                 const std::vector<PackInput>& inputs);

  const std::vector<ConstantInfo>& constants() const { return constants_; }
  const std::string& bytes() const { return bytes_; }

  // How those parameters of `source` that can be replaced became the bytes so far
  // (runtime/refit.h). With a refit program: a plan.
  RefitInfo Refit() const;

 private:
  using StorageKey = std::string;

  // Of a step: its recipe, by values instead of parameters.
  struct Use {
    int32_t pack;
    std::vector<PackInput> inputs;
    std::vector<RefitOutput> outputs;
  };

  RefitInfo RecognisedRefit() const;
  RefitInfo ProgramRefit() const;
  RefitInput Layout(const PackInput& input) const;
  AlignedBytes Stored(const PackInput& input) const;
  int64_t Append(std::string name, absl::Span<const uint8_t> bytes);

  const Graph& graph_;
  const Artifact* const packs_;
  const RefitProgram* const refit_;
  std::map<const ConstantData*, Origin> replaceable_;  // Without a refit program.
  std::string bytes_;
  std::vector<ConstantInfo> constants_;
  std::map<std::pair<ValueId, StorageKey>, int64_t> plain_;
  std::map<std::pair<int, std::vector<std::pair<ValueId, StorageKey>>>, std::vector<int64_t>>
      packed_;
  std::vector<Use> uses_;
};

// Equal for storages that place every element equally.
std::string StorageText(const Storage& storage);

}  // namespace burnish

#endif  // COMPILER_DRIVER_WEIGHTS_H_
