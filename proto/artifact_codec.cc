#include "proto/artifact_codec.h"

#include <zstd.h>

#include <cstddef>

#include "absl/strings/str_format.h"
#include "base/sha256.h"

namespace burnish {
namespace {

// Kernels are small and travel over a LAN or a socket: more effort gains little.
constexpr int kLevel = 3;

absl::Status TooLarge(absl::string_view what, size_t got, size_t want) {
  return absl::InvalidArgumentError(
      absl::StrFormat("artifact: got %d %s bytes, want at most %d", got, what, want));
}

}  // namespace

std::string ArtifactSha256(absl::string_view artifact) {
  const Sha256Digest digest = Sha256Of(artifact.data(), artifact.size());
  return std::string(digest.begin(), digest.end());
}

absl::StatusOr<std::string> CompressArtifact(absl::string_view artifact) {
  if (artifact.size() > kArtifactBytesMax) {
    return TooLarge("uncompressed", artifact.size(), kArtifactBytesMax);
  }
  std::string zstd(ZSTD_compressBound(artifact.size()), '\0');
  const size_t size =
      ZSTD_compress(zstd.data(), zstd.size(), artifact.data(), artifact.size(), kLevel);
  if (ZSTD_isError(size)) {
    return absl::InternalError(absl::StrFormat("zstd: %s", ZSTD_getErrorName(size)));
  }
  if (size > kCompressedArtifactBytesMax) {
    return TooLarge("compressed", size, kCompressedArtifactBytesMax);
  }
  zstd.resize(size);
  return zstd;
}

absl::StatusOr<std::string> DecompressArtifact(absl::string_view zstd, absl::string_view sha256) {
  if (zstd.size() > kCompressedArtifactBytesMax) {
    return TooLarge("compressed", zstd.size(), kCompressedArtifactBytesMax);
  }
  const unsigned long long size = ZSTD_getFrameContentSize(zstd.data(), zstd.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return absl::InvalidArgumentError("artifact: got no zstd frame with its content size");
  }
  if (size > kArtifactBytesMax) return TooLarge("uncompressed", size, kArtifactBytesMax);
  std::string artifact(size, '\0');
  const size_t got = ZSTD_decompress(artifact.data(), artifact.size(), zstd.data(), zstd.size());
  if (ZSTD_isError(got) || got != size) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "artifact: %s", ZSTD_isError(got) ? ZSTD_getErrorName(got) : "shorter than it says"));
  }
  if (ArtifactSha256(artifact) != sha256) {
    return absl::InvalidArgumentError("artifact: the bytes are not what the SHA-256 names");
  }
  return artifact;
}

}  // namespace burnish
