#include "tuner/study/gain_text.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::DoubleNear;
using ::testing::Optional;

TEST(GainTextTest, GainOfAModelIsReadBack) {
  for (const double ratio : {0.5, 0.979, 1.0, 1.02}) {
    const std::string detail =
        absl::StrCat("trials; ", GainText({.network_ratio = ratio, .network_spread = 0.003}));
    EXPECT_THAT(GainIn(detail), Optional(DoubleNear(1 / ratio, 1e-9))) << detail;
  }
}

TEST(GainTextTest, WhereDefaultsAreTakenNothingIsGained) {
  EXPECT_THAT(GainIn(GainText({.network_ratio = 1.4, .defaults_taken = true})), Optional(1.0));
}

TEST(GainTextTest, GainOfAnOperatorIsReadBack) {
  const std::string text = GainText({.task_gains = {1.25}, .gains_only = true});
  EXPECT_EQ(text, "operator: 1.25x as fast as with its default schedule");
  EXPECT_THAT(GainIn(absl::StrCat("trials; ", text)), Optional(1.25));
}

TEST(GainTextTest, WhatWasNotMeasuredIsNoGain) {
  EXPECT_EQ(GainText({}), "");
  EXPECT_EQ(GainText({.task_gains = {0}, .gains_only = true}), "");
  EXPECT_EQ(GainText({.task_gains = {1, 2}, .gains_only = true}), "");
  for (const char* detail : {"", "trials", "network: ", "network: fast % faster", "operator: x",
                             "network: 100.0 % faster than with default schedules"}) {
    EXPECT_EQ(GainIn(detail), std::nullopt) << detail;
  }
}

TEST(GainTextTest, TheLastOneCounts) {
  const std::string detail = absl::StrCat("trials; worker network: 90 % faster was paused; ",
                                          GainText({.network_ratio = 0.8}));
  EXPECT_THAT(GainIn(detail), Optional(DoubleNear(1.25, 1e-9)));
}

TEST(GainTextTest, AnEarlyEndSaysWhyAndWhatItSaved) {
  const StudyProgress progress{
      .trial_count = 100, .trials_max = -1, .elapsed = absl::Hours(1), .predicted_gain = 0.0042};
  EXPECT_EQ(
      NothingMoreText(StopReason::kGain, progress),
      "nothing more to gain here: the next trials promise 0.42 % of the whole; saves 19900 of "
      "at most 20000 trials, 199.0 h at the rate so far");
  EXPECT_EQ(NothingMoreText(StopReason::kNoTaskLeft,
                            {.trial_count = 60, .trials_max = 80, .elapsed = absl::Minutes(18)}),
            "nothing more to gain here: each task is at its bound, searched to its end, or long "
            "without gain; saves 20 of at most 80 trials, 0.1 h at the rate so far");
}

TEST(GainTextTest, WhoHadItsTrialsSavedNothing) {
  for (const StopReason reason : {StopReason::kTrials, StopReason::kTime, StopReason::kCancelled}) {
    EXPECT_EQ(NothingMoreText(reason, {.trial_count = 5, .trials_max = 80}), "");
  }
  const std::string text =
      NothingMoreText(StopReason::kNoTaskLeft, {.trial_count = 0, .trials_max = 0});
  EXPECT_TRUE(absl::EndsWith(text, "without gain")) << text;
}

}  // namespace
}  // namespace burnish
