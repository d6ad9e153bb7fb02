#include "tuner/study/stop_rule.h"

#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(StopRuleTest, NamedNumberOfTrialsIsSpentToTheLast) {
  const StudySpec spec = {.trials_max = 100, .gain_min = 0.1};
  EXPECT_EQ(ShouldStop(spec, {.begun_count = 99, .predicted_gain = 0}), StopReason::kNone);
  EXPECT_EQ(ShouldStop(spec, {.begun_count = 100}), StopReason::kTrials);
  EXPECT_EQ(ShouldStop({.trials_max = 0}, {}), StopReason::kTrials);
}

TEST(StopRuleTest, OpenNumberEndsWithTheGainAndHasALimit) {
  const StudySpec spec = {.gain_min = 0.005};
  EXPECT_EQ(ShouldStop(spec, {.begun_count = 500, .predicted_gain = 0.006}), StopReason::kNone);
  EXPECT_EQ(ShouldStop(spec, {.begun_count = 500, .predicted_gain = 0.004}), StopReason::kGain);
  EXPECT_EQ(ShouldStop(spec, {.begun_count = 20'000}), StopReason::kTrials);
}

TEST(StopRuleTest, TimeCountsWhereItWasLimited) {
  const absl::Duration hour = absl::Hours(1);
  EXPECT_EQ(ShouldStop({.trials_max = 9}, {.elapsed = hour}), StopReason::kNone);
  const StudySpec limited = {.trials_max = 9, .time_max_ns = absl::ToInt64Nanoseconds(hour)};
  EXPECT_EQ(ShouldStop(limited, {.elapsed = hour - absl::Nanoseconds(1)}), StopReason::kNone);
  EXPECT_EQ(ShouldStop(limited, {.elapsed = hour}), StopReason::kTime);
}

TEST(StopRuleTest, TrialsLeaveAShareOfTheTimeToWhatFollows) {
  const absl::Duration time = absl::Seconds(110);
  const StudySpec limited = {.trials_max = 9, .time_max_ns = absl::ToInt64Nanoseconds(time)};
  EXPECT_EQ(ShouldStop(limited, {.elapsed = absl::Seconds(99), .refines = true}),
            StopReason::kNone);
  EXPECT_EQ(ShouldStop(limited, {.elapsed = absl::Seconds(101), .refines = true}),
            StopReason::kTime);
}

TEST(StopRuleTest, RefiningTakesAModelAndEnoughTrials) {
  EXPECT_TRUE(ShouldRefine({}, 24, /*task_count=*/3, /*step_count=*/5));
  EXPECT_FALSE(ShouldRefine({}, 23, 3, 5));
  EXPECT_FALSE(ShouldRefine({}, 24, 3, 0));
  EXPECT_FALSE(ShouldRefine({}, 24, 1, 5));
  EXPECT_FALSE(ShouldRefine({.no_refine = true}, 24, 3, 5));
}

}  // namespace
}  // namespace burnish
