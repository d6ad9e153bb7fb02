#include "proto/artifact_codec.h"

#include <string>

#include "base/rng.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

TEST(ArtifactCodecTest, BytesComeBackAsTheyWere) {
  for (const std::string& artifact :
       {std::string(), std::string("\0code\xff", 6), std::string(300'000, 'x')}) {
    ASSERT_OK_AND_ASSIGN(const std::string zstd, CompressArtifact(artifact));
    EXPECT_THAT(DecompressArtifact(zstd, ArtifactSha256(artifact)), IsOkAndHolds(artifact));
  }
}

TEST(ArtifactCodecTest, AnyDamageIsNoticed) {
  const std::string artifact(1000, 'x');
  ASSERT_OK_AND_ASSIGN(const std::string zstd, CompressArtifact(artifact));
  const std::string sha256 = ArtifactSha256(artifact);
  for (size_t i = 0; i < zstd.size(); ++i) {
    std::string damaged = zstd;
    damaged[i] ^= 0x10;
    const absl::StatusOr<std::string> result = DecompressArtifact(damaged, sha256);
    if (result.ok()) EXPECT_EQ(*result, artifact) << "byte " << i;  // A bit without meaning.
  }
  EXPECT_THAT(DecompressArtifact(zstd.substr(0, zstd.size() / 2), sha256),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DecompressArtifact("", sha256), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DecompressArtifact(zstd, ArtifactSha256("other")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("SHA-256")));
}

TEST(ArtifactCodecTest, WhatDoesNotShrinkUnderAMebibyteIsRefused) {
  Rng rng(1);
  std::string noise(kCompressedArtifactBytesMax + 1, '\0');
  for (char& byte : noise) byte = static_cast<char>(rng.Below(256));
  EXPECT_THAT(CompressArtifact(noise),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("want at most 1048576")));
}

TEST(ArtifactCodecTest, BytesThatClaimToBeHugeAreRefusedBeforeAllocation) {
  // Magic number, then a frame header with an 8-byte content size of 2^60.
  const std::string bomb("\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x10\x01\0\0", 16);
  EXPECT_THAT(DecompressArtifact(bomb, ArtifactSha256("")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("want at most 67108864")));
}

}  // namespace
}  // namespace burnish
