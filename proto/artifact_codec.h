// Artifacts as they travel: one zstd frame, named by the SHA-256 of what is in it.
#ifndef PROTO_ARTIFACT_CODEC_H_
#define PROTO_ARTIFACT_CODEC_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace burnish {

inline constexpr int kCompressedArtifactBytesMax = 1 << 20;
inline constexpr int kArtifactBytesMax = 64 << 20;

// 32 raw bytes.
std::string ArtifactSha256(absl::string_view artifact);

// INVALID_ARGUMENT: too large, before or after compression.
absl::StatusOr<std::string> CompressArtifact(absl::string_view artifact);

// INVALID_ARGUMENT: too large, not one zstd frame with its content size, or not what `sha256` (32
// raw bytes) names. Allocates no more than kArtifactBytesMax, whatever the bytes say.
absl::StatusOr<std::string> DecompressArtifact(absl::string_view zstd, absl::string_view sha256);

}  // namespace burnish

#endif  // PROTO_ARTIFACT_CODEC_H_
