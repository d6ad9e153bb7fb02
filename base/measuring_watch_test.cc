#include "base/measuring_watch.h"

#include <poll.h>
#include <sys/file.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/measuring_files.h"
#include "base/measuring_testing.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MeasuringWatchTest : public testing::Test {
 protected:
  // Whether it learns of a change within ten seconds, by waiting as it says.
  bool Learns(MeasuringWatch& watch) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < end) {
      pollfd fd = {.fd = watch.descriptor(), .events = POLLIN};
      const int wait_ms = watch.timeout_ms();
      poll(&fd, 1, wait_ms < 0 ? 10'000 : wait_ms);
      if (watch.Look()) return true;
    }
    return false;
  }

  const TempDir folder_ = *TempDir::Create("measuring-watch-test");
};

TEST_F(MeasuringWatchTest, AllAreFreeWhereNobodyMeasures) {
  const auto watch = MeasuringWatch::Start(folder_.path(), {0, 3});
  EXPECT_THAT(watch->free(), ElementsAre(0, 3));
  EXPECT_EQ(watch->timeout_ms(), -1);
  EXPECT_FALSE(watch->Look());
}

TEST_F(MeasuringWatchTest, SeesWhoMeasuredBeforeAndTheEnd) {
  std::vector<UniqueFd> files = MeasureOn(folder_.path(), {3});
  const auto watch = MeasuringWatch::Start(folder_.path(), {0, 3});
  EXPECT_THAT(watch->free(), ElementsAre(0));
  files.clear();
  EXPECT_TRUE(Learns(*watch));
  EXPECT_THAT(watch->free(), ElementsAre(0, 3));
}

TEST_F(MeasuringWatchTest, SeesABeginAndAnEnd) {
  const auto watch = MeasuringWatch::Start(folder_.path(), {0, 3});
  for (int i = 0; i < 3; ++i) {
    std::vector<UniqueFd> first = MeasureOn(folder_.path(), {0});
    std::vector<UniqueFd> second = MeasureOn(folder_.path(), {3});
    while (!watch->free().empty()) ASSERT_TRUE(Learns(*watch));
    first.clear();
    EXPECT_TRUE(Learns(*watch));
    EXPECT_THAT(watch->free(), ElementsAre(0));
    second.clear();
    EXPECT_TRUE(Learns(*watch));
    EXPECT_THAT(watch->free(), ElementsAre(0, 3));
  }
}

TEST_F(MeasuringWatchTest, WhoIsToldIsWokenAtOnceAndNotByTheClock) {
  const auto watch = MeasuringWatch::Start(folder_.path(), {0});
  const std::vector<UniqueFd> files = MeasureOn(folder_.path(), {0});
  pollfd fd = {.fd = watch->descriptor(), .events = POLLIN};
  EXPECT_EQ(poll(&fd, 1, 0), 1);
  EXPECT_TRUE(watch->Look());
  EXPECT_THAT(watch->free(), IsEmpty());
}

// Others who look, or wait for the lock, are no measurement.
TEST_F(MeasuringWatchTest, SharedHoldersMeasureNothing) {
  const UniqueFd file(OpenMeasuringFile(MeasuringFile(folder_.path(), 0)));
  ASSERT_EQ(flock(file.get(), LOCK_SH), 0);
  EXPECT_THAT(MeasuringWatch::Start(folder_.path(), {0})->free(), ElementsAre(0));
}

TEST_F(MeasuringWatchTest, FolderThatIsNotThereHidesNobodyAndStopsNothing) {
  const auto watch = MeasuringWatch::Start(folder_.path() + "/none", {0, 1});
  EXPECT_THAT(watch->free(), ElementsAre(0, 1));
}

}  // namespace
}  // namespace burnish
