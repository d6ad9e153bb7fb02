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
#include "compiler/graph/graph.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/thread_pool.h"
#include "proto/compile.h"

namespace burnish {

class WeightsWriter {
 public:
  // `packs`: kernel n is pack function n, in code for this machine; null if there is none. `graph`
  // and `packs` outlive this.
  static absl::StatusOr<std::unique_ptr<WeightsWriter>> Create(const Graph& graph,
                                                               const Artifact* packs);

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

 private:
  using StorageKey = std::string;

  WeightsWriter(const Graph& graph, const Artifact* packs, std::unique_ptr<ThreadPool> pool)
      : graph_(graph), packs_(packs), pool_(std::move(pool)) {}
  std::vector<uint8_t> Stored(ValueId value, const Storage& storage) const;
  int64_t Append(std::string name, absl::Span<const uint8_t> bytes);

  const Graph& graph_;
  const Artifact* const packs_;
  const std::unique_ptr<ThreadPool> pool_;
  std::string bytes_;
  std::vector<ConstantInfo> constants_;
  std::map<std::pair<ValueId, StorageKey>, int64_t> plain_;
  std::map<std::pair<int, std::vector<std::pair<ValueId, StorageKey>>>, std::vector<int64_t>>
      packed_;
};

// Equal for storages that place every element equally.
std::string StorageText(const Storage& storage);

}  // namespace burnish

#endif  // COMPILER_DRIVER_WEIGHTS_H_
