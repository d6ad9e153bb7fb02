#include "tuner/refine/verdict.h"

#include <cmath>
#include <vector>

#include "base/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

using Bools = std::vector<bool>;

// Entries with these true times, in three processes, each measurement off by `noise` (relative
// standard deviation).
RefineTimes Sampled(const std::vector<double>& true_ns, double noise, Rng& rng,
                    int process_count = kRefineProcesses) {
  RefineTimes task;
  for (const double ns : true_ns) {
    std::vector<double>& processes = task.entry_ns.emplace_back();
    for (int process = 0; process < process_count; ++process) {
      processes.push_back(ns * (1 + noise * rng.Normal()));
    }
  }
  return task;
}

int WinnerOf(const RefineTimes& task) { return Judge({task})[0].winner; }

TEST(VerdictTest, WinnerBeatsTheIncumbentByMoreThanTheSpreadInAllThreeProcesses) {
  const RefineTimes task{{{100, 101, 100}, {101, 100, 102}, {97, 97, 98}, {99, 98, 99}}};
  const RefineVerdict verdict = Judge({task})[0];
  EXPECT_EQ(verdict.winner, 2);
  EXPECT_THAT(verdict.spread_ns, DoubleNear(2, 1e-9));
  EXPECT_THAT(verdict.incumbent_ns, DoubleNear(604.0 / 6, 1e-9));
  EXPECT_THAT(verdict.ratio, DoubleNear(292.0 / 302, 1e-9));
}

TEST(VerdictTest, OneProcessWithoutTheGainKeepsTheIncumbent) {
  EXPECT_EQ(WinnerOf({{{100, 100, 100}, {101, 101, 101}, {90, 90, 99.6}}}), 0);
  EXPECT_EQ(WinnerOf({{{100, 100, 100}, {101, 101, 101}, {90, 90, 101}}}), 0);
}

TEST(VerdictTest, GainWithinTheSpreadKeepsTheIncumbent) {
  EXPECT_EQ(WinnerOf({{{100, 100, 100}, {106, 100, 100}, {97, 97, 97}}}), 0);
  EXPECT_EQ(WinnerOf({{{100, 100, 100}, {100, 100, 100}, {100, 100, 100}}}), 0);
}

// By luck two halves may agree; what all tasks show says what is to be believed.
TEST(VerdictTest, SpreadOfTheOtherTasksCountsWhereATasksOwnIsSmall) {
  const RefineTimes quiet{{{100, 100, 100}, {100, 100, 100}, {98, 98, 98}}};
  const RefineTimes loud{{{100, 100, 100}, {103, 103, 103}, {104, 104, 104}}};
  EXPECT_EQ(WinnerOf(quiet), 2);
  EXPECT_EQ(Judge({quiet, loud, loud})[0].winner, 0);
}

TEST(VerdictTest, FewerThanThreeProcessesDeclareNobody) {
  const RefineTimes task{{{100, 100}, {100, 100}, {50, 50}}};
  EXPECT_EQ(WinnerOf(task), 0);
  EXPECT_THAT(Contenders({task})[0], ElementsAre(true, true, true));
  // One that left early, too.
  EXPECT_EQ(WinnerOf({{{100, 100, 100}, {100, 100, 100}, {50}}}), 0);
}

TEST(VerdictTest, WhoHasNotWonAProcessLeavesAndTakesTheSecondHalfAlong) {
  const std::vector<std::vector<bool>> stays =
      Contenders({RefineTimes{{{100}, {101}, {90}, {101}}}, RefineTimes{{{100}, {100}, {100}}},
                  RefineTimes{{{100}}}});
  EXPECT_THAT(stays,
              ElementsAre(Bools{true, true, true, false}, Bools{true, false, false}, Bools{true}));
}

TEST(VerdictTest, NoiseAloneChangesNothing) {
  Rng rng(1);
  int changed = 0;
  for (int study = 0; study < 100; ++study) {
    std::vector<RefineTimes> tasks;
    for (int i = 0; i < 20; ++i) {
      tasks.push_back(Sampled({100, 100, 100, 100, 100}, 0.01, rng));
    }
    for (const RefineVerdict& verdict : Judge(tasks)) changed += verdict.winner != 0;
  }
  EXPECT_LE(changed, 12);  // Of 2000 tasks with three contenders each.
}

TEST(VerdictTest, PlantedWinnersAreFoundAboveTheNoiseAndNotBelowIt) {
  Rng rng(2);
  int found = 0, found_small = 0;
  for (int i = 0; i < 200; ++i) {
    found += WinnerOf(Sampled({100, 100, 101, 94, 99}, 0.005, rng)) == 3;
    found_small += WinnerOf(Sampled({100, 100, 101, 99.9, 100}, 0.005, rng)) != 0;
  }
  EXPECT_GE(found, 190);
  EXPECT_LE(found_small, 8);
}

TEST(VerdictTest, MedianIsTheMiddleOrTheMeanOfTheTwo) {
  EXPECT_EQ(MedianNs({.latency_ns = {5, 1, 3}}), 3);
  EXPECT_EQ(MedianNs({.latency_ns = {5, 1, 3, 4}}), 3.5);
  EXPECT_EQ(MedianNs({.latency_ns = {7}}), 7);
  EXPECT_EQ(MedianNs({}), 0);
}

}  // namespace
}  // namespace burnish
