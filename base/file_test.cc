#include "base/file.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(dir_, TempDir::Create("file_test", ::testing::TempDir()));
    path_ = dir_->path() + "/x";
  }
  int FilesInFolder() const {
    int count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir_->path())) {
      ++count;
    }
    return count;
  }
  std::optional<TempDir> dir_;
  std::string path_;
};

TEST_F(FileTest, WhatIsWrittenIsReadBackAndReplacedWhole) {
  const std::string large(300000, 'q');
  EXPECT_THAT(WriteFileAtomically(path_, large), IsOk());
  EXPECT_THAT(ReadFile(path_, 1 << 20), IsOkAndHolds(large));
  EXPECT_THAT(WriteFileAtomically(path_, std::string("a\0b", 3)), IsOk());
  EXPECT_THAT(ReadFile(path_, 3), IsOkAndHolds(std::string("a\0b", 3)));
  EXPECT_THAT(WriteFileAtomically(path_, ""), IsOk());
  EXPECT_THAT(ReadFile(path_, 0), IsOkAndHolds(""));
  EXPECT_EQ(FilesInFolder(), 1);
}

TEST_F(FileTest, FileOverTheLimitIsRefused) {
  EXPECT_THAT(WriteFileAtomically(path_, "abcd"), IsOk());
  EXPECT_THAT(ReadFile(path_, 3), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(path_)));
  EXPECT_THAT(ReadFile("/dev/zero", 1000), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(FileTest, FileThatSaysItIsEmptyIsReadToItsEnd) {
  ASSERT_OK_AND_ASSIGN(const std::string status, ReadFile("/proc/self/status", 1 << 16));
  EXPECT_THAT(status, HasSubstr("Pid:"));
}

TEST_F(FileTest, ErrorsNamePathAndCause) {
  EXPECT_THAT(ReadFile(path_, 1), StatusIs(absl::StatusCode::kNotFound,
                                           AllOf(HasSubstr(path_), HasSubstr("No such file"))));
  EXPECT_THAT(ReadFile(dir_->path(), 1),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("folder")));
  EXPECT_THAT(WriteFileAtomically(dir_->path() + "/no/x", "a"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/x")));
}

TEST_F(FileTest, FailedReplacementLeavesTheOldContentAndNothingElse) {
  std::filesystem::create_directories(path_ + "/inside");
  EXPECT_FALSE(WriteFileAtomically(path_, "a").ok());  // A folder is in the way.
  EXPECT_EQ(FilesInFolder(), 1);
  EXPECT_TRUE(std::filesystem::exists(path_ + "/inside"));
}

TEST_F(FileTest, WriteThatFailsHalfWayLeavesTheOldContentAndNothingElse) {
  EXPECT_THAT(WriteFileAtomically(path_, "old"), IsOk());
  // A limit on the size of files stands for the full disk: the first write is short, the next
  // fails.
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status written = WriteFileAtomically(path_, std::string(5000, 'n'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(written.message(), AllOf(HasSubstr(path_), HasSubstr("too large")));
  EXPECT_THAT(ReadFile(path_, 10), IsOkAndHolds("old"));
  EXPECT_EQ(FilesInFolder(), 1);
}

TEST(TempDirTest, FolderIsPrivateAndGoesWithItsContent) {
  std::string path;
  {
    ASSERT_OK_AND_ASSIGN(TempDir first, TempDir::Create("burnish", ::testing::TempDir()));
    path = first.path();
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    TempDir second = std::move(first);
    EXPECT_THAT(WriteFileAtomically(second.path() + "/x", "1"), IsOk());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TempDirTest, LockedFolderOutlivesTheCleaningAndAbandonedOnesDoNot) {
  ASSERT_OK_AND_ASSIGN(const TempDir parent, TempDir::Create("parent", ::testing::TempDir()));
  const auto exists = [&parent](const std::string& name) {
    return std::filesystem::exists(parent.path() + "/" + name);
  };
  // As a killed process leaves it, and others that only look alike.
  for (const char* name : {"mine-abcdef", "mine-abcdef/inside", "mine-abcdefg", "mine.abcdef"}) {
    std::filesystem::create_directory(parent.path() + "/" + name);
  }
  ASSERT_OK_AND_ASSIGN(TempDir first, TempDir::CreateLocked("mine", parent.path()));
  EXPECT_FALSE(exists("mine-abcdef"));
  EXPECT_TRUE(exists("mine-abcdefg"));
  EXPECT_TRUE(exists("mine.abcdef"));
  const std::string first_path = first.path();
  std::optional<TempDir> moved = std::move(first);
  ASSERT_OK_AND_ASSIGN(const TempDir second, TempDir::CreateLocked("mine", parent.path()));
  EXPECT_TRUE(std::filesystem::exists(first_path)) << "its process lives";
  moved.reset();
  EXPECT_FALSE(std::filesystem::exists(first_path));
}

TEST(TempDirTest, MissingParentIsNamed) {
  EXPECT_THAT(TempDir::Create("x", "/nowhere"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nowhere")));
}

}  // namespace
}  // namespace burnish
