#include "worker/runner/measuring_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

class MeasuringLockTest : public ::testing::Test {
 protected:
  static bool IsFree(const std::string& path, int mode) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
    EXPECT_GE(descriptor, 0);
    const bool is_free = flock(descriptor, mode | LOCK_NB) == 0;
    close(descriptor);
    return is_free;
  }
  const TempDir folder_ = *TempDir::Create("measuring-lock-test");
};

TEST_F(MeasuringLockTest, OneFileForEachCpuAscendingSoThatNobodyDeadlocks) {
  EXPECT_THAT(MeasuringLockPaths("/x", {3, 0, 3}),
              ElementsAre("/x/burnish-measure-cpu0.lock", "/x/burnish-measure-cpu3.lock"));
}

TEST_F(MeasuringLockTest, SectionsExcludeEachOtherWhereTheyShareACpu) {
  const std::string cpu1 = MeasuringLockPaths(folder_.path(), {1})[0];
  const std::string cpu2 = MeasuringLockPaths(folder_.path(), {2})[0];
  {
    const auto lock = MeasuringLock::Acquire(MeasuringLockPaths(folder_.path(), {0, 1}));
    ASSERT_TRUE(lock.ok());
    EXPECT_FALSE(IsFree(cpu1, LOCK_EX));
    EXPECT_FALSE(IsFree(cpu1, LOCK_SH));
    EXPECT_TRUE(IsFree(cpu2, LOCK_EX));
  }
  EXPECT_TRUE(IsFree(cpu1, LOCK_EX));
}

TEST_F(MeasuringLockTest, FolderThatIsNotThereIsAnError) {
  EXPECT_FALSE(MeasuringLock::Acquire({folder_.path() + "/none/x.lock"}).ok());
}

}  // namespace
}  // namespace burnish
