#include "tuner/task_scheduler/task_scheduler.h"

#include <cmath>
#include <numeric>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/task_scheduler/gradient_scheduler.h"
#include "tuner/task_scheduler/round_robin_scheduler.h"
#include "tuner/task_scheduler/task_gain.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

constexpr TaskSchedulerOptions kOptions = {.window_trials = 8, .noise_floor = 0.01};

TaskProgress Flat(int64_t latency_ns, int trials) {
  return {.start_ns = latency_ns, .best_ns = std::vector<int64_t>(trials, latency_ns)};
}

TEST(TaskGainTest, IdleTrialsAreCountedFromTheLastGainOverTheNoise) {
  EXPECT_EQ(TrialsWithoutGain({.start_ns = 1000}, 0.01), 0);
  EXPECT_EQ(TrialsWithoutGain(Flat(1000, 5), 0.01), 5);
  EXPECT_EQ(TrialsWithoutGain({.start_ns = 1000, .best_ns = {1000, 900, 900, 900}}, 0.01), 2);
  // 5 ns of 900 are noise.
  EXPECT_EQ(TrialsWithoutGain({.start_ns = 1000, .best_ns = {900, 900, 895, 895}}, 0.01), 3);
  // Three such steps are more than noise together.
  EXPECT_EQ(TrialsWithoutGain({.start_ns = 1000, .best_ns = {900, 895, 890, 885}}, 0.01), 1);
  // The first latency at all is a gain.
  EXPECT_EQ(TrialsWithoutGain({.best_ns = {0, 0, 900, 900}}, 0.01), 1);
  EXPECT_EQ(TrialsWithoutGain({.best_ns = {0, 0, 0}}, 0.01), 3);
}

TEST(TaskGainTest, PredictionFallsWithIdleTrialsAndNeverPassesTheBound) {
  double last = 1e9;
  for (const int trials : {0, 8, 32, 128}) {
    const double gain = PredictedGainNs(Flat(1000, trials), 1, kOptions);
    EXPECT_LT(gain, last);
    EXPECT_GT(gain, 0);
    last = gain;
  }
  TaskProgress steep = {.bound_ns = 480, .start_ns = 1000, .best_ns = {500}};
  EXPECT_LE(PredictedGainNs(steep, 1, kOptions), 20);
  steep.bound_ns = 500;
  EXPECT_EQ(PredictedGainNs(steep, 1, kOptions), 0);
}

TEST(TaskGainTest, BestTaskShowsWhatTheOthersMayHopeFor) {
  TaskProgress near = Flat(1250, 16), far = Flat(2000, 16);
  near.bound_ns = far.bound_ns = 1000;
  EXPECT_DOUBLE_EQ(BestShareOfBound({near, far}), 0.8);
  // Half of what is left above it, for the best one too.
  EXPECT_GT(PredictedGainNs(near, 0.8, kOptions), 0);
  EXPECT_LT(PredictedGainNs(near, 0.8, kOptions), 1250 - 1000 / 0.9);
  EXPECT_GT(PredictedGainNs(far, 0.8, kOptions), PredictedGainNs(near, 0.8, kOptions));
  EXPECT_DOUBLE_EQ(BestShareOfBound({Flat(10, 1)}), 1);
}

TEST(TaskGainTest, BoundThatATaskBeatsIsNone) {
  TaskProgress beats = Flat(990, 3), at_bound = Flat(1000, 3);
  beats.bound_ns = at_bound.bound_ns = 1000;
  const double share = BestShareOfBound({beats, at_bound});
  EXPECT_GT(share, 1);
  for (const TaskProgress& task : {beats, at_bound}) {
    EXPECT_FALSE(HasStopped(task, share, 2000, kOptions));
    EXPECT_GT(PredictedGainNs(task, share, kOptions), 0);
  }
}

TEST(GradientSchedulerTest, OneHeavyTaskWithABoundIsNotStarvedByLightOnesWithout) {
  TaskProgress heavy = Flat(18'000'000, 24), light = Flat(15'000, 24);
  heavy.bound_ns = 16'000'000;
  EXPECT_EQ(GradientScheduler(kOptions).Pick({light, heavy, light}), 1);
}

TEST(TaskGainTest, TaskStopsAtItsBoundAtTheNoiseFloorAndWhenExhausted) {
  const auto stopped = [](const TaskProgress& task, TaskSchedulerOptions options = kOptions) {
    return HasStopped(task, 1, 1000, options);
  };
  EXPECT_FALSE(stopped(Flat(1000, 16)));
  TaskProgress at_bound = Flat(1000, 3);
  at_bound.bound_ns = 995;
  EXPECT_TRUE(stopped(at_bound));
  TaskProgress exhausted = Flat(1000, 3);
  exhausted.exhausted = true;
  EXPECT_TRUE(stopped(exhausted));
  EXPECT_TRUE(stopped(Flat(1000, 500)));  // Gain inside the noise floor.
  EXPECT_FALSE(stopped(Flat(1000, 500), {.window_trials = 8, .stop_without_gain = false}));
  EXPECT_FALSE(stopped(Flat(0, 500)));  // Nothing runs: keeps looking.
  EXPECT_TRUE(stopped(Flat(1000, 10), {.window_trials = 8, .early_stopping_trials = 10}));
  EXPECT_FALSE(stopped(Flat(1000, 9), {.window_trials = 8, .early_stopping_trials = 10}));
  TaskProgress in_flight = Flat(1000, 6);
  in_flight.pending_count = 4;
  EXPECT_TRUE(stopped(in_flight, {.window_trials = 8, .early_stopping_trials = 10}));
  in_flight.pending_count = 3;
  EXPECT_FALSE(stopped(in_flight, {.window_trials = 8, .early_stopping_trials = 10}));
  // A tenth of a tenth of the whole.
  EXPECT_TRUE(HasStopped(Flat(100, 16), 1, 100'000, {.window_trials = 8, .gain_share_min = 1e-4}));
}

TEST(GradientSchedulerTest, EveryTaskGetsAFirstBatchHeaviestFirst) {
  const GradientScheduler scheduler(kOptions);
  std::vector<TaskProgress> tasks = {
      {.start_ns = 100}, {.weight = 3, .start_ns = 900}, {.start_ns = 1000}};
  EXPECT_THAT(scheduler.Pick(tasks), Optional(1));
  tasks[1].pending_count = 8;
  EXPECT_THAT(scheduler.Pick(tasks), Optional(2));
  tasks[2].pending_count = 8;
  EXPECT_THAT(scheduler.Pick(tasks), Optional(0));
  tasks[0].pending_count = 8;
  EXPECT_THAT(scheduler.Pick(tasks), Optional(1));
}

TEST(GradientSchedulerTest, TrialsGoWhereTheyShortenTheWholeMost) {
  const GradientScheduler scheduler(kOptions);
  TaskProgress gaining = {.start_ns = 1000, .best_ns = {990, 950, 900, 850, 800, 750, 700, 650}};
  EXPECT_THAT(scheduler.Pick({Flat(1000, 8), gaining}), Optional(1));
  TaskProgress heavy = Flat(1000, 8);
  heavy.weight = 50;
  EXPECT_THAT(scheduler.Pick({heavy, gaining}), Optional(0));
}

TEST(GradientSchedulerTest, NoTaskIsPickedWhenAllHaveStopped) {
  for (const std::string& name : TaskSchedulerNames()) {
    ASSERT_OK_AND_ASSIGN(const auto scheduler, MakeTaskScheduler(name, kOptions));
    EXPECT_EQ(scheduler->Pick({Flat(1000, 500), Flat(10, 500)}), std::nullopt) << name;
    EXPECT_EQ(scheduler->PredictedGain({Flat(1000, 500), Flat(10, 500)}), 0) << name;
    EXPECT_EQ(scheduler->Pick({}), std::nullopt) << name;
    EXPECT_GT(scheduler->PredictedGain({Flat(1000, 8)}), 0.01) << name;
  }
}

TEST(RoundRobinSchedulerTest, FewestTrialsFirstPendingIncluded) {
  const RoundRobinScheduler scheduler(kOptions);
  TaskProgress pending = Flat(1000, 2);
  pending.pending_count = 8;
  EXPECT_THAT(scheduler.Pick({Flat(1000, 8), pending, Flat(10, 8)}), Optional(0));
  EXPECT_THAT(scheduler.Pick({Flat(1000, 9), pending, Flat(10, 8)}), Optional(2));
}

// Tasks whose latency falls to a floor of their own at a pace of their own.
double TotalAfter(const TaskScheduler& scheduler, int batches) {
  struct Curve {
    double weight, start, floor, pace;
  };
  const Curve curves[] = {{1, 1000, 950, 30},
                          {8, 500, 200, 60},
                          {1, 3000, 900, 100},
                          {2, 100, 50, 20},
                          {1, 200, 190, 10}};
  std::vector<TaskProgress> tasks;
  for (const Curve& curve : curves) {
    tasks.push_back({.weight = curve.weight, .start_ns = static_cast<int64_t>(curve.start * 1000)});
  }
  for (int batch = 0; batch < batches; ++batch) {
    const std::optional<int> picked = scheduler.Pick(tasks);
    if (!picked.has_value()) break;
    const Curve& curve = curves[*picked];
    for (int i = 0; i < 8; ++i) {
      const double trials = static_cast<double>(tasks[*picked].trial_count()) + 1;
      const double latency =
          curve.floor + (curve.start - curve.floor) * std::exp(-trials / curve.pace);
      tasks[*picked].best_ns.push_back(static_cast<int64_t>(latency * 1000));
    }
  }
  return TotalNs(tasks);
}

TEST(GradientSchedulerTest, BeatsRoundRobinAtEveryBudget) {
  const GradientScheduler gradient(kOptions);
  const RoundRobinScheduler round_robin(kOptions);
  for (const int batches : {10, 20, 40}) {
    EXPECT_LT(TotalAfter(gradient, batches), TotalAfter(round_robin, batches)) << batches;
  }
}

TEST(MakeTaskSchedulerTest, UnknownNameIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(MakeTaskScheduler("luck", {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("gradient, round-robin")));
}

}  // namespace
}  // namespace burnish
