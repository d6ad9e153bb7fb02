// A loaded bundle: code and weights, shared by any number of sessions and threads.
#ifndef COMPILER_RUNTIME_MODEL_H_
#define COMPILER_RUNTIME_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "compiler/runtime/bundle.h"
#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/host_call.h"
#include "compiler/runtime/huge_page_arena.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/refit.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/shared_object.h"

namespace burnish {

class Model;

struct ModelOptions {
  // What this machine's CPU has; nullopt: ask it.
  std::optional<std::vector<std::string>> host_features = std::nullopt;
  // Takes the weights of this model, whose bundle must have the same weights (by SHA-256), instead
  // of reading them again.
  std::shared_ptr<const Model> share_weights_with = nullptr;
  // Not empty: the weights live here, in the caller's memory (of several processes, maybe): at
  // least weights_bytes, 4 KiB-aligned, alive as long as the model. Wins over the field above.
  std::span<uint8_t> weights_memory = {};
  // The memory above already holds this bundle's weights: they are checked, not written.
  bool weights_memory_is_filled = false;
  // False skips the hash of the weights: 0.3 ms per megabyte of one core, 4 without SHA
  // instructions.
  bool check_weights = true;
  // New values of parameters; see refit.h. Not with share_weights_with or weights that are filled.
  std::vector<Replacement> replacements = {};
};

class Model {
 public:
  // kInvalidArgument: not a bundle; kDataLoss: damaged; kFailedPrecondition: for another CPU or
  // ABI.
  static RuntimeOr<std::shared_ptr<const Model>> LoadFile(const std::string& path,
                                                          const ModelOptions& options);
  // `bytes` may go away afterwards.
  static RuntimeOr<std::shared_ptr<const Model>> LoadBytes(std::span<const uint8_t> bytes,
                                                           const ModelOptions& options);

  const BundleManifest& manifest() const { return manifest_; }
  BurnishKernel kernel(size_t index) const { return kernels_[index]; }
  // What RunHostCall wants, where that is kernel `index`; else null.
  const HostCall* host_call(size_t index) const { return host_call_[index]; }
  // Kernels take untyped pointers, so these are not const; no step writes them.
  std::span<uint8_t> weights() const { return weights_; }
  // Those that replacements may name, dense, as the model had them when it was compiled.
  const std::vector<TensorInfo>& parameters() const { return parameters_; }
  // The same for smaller sizes, on the same weights, from the smallest. None where weights were
  // replaced: replacements say how weights of the greatest sizes are made, not those that others
  // have beside them.
  const std::vector<std::shared_ptr<const Model>>& variants() const { return variants_; }

 private:
  Model(BundleManifest manifest, SharedObject code)
      : manifest_(std::move(manifest)), code_(std::move(code)) {}
  static RuntimeOr<std::shared_ptr<const Model>> Load(const BundleReader& reader,
                                                      const ModelOptions& options);
  // All but weights.
  static RuntimeOr<std::shared_ptr<Model>> LoadCode(const BundleReader& reader,
                                                    const ModelOptions& options);
  RuntimeStatus LoadVariants(const BundleReader& reader, const ModelOptions& options);
  RuntimeStatus Refit(const RefitInfo& info, const BundleReader& reader,
                      const ModelOptions& options);
  RuntimeStatus TakeWeights(const BundleReader& reader, const ModelOptions& options);

  BundleManifest manifest_;
  SharedObject code_;
  std::vector<BurnishKernel> kernels_;
  std::vector<const HostCall*> host_call_;  // By kernel; in the manifest.
  std::vector<TensorInfo> parameters_;
  Sha256Digest weights_digest_ = {};
  HugePageArena owned_weights_;                 // Empty when the weights are somebody else's.
  std::shared_ptr<const Model> weights_owner_;  // Keeps shared weights alive.
  std::span<uint8_t> weights_;
  bool has_replaced_weights_ = false;
  std::vector<std::shared_ptr<const Model>> variants_;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_MODEL_H_
