#include "base/stand_aside.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/measuring_testing.h"
#include "base/unique_fd.h"
#include "base/usable_cpus.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAreArray;
using Clock = std::chrono::steady_clock;

class StandAsideTest : public testing::Test {
 protected:
  std::vector<UniqueFd> Lock(const std::vector<int>& cpus) {
    return MeasureOn(folder_.path(), cpus);
  }

  const TempDir folder_ = *TempDir::Create("stand-aside-test");
  const std::vector<int> all_ = UsableCpus();
};

TEST_F(StandAsideTest, PointOutsideDoesNothing) {
  const std::vector<UniqueFd> files = Lock(all_);
  const auto start = Clock::now();
  StandAsidePoint();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(1));
  EXPECT_EQ(UsableCpus(), all_);
}

TEST_F(StandAsideTest, WaitsWhileAllAreMeasured) {
  std::vector<UniqueFd> files = Lock(all_);
  Clock::time_point freed, passed;
  std::thread measurer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    freed = Clock::now();
    files.clear();
  });
  RunStandingAside(folder_.path(), [&] {
    StandAsidePoint();
    passed = Clock::now();
    measurer.join();
    // CPUs become free one after the other, and the watcher may have looked in between.
    while (UsableCpus() != all_ && Clock::now() - passed < std::chrono::seconds(20)) {
      StandAsidePoint();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(UsableCpus(), all_);
  });
  EXPECT_GE(passed, freed);
}

TEST_F(StandAsideTest, SeesAMeasurementThatBeginsMeanwhile) {
  Clock::time_point freed, passed;
  RunStandingAside(folder_.path(), [&] {
    StandAsidePoint();
    std::vector<UniqueFd> files = Lock(all_);
    // The watcher is a thread, and has to come to its turn.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::thread measurer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      freed = Clock::now();
      files.clear();
    });
    StandAsidePoint();
    passed = Clock::now();
    measurer.join();
  });
  EXPECT_GE(passed, freed);
}

TEST_F(StandAsideTest, KeepsToCpusOnWhichNobodyMeasures) {
  if (all_.size() < 2) GTEST_SKIP() << "one CPU";
  const std::vector<UniqueFd> files = Lock({all_[0]});
  RunStandingAside(folder_.path(), [&] {
    StandAsidePoint();
    EXPECT_THAT(UsableCpus(), ElementsAreArray(all_.begin() + 1, all_.end()));
  });
  EXPECT_EQ(UsableCpus(), all_) << "the caller's thread keeps its CPUs";
}

// A holder that hangs.
TEST_F(StandAsideTest, GoesOnAfterAWhile) {
  const std::vector<UniqueFd> files = Lock(all_);
  RunStandingAside(folder_.path(), [&] {
    StandAsidePoint();
    EXPECT_EQ(UsableCpus(), all_);
  });
}

}  // namespace
}  // namespace burnish
