#include "worker/runner/artifact_cache.h"

#include <string>
#include <thread>
#include <vector>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::Pointee;

// Ten bytes for every name but "gone".
class ArtifactCacheTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::string> Fetch(const std::string& name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++fetch_count_;
    if (name == "gone") return absl::NotFoundError("gone");
    return name + std::string(10 - name.size(), '.');
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
  EXPECT_THAT(cache_.Get("a"), IsOkAndHolds(Pointee(std::string("a........."))));
  EXPECT_THAT(cache_.Get("b"), IsOk());
  EXPECT_THAT(cache_.Get("a"), IsOk());
  EXPECT_EQ(fetch_count(), 2);
  EXPECT_THAT(cache_.Get("c"), IsOk());  // 30 bytes: b goes.
  EXPECT_THAT(cache_.Get("a"), IsOk());
  EXPECT_EQ(fetch_count(), 3);
  EXPECT_THAT(cache_.Get("b"), IsOk());
  EXPECT_EQ(fetch_count(), 4);
}

TEST_F(ArtifactCacheTest, ErrorsAreNotKept) {
  EXPECT_THAT(cache_.Get("gone"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(cache_.Get("gone"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(fetch_count(), 2);
}

TEST_F(ArtifactCacheTest, ThreadsThatAskAtOnceAllGetIt) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this, i] {
      for (int k = 0; k < 100; ++k) {
        EXPECT_THAT(cache_.Get(std::string(1, 'a' + (i + k) % 4)), IsOk());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace burnish
