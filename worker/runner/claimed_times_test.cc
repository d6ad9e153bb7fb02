#include "worker/runner/claimed_times.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

RunnerTiming Timing(std::vector<int64_t> latency_ns, int64_t inner_count) {
  return {.latency_ns = std::move(latency_ns), .inner_count = inner_count};
}

TEST(ClaimedTimesTest, RepeatsTakeTogetherWhatPassedAtTheMost) {
  EXPECT_TRUE(CanBe(Timing({10, 20, 30}, 4), 240));
  EXPECT_FALSE(CanBe(Timing({10, 20, 30}, 4), 230));
  EXPECT_TRUE(CanBe(Timing({100}, 1), 100));
  EXPECT_FALSE(CanBe(Timing({101}, 1), 100));
  EXPECT_FALSE(CanBe(Timing(std::vector<int64_t>(11, 10), 1), 100));
  // Ten calls in 16 ns are 2 ns each, rounded.
  EXPECT_TRUE(CanBe(Timing({2}, 10), 16));
  EXPECT_FALSE(CanBe(Timing({2}, 10), 14));
}

TEST(ClaimedTimesTest, WhatIsTimedAroundThemTakesNoLonger) {
  for (int64_t RunnerTiming::* const field :
       {&RunnerTiming::reference_before_ns, &RunnerTiming::reference_after_ns,
        &RunnerTiming::probe_before_ns, &RunnerTiming::probe_after_ns}) {
    RunnerTiming timing = Timing({10}, 1);
    timing.*field = 100;
    EXPECT_TRUE(CanBe(timing, 100));
    for (const int64_t odd : {int64_t{101}, int64_t{-1}, kMost, -kMost - 1}) {
      timing.*field = odd;
      EXPECT_FALSE(CanBe(timing, 100)) << odd;
    }
  }
}

TEST(ClaimedTimesTest, NumbersThatNoClockGivesAreNone) {
  EXPECT_FALSE(CanBe(Timing({}, 1), kMost));
  const int64_t odd[] = {0, -1, kMost, -kMost - 1, kMost / 2, int64_t{1} << 41};
  for (const int64_t ns : odd) {
    EXPECT_FALSE(CanBe(Timing({1, ns}, 1), 1000)) << ns;
    EXPECT_FALSE(CanBe(Timing({1, 1}, ns), 1000)) << ns;
    EXPECT_FALSE(CanBe(Timing({ns, 1, ns}, 1'000'000), kMost / 4)) << ns;
  }
}

TEST(ClaimedTimesTest, StepsOfAModelAreEachOneCall) {
  EXPECT_TRUE(FitInto(std::vector<int64_t>{0, 40, 60}, 1, 100));
  EXPECT_FALSE(FitInto(std::vector<int64_t>{1, 40, 60}, 1, 100));
  EXPECT_FALSE(FitInto(std::vector<int64_t>{kMost, kMost}, 1, 100));
  EXPECT_FALSE(FitInto(std::vector<int64_t>{-5, 5}, 1, 100));
}

TEST(ClaimedTimesTest, TheClockGoesOn) {
  const WallTime time;
  const int64_t first = time.Ns();
  EXPECT_GE(first, 0);
  EXPECT_GE(time.Ns(), first);
}

}  // namespace
}  // namespace burnish
