#include "compiler/runtime/artifact.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/cpu_info.h"
#include "base/filter_state.h"
#include "compiler/runtime/byte_archive.h"
#include "compiler/runtime/section_file.h"

namespace burnish {
namespace {

std::span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

template <typename Archive>
void Fields(Archive& archive, ArtifactManifest& manifest) {
  archive.Number(manifest.abi_version);
  archive.Text(manifest.target);
  archive.Texts(manifest.features);
  archive.List(manifest.kernels);
}

RuntimeOr<ArtifactManifest> ReadManifest(const SectionFile& file) {
  RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, file.Read(SectionKind::kManifest));
  ByteReader reader(bytes);
  ArtifactManifest manifest;
  Fields(reader, manifest);
  if (!reader.ok() || !reader.AtEnd()) {
    return RuntimeStatus(RuntimeCode::kDataLoss, "damaged file: the artifact's manifest");
  }
  for (const KernelManifest& kernel : manifest.kernels)
    RUNTIME_RETURN_IF_ERROR(CheckKernel(kernel));
  return manifest;
}

}  // namespace

std::string WriteArtifact(const ArtifactManifest& manifest, std::span<const uint8_t> elf) {
  ByteWriter writer;
  Fields(writer, const_cast<ArtifactManifest&>(manifest));
  const std::string encoded = writer.Take();
  return WriteSectionFile(kArtifactFormat,
                          {{SectionKind::kManifest, BytesOf(encoded)}, {SectionKind::kElf, elf}});
}

RuntimeOr<ArtifactManifest> ReadArtifactManifest(std::span<const uint8_t> bytes) {
  RUNTIME_ASSIGN_OR_RETURN(const SectionFile file,
                           SectionFile::Open(kArtifactFormat, MemorySource(bytes)));
  return ReadManifest(file);
}

RuntimeOr<std::vector<uint8_t>> ReadArtifactElf(std::span<const uint8_t> bytes) {
  RUNTIME_ASSIGN_OR_RETURN(const SectionFile file,
                           SectionFile::Open(kArtifactFormat, MemorySource(bytes)));
  return file.Read(SectionKind::kElf);
}

RuntimeOr<SealedArtifact> Artifact::Read(std::span<const uint8_t> bytes,
                                         const std::vector<std::string>& host_features) {
  RUNTIME_ASSIGN_OR_RETURN(const SectionFile file,
                           SectionFile::Open(kArtifactFormat, MemorySource(bytes)));
  RUNTIME_ASSIGN_OR_RETURN(ArtifactManifest manifest, ReadManifest(file));
  // Before the code is loaded. A kernel with an instruction that this CPU lacks would end the
  // process.
  RUNTIME_RETURN_IF_ERROR(CheckHostCanRun(manifest.abi_version, manifest.features, host_features));
  RUNTIME_ASSIGN_OR_RETURN(const std::vector<uint8_t> elf, file.Read(SectionKind::kElf));
  RUNTIME_ASSIGN_OR_RETURN(SealedCode sealed, SealedCode::Of(elf));
  return SealedArtifact(std::move(manifest), std::move(sealed));
}

RuntimeOr<SealedArtifact> Artifact::Read(std::span<const uint8_t> bytes) {
  return Read(bytes, HostFeatures());
}

RuntimeOr<std::unique_ptr<Artifact>> Artifact::Map(SealedArtifact sealed, CodeOrigin origin) {
  if (origin == CodeOrigin::kCandidate && !CodeMayBeForeign()) {
    return RuntimeStatus(RuntimeCode::kFailedPrecondition,
                         "the code of a candidate is mapped in the sandbox alone, and this process "
                         "filters no system calls");
  }
  RUNTIME_ASSIGN_OR_RETURN(SharedObject code, SharedObject::Load(sealed.code_));
  std::unique_ptr<Artifact> artifact(new Artifact(std::move(sealed.manifest_), std::move(code)));
  for (size_t i = 0; i < artifact->manifest_.kernels.size(); ++i) {
    const std::string number = std::to_string(i);
    RUNTIME_ASSIGN_OR_RETURN(const BurnishKernel kernel,
                             artifact->code_.Kernel(BURNISH_KERNEL_PREFIX + number));
    artifact->kernels_.push_back(kernel);
    BurnishKernel pack = nullptr;
    if (artifact->manifest_.kernels[i].pack.has_value()) {
      RUNTIME_ASSIGN_OR_RETURN(pack, artifact->code_.Kernel(BURNISH_PACK_PREFIX + number));
    }
    artifact->packs_.push_back(pack);
  }
  return artifact;
}

std::vector<std::string> HostFeatures() { return HostCpuInfo().features; }

RuntimeStatus CheckHostCanRun(uint32_t abi_version, const std::vector<std::string>& needed,
                              const std::vector<std::string>& host_features,
                              const std::function<bool()>& may_use_tiles) {
  if (abi_version != BURNISH_KERNEL_ABI_VERSION) {
    return RuntimeStatus(RuntimeCode::kFailedPrecondition,
                         "got kernel ABI " + std::to_string(abi_version) + ", want " +
                             std::to_string(BURNISH_KERNEL_ABI_VERSION) +
                             ": compile it again with this version");
  }
  std::string missing;
  bool uses_tiles = false, lacks_tiles = false;
  for (const std::string& feature : needed) {
    const bool has =
        std::find(host_features.begin(), host_features.end(), feature) != host_features.end();
    const bool is_tile = feature.starts_with("amx-");
    uses_tiles = uses_tiles || is_tile;
    if (has) continue;
    lacks_tiles = lacks_tiles || is_tile;
    missing += (missing.empty() ? "" : ", ") + feature;
  }
  if (!missing.empty()) {
    // Features of tiles that the CPU has count as missing where the system does not lend them.
    return RuntimeStatus(RuntimeCode::kFailedPrecondition,
                         (lacks_tiles ? "this CPU, or its kernel, lacks " : "this CPU lacks ") +
                             missing + ": compile for this machine's target");
  }
  if (!uses_tiles || may_use_tiles()) return RuntimeStatus();
  return RuntimeStatus(RuntimeCode::kFailedPrecondition,
                       "the system does not lend this process the CPU's tile registers: Linux 5.16 "
                       "and later do, unless a filter of system calls forbids arch_prctl; or "
                       "compile for this machine's target without amx-tile");
}

}  // namespace burnish
