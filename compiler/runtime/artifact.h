// An artifact: one ELF shared object with kernels, and what a caller must know to run them. What a
// builder makes of a candidate and a runner loads; named by the SHA-256 of its bytes.
#ifndef COMPILER_RUNTIME_ARTIFACT_H_
#define COMPILER_RUNTIME_ARTIFACT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/tile_permission.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/kernel_manifest.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/shared_object.h"

namespace burnish {

struct ArtifactManifest {
  uint32_t abi_version = BURNISH_KERNEL_ABI_VERSION;
  std::string target;                 // Text of the target that it was compiled for.
  std::vector<std::string> features;  // CPU features that the code needs, LLVM's names.
  std::vector<KernelManifest> kernels;

  friend bool operator==(const ArtifactManifest&, const ArtifactManifest&) = default;
};

// Pure: equal input gives equal bytes.
std::string WriteArtifact(const ArtifactManifest& manifest, std::span<const uint8_t> elf);

// The manifest alone, checked, without loading code: for programs on another machine.
// kInvalidArgument: not an artifact; kDataLoss: damaged.
RuntimeOr<ArtifactManifest> ReadArtifactManifest(std::span<const uint8_t> bytes);

// The machine code alone, checked against its hash, not loaded. Errors as above.
RuntimeOr<std::vector<uint8_t>> ReadArtifactElf(std::span<const uint8_t> bytes);

// Whose code it is.
enum class CodeOrigin {
  kOwn,        // Of a bundle or a build that the user of this process chose.
  kCandidate,  // Of anybody who may order jobs: runs in a sandbox (base/sandbox.h) or not at all.
};

// An artifact that was checked and is not code yet.
class SealedArtifact {
 public:
  const ArtifactManifest& manifest() const { return manifest_; }

 private:
  friend class Artifact;
  SealedArtifact(ArtifactManifest manifest, SealedCode code)
      : manifest_(std::move(manifest)), code_(std::move(code)) {}

  ArtifactManifest manifest_;
  SealedCode code_;
};

// A loaded artifact. Immutable; may be used by several threads.
class Artifact {
 public:
  // `host_features`: what this machine's CPU has; code that needs more is refused here
  // (kFailedPrecondition), because to run it would end in SIGILL. `bytes` may go away afterwards.
  static RuntimeOr<SealedArtifact> Read(std::span<const uint8_t> bytes,
                                        const std::vector<std::string>& host_features);
  static RuntimeOr<SealedArtifact> Read(std::span<const uint8_t> bytes);

  // The only way from bytes to code. A candidate's is refused (kFailedPrecondition) where this
  // process is not in the sandbox yet, which allows what is needed here. Runs none of the code.
  static RuntimeOr<std::unique_ptr<Artifact>> Map(SealedArtifact sealed, CodeOrigin origin);

  const ArtifactManifest& manifest() const { return manifest_; }
  BurnishKernel kernel(size_t index) const { return kernels_[index]; }
  BurnishKernel pack(size_t index) const { return packs_[index]; }  // nullptr: has none.

 private:
  Artifact(ArtifactManifest manifest, SharedObject code)
      : manifest_(std::move(manifest)), code_(std::move(code)) {}

  ArtifactManifest manifest_;
  SharedObject code_;
  std::vector<BurnishKernel> kernels_;
  std::vector<BurnishKernel> packs_;
};

// What CPUID says of this host: base/cpu_info.
std::vector<std::string> HostFeatures();

// kFailedPrecondition, naming what is missing, unless the ABI and all `needed` features are there
// and, for code with tiles, the system lends them to this process.
RuntimeStatus CheckHostCanRun(uint32_t abi_version, const std::vector<std::string>& needed,
                              const std::vector<std::string>& host_features,
                              const std::function<bool()>& may_use_tiles = AllowTiles);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_ARTIFACT_H_
