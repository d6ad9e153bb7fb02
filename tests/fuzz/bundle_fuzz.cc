// libFuzzer target: a bundle or an artifact is refused with a status, or its manifest means the
// same after it was written again. The first byte says whether a whole file follows, or a manifest
// in a file whose hashes fit, which no fuzzer finds by itself.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/bundle.h"
#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/section_file.h"

namespace burnish {
namespace {

// What is read is allocated: a manifest that asks for more is refused by whoever has the memory.
constexpr uint64_t kWeightsBytesMax = 1 << 20;

std::span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

void FuzzBundle(std::span<const uint8_t> bytes) {
  const RuntimeOr<BundleReader> reader = BundleReader::FromBytes(bytes);
  if (!reader.ok()) return;
  const BundleManifest& manifest = reader->manifest();
  CHECK(CheckManifest(manifest).ok());
  (void)reader->ReadElf();
  if (manifest.weights_bytes > kWeightsBytesMax) return;
  std::vector<uint8_t> weights(manifest.weights_bytes);
  const RuntimeStatus read = reader->ReadWeights(weights, /*check_hash=*/true);
  if (!read.ok()) return;
  const RuntimeOr<std::string> written = WriteBundle(manifest, {}, weights);
  CHECK(written.ok()) << written.status().message();
  const RuntimeOr<BundleReader> again = BundleReader::FromBytes(BytesOf(*written));
  CHECK(again.ok()) << again.status().message();
  CHECK_EQ(EncodeManifest(again->manifest()), EncodeManifest(manifest));
}

void FuzzArtifact(std::span<const uint8_t> bytes) {
  const RuntimeOr<ArtifactManifest> manifest = ReadArtifactManifest(bytes);
  if (!manifest.ok()) return;
  const std::string written = WriteArtifact(*manifest, {});
  const RuntimeOr<ArtifactManifest> again = ReadArtifactManifest(BytesOf(written));
  CHECK(again.ok()) << again.status().message();
  CHECK(*again == *manifest);
}

void FuzzBundleManifest(std::span<const uint8_t> bytes) {
  const RuntimeOr<BundleManifest> manifest = DecodeManifest(bytes);
  if (!manifest.ok()) return;
  const std::string encoded = EncodeManifest(*manifest);
  const RuntimeOr<BundleManifest> decoded = DecodeManifest(BytesOf(encoded));
  CHECK(decoded.ok()) << decoded.status().message();
  CHECK_EQ(EncodeManifest(*decoded), encoded);
  if (manifest->weights_bytes > kWeightsBytesMax) return;
  const std::vector<uint8_t> weights(manifest->weights_bytes);
  FuzzBundle(BytesOf(WriteSectionFile(kBundleFormat, {{SectionKind::kManifest, bytes},
                                                      {SectionKind::kElf, {}},
                                                      {SectionKind::kWeights, weights}})));
}

}  // namespace
}  // namespace burnish

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  using namespace burnish;  // NOLINT: a C function has no namespace of its own.
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      FuzzBundle(bytes);
      break;
    case 1:
      FuzzArtifact(bytes);
      break;
    case 2:
      FuzzBundleManifest(bytes);
      break;
    case 3:
      FuzzArtifact(BytesOf(WriteSectionFile(
          kArtifactFormat, {{SectionKind::kManifest, bytes}, {SectionKind::kElf, {}}})));
      break;
  }
  return 0;
}
