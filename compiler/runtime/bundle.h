// A bundle: a whole compiled model in one file (section_file.h): manifest, machine code, packed
// weights, each 4 KiB-aligned.
#ifndef COMPILER_RUNTIME_BUNDLE_H_
#define COMPILER_RUNTIME_BUNDLE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/byte_source.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/section_file.h"

namespace burnish {

// How parameters become weights; empty where none can be replaced.
struct RefitSections {
  std::span<const uint8_t> refit = {};    // Of EncodeRefit; or:
  std::span<const uint8_t> plan = {};     // Of EncodeRefitPlan.
  std::span<const uint8_t> packs = {};    // Of WriteArtifact.
  std::span<const uint8_t> program = {};  // Of WriteBundle; with a plan.

  bool empty() const { return refit.empty() && plan.empty(); }
};

// Pure: equal input gives equal bytes. kInvalidArgument when the manifest does not pass
// CheckManifest or `weights` is not manifest.weights_bytes long: no broken bundle is written.
// `variants`: of WriteVariant, from the smallest; none may be larger than the bundle itself.
RuntimeOr<std::string> WriteBundle(const BundleManifest& manifest, std::span<const uint8_t> elf,
                                   std::span<const uint8_t> weights,
                                   const RefitSections& refit = {},
                                   const std::vector<std::string>& variants = {});

// As WriteBundle; `weights`: one behind the other.
RuntimeOr<std::string> WriteBundleOfPieces(const BundleManifest& manifest,
                                           std::span<const uint8_t> elf,
                                           std::vector<std::span<const uint8_t>> weights,
                                           const RefitSections& refit = {},
                                           const std::vector<std::string>& variants = {});

// The same model for smaller sizes (docs/adr/0017-several-bounds.md): a manifest and code whose
// weights are those of the bundle that it goes into. Errors: as above.
RuntimeOr<std::string> WriteVariant(const BundleManifest& manifest, std::span<const uint8_t> elf);

inline constexpr size_t kVariantsMax = 64;

// Reads a bundle, treating each byte as hostile. Checks no CPU features: so that a bundle for
// another machine can be looked at.
class BundleReader {
 public:
  static RuntimeOr<BundleReader> OpenFile(const std::string& path);
  // `bytes` must outlive the reader.
  static RuntimeOr<BundleReader> FromBytes(std::span<const uint8_t> bytes);

  const BundleManifest& manifest() const { return manifest_; }
  const Sha256Digest& weights_digest() const;
  // For smaller sizes, from the smallest: without weights or variants of their own.
  const std::vector<BundleReader>& variants() const { return variants_; }

  RuntimeOr<std::vector<uint8_t>> ReadElf() const;
  // Empty: the bundle has none.
  RuntimeOr<std::vector<uint8_t>> ReadRefit() const;
  RuntimeOr<std::vector<uint8_t>> ReadRefitPlan() const;
  RuntimeOr<std::vector<uint8_t>> ReadPacks() const;
  RuntimeOr<std::vector<uint8_t>> ReadRefitProgram() const;
  // `destination`: manifest().weights_bytes bytes.
  RuntimeStatus ReadWeights(std::span<uint8_t> destination, bool check_hash) const;

 private:
  BundleReader(SectionFile file, BundleManifest manifest)
      : file_(std::move(file)), manifest_(std::move(manifest)) {}
  RuntimeOr<std::vector<uint8_t>> ReadIfThere(SectionKind kind) const;
  static RuntimeOr<BundleReader> Open(std::unique_ptr<ByteSource> source, bool is_variant);
  RuntimeStatus OpenVariants();

  SectionFile file_;
  BundleManifest manifest_;
  std::shared_ptr<const std::vector<std::string>> variant_bytes_;  // What `variants_` read.
  std::vector<BundleReader> variants_;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_BUNDLE_H_
