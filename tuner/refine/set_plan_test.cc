#include "tuner/refine/set_plan.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/rng.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

// Task 0 differs, task 1, which has two steps, does not.
constexpr std::array<std::array<int, 2>, 2> kMembers = {{{0, 1}, {2, 2}}};
constexpr std::array<int, 3> kSteps = {0, 1, 1};

TEST(SetPlanTest, EachPassRunsOneSetAndEachBlockBoth) {
  const SetPlan plan = PlanSets(kMembers, kSteps, {.seed = 1, .block_count = 20});
  ASSERT_EQ(plan.order.pass_count(), 42);
  ASSERT_EQ(plan.set_of_pass.size(), 42u);
  EXPECT_EQ(plan.order.warm_up_pass_count, 2);
  int begins_with_0 = 0;
  for (size_t pass = 0; pass < 42; ++pass) {
    const int set = plan.set_of_pass[pass];
    if (pass % 2 == 1) {
      EXPECT_EQ(set, 1 - plan.set_of_pass[pass - 1]);
    } else {
      begins_with_0 += set == 0;
    }
    EXPECT_EQ(plan.order.candidates[3 * pass], set);
    EXPECT_EQ(plan.order.candidates[3 * pass + 1], 2);
    EXPECT_EQ(plan.order.candidates[3 * pass + 2], 2);
  }
  EXPECT_GT(begins_with_0, 3);
  EXPECT_LT(begins_with_0, 18);
}

TEST(SetPlanTest, OrderIsAnotherInEachProcessAndAFunctionOfTheSeed) {
  const auto sets_of = [](uint64_t seed, int process) {
    return PlanSets(kMembers, kSteps, {.seed = seed, .process = process, .block_count = 20})
        .set_of_pass;
  };
  EXPECT_EQ(sets_of(1, 0), sets_of(1, 0));
  EXPECT_NE(sets_of(1, 0), sets_of(1, 1));
  EXPECT_NE(sets_of(1, 0), sets_of(2, 0));
}

TEST(SetPlanTest, PassIsTheSumOfItsStepsAndOnlyItsOwnSetCounts) {
  SetPlan plan = PlanSets(kMembers, kSteps, {.block_count = 3});
  plan.set_of_pass = {0, 1, 0, 1, 1, 0, 0, 1};
  for (size_t pass = 0; pass < 8; ++pass) plan.order.candidates[3 * pass] = plan.set_of_pass[pass];
  // The one that both have is slower behind the second.
  const std::vector<ProcessLatencies> times = {{.latency_ns = {100, 101, 102}},
                                               {.latency_ns = {90, 91, 95}},
                                               {.latency_ns = {10, 20, 20, 10, 10, 20}}};
  ASSERT_OK_AND_ASSIGN(const auto pass_ns, SetPassNs(plan, times));
  EXPECT_EQ(pass_ns[0], 121);
  EXPECT_EQ(pass_ns[1], 131);
}

TEST(SetPlanTest, LatenciesOfAnotherPlanAreRefused) {
  const SetPlan plan = PlanSets(kMembers, kSteps, {.block_count = 1});
  std::vector<ProcessLatencies> times = {
      {.latency_ns = {1}}, {.latency_ns = {1}}, {.latency_ns = {1}}};
  EXPECT_THAT(SetPassNs(plan, times),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("fewer latencies")));
  times[2].latency_ns = {1, 1, 1};
  EXPECT_THAT(SetPassNs(plan, times),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("more latencies")));
}

TEST(SetPlanTest, SetIsSlowerWhereTheMeanIsBeyondTheSpread) {
  const SetVerdict slower = JudgeSets({1.030, 1.026, 1.034});
  EXPECT_NEAR(slower.ratio, 1.03, 1e-12);
  EXPECT_NEAR(slower.spread, 0.008, 1e-12);
  EXPECT_TRUE(slower.is_slower);
  EXPECT_FALSE(JudgeSets({1.030, 1.002, 1.040}).is_slower);
  EXPECT_FALSE(JudgeSets({0.970, 0.971, 0.972}).is_slower);
  EXPECT_FALSE(JudgeSets({1, 1, 1}).is_slower);
}

TEST(SetPlanTest, NoiseAloneIsSeldomALoss) {
  Rng rng(1);
  int slower = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::array<double, 3> ratios = {1 + 0.01 * rng.Normal(), 1 + 0.01 * rng.Normal(),
                                          1 + 0.01 * rng.Normal()};
    slower += JudgeSets(ratios).is_slower;
  }
  EXPECT_LT(slower, 120);
  EXPECT_GT(slower, 20);
}

}  // namespace
}  // namespace burnish
