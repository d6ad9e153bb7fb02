#include "tuner/sketch/default_schedule.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/ir/join_parallel.h"
#include "compiler/ir/lower.h"
#include "compiler/schedule/trace_replay.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "gtest/gtest.h"
#include "tuner/cost_model/analytic_model.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

std::vector<TaskCase> Batches() {
  return {{.name = "conv",
           .op = "conv",
           .inputs = {{2, 14, 14, 64}, {64, 64, 3, 3}},
           .attributes = {{"channels_last", int64_t{1}}, {"pads", Ints{1, 1, 1, 1}}}},
          {.name = "pointwise",
           .op = "conv",
           .inputs = {{2, 14, 14, 256}, {64, 256, 1, 1}},
           .attributes = {{"channels_last", int64_t{1}}}},
          {.name = "dense", .op = "matmul", .inputs = {{2, 512}, {512, 512}}},
          {.name = "pool",
           .op = "max_pool",
           .inputs = {{2, 28, 28, 64}},
           .attributes = {{"channels_last", int64_t{1}}, {"kernel_shape", Ints{3, 3}}}}};
}

// Of one of two batches on two threads, by the model: each has a share of four.
double SecondsOfOne(const Program& workload, const Trace& trace, const DeviceModel& device) {
  TraceReplay replay(workload);
  Program scheduled = **replay.Apply(trace);
  JoinParallel(scheduled);
  return AnalyticSeconds(*Lower(scheduled, {.for_estimate = true}), device, 4);
}

class DefaultScheduleTest : public ::testing::TestWithParam<TaskCase> {};

TEST_P(DefaultScheduleTest, CallsForPartsHaveTheirSay) {
  const Program workload = WorkloadOf(GetParam());
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver4,threads=2"));
  const DeviceModel device = DeviceModelOf(target);
  const DefaultChoice all = DefaultSchedules(workload, device).front();
  const DefaultChoice both = DefaultSchedules(workload, device, {}, {.call_parts = 2}).front();
  const double one_by_all = SecondsOfOne(workload, all.trace, device);
  const double one_by_both = SecondsOfOne(workload, both.trace, device);
  // By the mean of the two sizes it is the better one; alone each may lose.
  EXPECT_LE(both.seconds / 2 + one_by_both, all.seconds / 2 + one_by_all);
  EXPECT_GE(both.seconds, all.seconds);
  EXPECT_LE(one_by_both, one_by_all);
  // One image takes little more than half of two; of a product the weights are read for one row.
  if (GetParam().op != "matmul") EXPECT_LE(one_by_both, 0.65 * both.seconds);
}

TEST_P(DefaultScheduleTest, OnePartIsAllAndMorePartsThanSixteenAreSixteen) {
  const Program workload = WorkloadOf(GetParam());
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver4,threads=2"));
  const DeviceModel device = DeviceModelOf(target);
  const auto text = [&](const DefaultNeeds& needs) {
    return PrintTrace(DefaultSchedules(workload, device, {}, needs).front().trace);
  };
  EXPECT_EQ(text({.call_parts = 1}), text({}));
  EXPECT_EQ(text({.call_parts = 1e300}), text({.call_parts = 16}));
}

INSTANTIATE_TEST_SUITE_P(Batches, DefaultScheduleTest, ::testing::ValuesIn(Batches()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace burnish
