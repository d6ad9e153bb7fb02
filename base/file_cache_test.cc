#include "base/file_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

namespace fs = std::filesystem;
using ::testing::Optional;

class FileCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(TempDir folder, TempDir::Create("file_cache_test"));
    parent_.emplace(std::move(folder));
    folder_ = parent_->path() + "/a/cache";
  }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& file : fs::directory_iterator(folder_)) files.push_back(file.path());
    return files;
  }

  std::optional<TempDir> parent_;
  std::string folder_;
};

TEST_F(FileCacheTest, KeepsValuesForOtherRunsAndForThisUserOnly) {
  const FileCache cache(folder_, 1 << 20);
  EXPECT_EQ(cache.Get("key"), std::nullopt);
  EXPECT_FALSE(fs::exists(folder_)) << "nothing was kept yet";
  const std::string value("bytes \0 of any kind", 19);
  cache.Put("key", value);
  cache.Put(std::string(1 << 16, 'k'), "");
  const FileCache another(folder_, 1 << 20);
  EXPECT_THAT(another.Get("key"), Optional(value));
  EXPECT_THAT(another.Get(std::string(1 << 16, 'k')), Optional(std::string()));
  EXPECT_EQ(another.Get("another key"), std::nullopt);
  another.Put("key", "new");
  EXPECT_THAT(cache.Get("key"), Optional(std::string("new")));
  struct stat info;
  ASSERT_EQ(stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
}

TEST_F(FileCacheTest, DamagedFilesAreNoValues) {
  const FileCache cache(folder_, 1 << 20);
  cache.Put("key", "the value");
  ASSERT_EQ(Files().size(), 1u);
  const fs::path path = Files()[0];
  ASSERT_OK_AND_ASSIGN(const std::string whole, ReadFile(path, 1 << 20));
  for (size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    EXPECT_EQ(cache.Get("key"), std::nullopt) << size;
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] ^= 1;
    std::ofstream(path, std::ios::binary) << changed;
    // The line's end in front of the value is not looked at.
    if (whole[i] != '\n' || i < 20) EXPECT_EQ(cache.Get("key"), std::nullopt) << i;
  }
  cache.Put("key", "the value");
  EXPECT_THAT(cache.Get("key"), Optional(std::string("the value")));
}

TEST_F(FileCacheTest, FolderThatOthersMayWriteToIsNotUsed) {
  const FileCache cache(folder_, 1 << 20);
  cache.Put("key", "value");
  for (const mode_t mode : {0770, 0702}) {
    ASSERT_EQ(chmod(folder_.c_str(), mode), 0);
    EXPECT_EQ(cache.Get("key"), std::nullopt);
    cache.Put("other", "value");
    EXPECT_EQ(Files().size(), 1u);
  }
}

TEST_F(FileCacheTest, WhatWasUsedLongestAgoGoesFirst) {
  const FileCache cache(folder_, 10'000);
  const std::string value(1000, 'v');
  const auto put = [&](const std::string& key) {
    cache.Put(key, value);
    usleep(10'000);  // File systems tell times of a few milliseconds apart.
  };
  for (int i = 0; i < 9; ++i) put(std::to_string(i));
  ASSERT_TRUE(cache.Get("0").has_value());
  usleep(10'000);
  put("9");  // 10 values with their headers are too much.
  EXPECT_EQ(Files().size(), 7u) << "four fifths of 10,000 bytes";
  EXPECT_TRUE(cache.Get("0").has_value()) << "was used";
  EXPECT_FALSE(cache.Get("1").has_value());
  EXPECT_FALSE(cache.Get("3").has_value());
  EXPECT_TRUE(cache.Get("4").has_value());
  cache.Put("large", std::string(2501, 'v'));
  EXPECT_FALSE(cache.Get("large").has_value());
}

TEST_F(FileCacheTest, ThreadsMayPutAndGetAtOnce) {
  const FileCache cache(folder_, 100'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string key = std::to_string(i % 10);
        const std::string value = key + std::string(1000 * (i % 10), static_cast<char>('a' + t));
        cache.Put(key, value);
        const std::optional<std::string> got = cache.Get(key);
        if (got.has_value()) EXPECT_EQ(got->substr(0, 1), key);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(FileCacheTest, WhatCannotBeKeptIsNoError) {
  const FileCache cache("/proc/none/cache", 1 << 20);
  cache.Put("key", "value");
  EXPECT_EQ(cache.Get("key"), std::nullopt);
}

}  // namespace
}  // namespace burnish
