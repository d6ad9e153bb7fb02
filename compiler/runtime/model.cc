#include "compiler/runtime/model.h"

#include <memory>
#include <string>
#include <utility>

#include "compiler/runtime/artifact.h"
#include "compiler/runtime/run_once.h"
#include "compiler/runtime/section_digest.h"

namespace burnish {

RuntimeOr<std::shared_ptr<const Model>> Model::LoadFile(const std::string& path,
                                                        const ModelOptions& options) {
  RUNTIME_ASSIGN_OR_RETURN(const BundleReader reader, BundleReader::OpenFile(path));
  auto model = Load(reader, options);
  if (!model.ok()) {
    return RuntimeStatus(model.status().code(), path + ": " + model.status().message());
  }
  return model;
}

RuntimeOr<std::shared_ptr<const Model>> Model::LoadBytes(std::span<const uint8_t> bytes,
                                                         const ModelOptions& options) {
  RUNTIME_ASSIGN_OR_RETURN(const BundleReader reader, BundleReader::FromBytes(bytes));
  return Load(reader, options);
}

RuntimeOr<std::shared_ptr<Model>> Model::LoadCode(const BundleReader& reader,
                                                  const ModelOptions& options) {
  const BundleManifest& manifest = reader.manifest();
  RUNTIME_RETURN_IF_ERROR(
      CheckHostCanRun(manifest.abi_version, manifest.features,
                      options.host_features.has_value() ? *options.host_features : HostFeatures()));
  RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> elf, reader.ReadElf());
  RUNTIME_ASSIGN_OR_RETURN(SharedObject code, SharedObject::Load(elf));
  std::shared_ptr<Model> model(new Model(manifest, std::move(code)));
  model->host_call_.resize(manifest.kernels.size(), nullptr);
  for (const HostCall& call : model->manifest_.host_calls) model->host_call_[call.kernel] = &call;
  for (size_t i = 0; i < manifest.kernels.size(); ++i) {
    if (model->host_call_[i] != nullptr) {
      model->kernels_.push_back(&RunHostCall);
      continue;
    }
    RUNTIME_ASSIGN_OR_RETURN(const BurnishKernel kernel,
                             model->code_.Kernel(BURNISH_KERNEL_PREFIX + std::to_string(i)));
    model->kernels_.push_back(kernel);
  }
  return model;
}

RuntimeStatus Model::LoadVariants(const BundleReader& reader, const ModelOptions& options) {
  // Of memory that somebody else has filled it is not known whether weights were replaced, unless
  // it is compared with the bundle's.
  const bool is_unknown = options.weights_memory_is_filled && !options.check_weights;
  if (has_replaced_weights_ || is_unknown) return RuntimeStatus();
  for (const BundleReader& smaller : reader.variants()) {
    RUNTIME_ASSIGN_OR_RETURN(std::shared_ptr<Model> variant, LoadCode(smaller, options));
    variant->weights_ = weights_;  // Which this model keeps, and its sessions keep this model.
    variants_.push_back(std::move(variant));
  }
  return RuntimeStatus();
}

RuntimeOr<std::shared_ptr<const Model>> Model::Load(const BundleReader& reader,
                                                    const ModelOptions& options) {
  RUNTIME_ASSIGN_OR_RETURN(std::shared_ptr<Model> model, LoadCode(reader, options));
  RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> refit, reader.ReadRefit());
  RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> plan, reader.ReadRefitPlan());
  RuntimeOr<RefitInfo> info = !plan.empty()   ? DecodeRefitPlan(plan)
                              : refit.empty() ? RefitInfo()
                                              : DecodeRefit(refit);
  if (!info.ok()) return info.status();
  for (const TensorInfo& parameter : info->parameters) {
    RUNTIME_RETURN_IF_ERROR(CheckTensor(parameter, kMemoryBytesMax));
  }
  model->parameters_ = info->parameters;
  // Last: weights are most of the file, and a bundle for another CPU is refused before they are
  // read.
  RUNTIME_RETURN_IF_ERROR(model->TakeWeights(reader, options));
  if (!options.replacements.empty()) {
    RUNTIME_RETURN_IF_ERROR(model->Refit(*info, reader, options));
    model->has_replaced_weights_ = true;
  }
  RUNTIME_RETURN_IF_ERROR(model->LoadVariants(reader, options));
  return std::shared_ptr<const Model>(std::move(model));
}

RuntimeStatus Model::Refit(const RefitInfo& info, const BundleReader& reader,
                           const ModelOptions& options) {
  if (options.share_weights_with != nullptr || options.weights_memory_is_filled) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument,
                         "got replacements for parameters that are shared or filled already: "
                         "share those of a model that was opened with the replacements");
  }
  RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, reader.ReadPacks());
  std::unique_ptr<Artifact> packs;
  if (!bytes.empty()) {
    // Packing is code for the machine that built the bundle, which may have another CPU.
    RUNTIME_ASSIGN_OR_RETURN(SealedArtifact sealed, Artifact::Read(bytes));
    RUNTIME_ASSIGN_OR_RETURN(packs, Artifact::Map(std::move(sealed), CodeOrigin::kOwn));
  }
  std::shared_ptr<const Model> program;
  if (!info.computed.empty()) {
    RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> program_bytes, reader.ReadRefitProgram());
    RUNTIME_ASSIGN_OR_RETURN(program, LoadBytes(program_bytes, {}));
  }
  RUNTIME_RETURN_IF_ERROR(CheckRefit(info, manifest_.weights_bytes, packs.get(),
                                     program == nullptr ? nullptr : &program->manifest()));
  return ApplyRefit(
      info, packs.get(), [&](const ByteViews& inputs) { return RunOnce(program, inputs); },
      options.replacements, weights_);
}

RuntimeStatus Model::TakeWeights(const BundleReader& reader, const ModelOptions& options) {
  weights_digest_ = reader.weights_digest();
  const uint64_t size_bytes = manifest_.weights_bytes;
  if (!options.weights_memory.empty()) {
    if (options.weights_memory.size() < size_bytes ||
        reinterpret_cast<uintptr_t>(options.weights_memory.data()) % 4096 != 0) {
      return RuntimeStatus(RuntimeCode::kInvalidArgument,
                           "got weights memory of " +
                               std::to_string(options.weights_memory.size()) + " bytes, want " +
                               std::to_string(size_bytes) + ", aligned to 4096");
    }
    weights_ = options.weights_memory.first(size_bytes);
    if (!options.weights_memory_is_filled)
      return reader.ReadWeights(weights_, options.check_weights);
    if (options.check_weights && SectionDigest(weights_) != weights_digest_) {
      return RuntimeStatus(RuntimeCode::kInvalidArgument,
                           "the memory does not hold this bundle's weights");
    }
    return RuntimeStatus();
  }
  if (const Model* other = options.share_weights_with.get(); other != nullptr) {
    // By digest: bundles of several batch sizes have the same weights only if they were packed
    // alike.
    if (other->weights_digest_ != weights_digest_) {
      return RuntimeStatus(RuntimeCode::kInvalidArgument,
                           "cannot share weights between bundles with different weights");
    }
    weights_owner_ = options.share_weights_with;
    weights_ = other->weights_;
    has_replaced_weights_ = other->has_replaced_weights_;
    return RuntimeStatus();
  }
  RUNTIME_ASSIGN_OR_RETURN(owned_weights_, HugePageArena::Allocate(size_bytes));
  weights_ = owned_weights_.bytes();
  return reader.ReadWeights(weights_, options.check_weights);
}

}  // namespace burnish
