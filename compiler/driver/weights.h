// The weights section of a bundle: constants as their kernels want them, each once.
#ifndef COMPILER_DRIVER_WEIGHTS_H_
#define COMPILER_DRIVER_WEIGHTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/refit_program.h"
#include "compiler/driver/unwritten_bundle.h"
#include "compiler/driver/weight_pool.h"
#include "compiler/graph/constant.h"
#include "compiler/graph/graph.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/refit.h"

namespace burnish {

class WeightsWriter {
 public:
  // `graph`: as it was cut. `packs`: kernel n is pack function n, in code for this machine; null if
  // there is none. `pool`: of weights that other bundles have as well; null: there are none. Each
  // constant goes into `bundle` where it is first asked for. All of them outlive this.
  WeightsWriter(const Graph& graph, const Artifact* packs, WeightPool* pool,
                UnwrittenBundle& bundle)
      : graph_(graph), packs_(packs), pool_(pool), bundle_(bundle) {}

  // Byte offset in the section of constant `value`, stored so.
  int64_t AddConstant(ValueId value, const Storage& storage);

  // A constant that goes into a pack function, and how the function reads it.
  struct PackInput {
    ValueId value = -1;
    Storage storage;
  };
  // Runs pack function `pack_index`, unless the pool has what one of this hash made of them;
  // `inputs` and outputs in the order of its buffers by role. Returns the byte offset of each
  // output. Errors: INTERNAL when the function fails.
  absl::StatusOr<std::vector<int64_t>> AddPacked(int pack_index, const std::string& pack_sha256,
                                                 const std::vector<PackInput>& inputs);

  // How those parameters that can be replaced became the bytes so far (runtime/refit.h): of
  // `source`, the model as it came in, whose constants are recognised by their elements; or as a
  // plan, with a refit program of the graph.
  RefitInfo RecognisedRefit(const Graph& source) const;
  RefitInfo ProgramRefit(const RefitProgram& refit) const;

 private:
  using StorageKey = std::string;

  // Of a step: its recipe, by values instead of parameters.
  struct Use {
    int32_t pack;
    std::vector<PackInput> inputs;
    std::vector<RefitOutput> outputs;
  };

  RefitInput Layout(const PackInput& input) const;
  ConstantPtr Stored(const PackInput& input) const;
  absl::StatusOr<std::vector<ConstantPtr>> Pack(int pack_index,
                                                const std::vector<PackInput>& inputs) const;
  absl::StatusOr<std::vector<ConstantPtr>> PackOnce(int pack_index, const std::string& pack_sha256,
                                                    const std::vector<PackInput>& inputs);
  ConstantPtr Shared(ConstantPtr constant) {
    return pool_ == nullptr ? constant : pool_->Shared(constant);
  }
  int64_t Append(const std::string& name, ConstantPtr bytes);

  const Graph& graph_;
  const Artifact* const packs_;
  WeightPool* const pool_;
  UnwrittenBundle& bundle_;
  std::map<std::pair<ValueId, StorageKey>, int64_t> plain_;
  std::map<std::pair<int, std::vector<std::pair<ValueId, StorageKey>>>, std::vector<int64_t>>
      packed_;
  std::vector<Use> uses_;
};

// Equal for storages that place every element equally.
std::string StorageText(const Storage& storage);

}  // namespace burnish

#endif  // COMPILER_DRIVER_WEIGHTS_H_
