#include "worker/runner/artifact_cache.h"

#include <string>
#include <thread>
#include <vector>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/artifact_codec.h"

namespace burnish {
namespace {

using ::testing::Pointee;

std::string Bytes(const std::string& text) { return text + std::string(10 - text.size(), '.'); }
std::string NameOf(const std::string& text) { return ArtifactSha256(Bytes(text)); }

// Ten bytes for the name of every letter; the bytes of "b" under the name of "forged".
class ArtifactCacheTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> Fetch(const std::string& name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++fetch_count_;
    if (name == NameOf("forged")) return Bytes("b");
    for (const char* text : {"a", "b", "c", "d"}) {
      if (NameOf(text) == name) return Bytes(text);
    }
    return absl::NotFoundError("gone");
  }
  int fetch_count() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return fetch_count_;
  }

  std::mutex mutex_;
  int fetch_count_ = 0;
  ArtifactCache cache_{[this](const std::string& name) { return Fetch(name); }, /*bytes_max=*/25};
};

TEST_F(ArtifactCacheTest, TheLeastRecentlyUsedIsLetGo) {
  EXPECT_THAT(cache_.Get(NameOf("a")), IsOkAndHolds(Pointee(std::string("a........."))));
  EXPECT_THAT(cache_.Get(NameOf("b")), IsOk());
  EXPECT_THAT(cache_.Get(NameOf("a")), IsOk());
  EXPECT_EQ(fetch_count(), 2);
  EXPECT_THAT(cache_.Get(NameOf("c")), IsOk());  // 30 bytes: b goes.
  EXPECT_THAT(cache_.Get(NameOf("a")), IsOk());
  EXPECT_EQ(fetch_count(), 3);
  EXPECT_THAT(cache_.Get(NameOf("b")), IsOk());
  EXPECT_EQ(fetch_count(), 4);
}

TEST_F(ArtifactCacheTest, ErrorsAreNotKept) {
  EXPECT_THAT(cache_.Get(NameOf("gone")), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(cache_.Get(NameOf("gone")), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(fetch_count(), 2);
}

TEST_F(ArtifactCacheTest, OtherBytesThanTheNameSaysAreRefused) {
  EXPECT_THAT(cache_.Get(NameOf("forged")), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(cache_.Get(NameOf("forged")), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(fetch_count(), 2);
}

TEST_F(ArtifactCacheTest, ThreadsThatAskAtOnceAllGetIt) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this, i] {
      for (int k = 0; k < 100; ++k) {
        EXPECT_THAT(cache_.Get(NameOf(std::string(1, 'a' + (i + k) % 4))), IsOk());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace burnish
