#include "tuner/refine/set_plan.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/rng.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Task 0 differs, task 1, which has two steps, does not.
constexpr std::array<std::array<int, 2>, 2> kMembers = {{{0, 1}, {2, 2}}};
constexpr std::array<int, 3> kSteps = {0, 1, 1};

TEST(SetPlanTest, EachBlockRunsBothSetsAndCountsTheLastPassesOfEachRun) {
  const SetPlan plan = PlanSets(kMembers, kSteps, {.seed = 1, .block_count = 20});
  constexpr int kBlock = 2 * kPassesOfSet;
  ASSERT_EQ(plan.passes.size(), 20u * kBlock);
  ASSERT_EQ(plan.order.pass_count(), 20 * kBlock);
  EXPECT_EQ(plan.order.warm_up_pass_count, kSettlePasses);
  int begins_with_0 = 0;
  for (int pass = 0; pass < 20 * kBlock; ++pass) {
    const int set = plan.passes[pass].set;
    const int first = plan.passes[pass / kBlock * kBlock].set;
    EXPECT_EQ(set, pass % kBlock < kPassesOfSet ? first : 1 - first);
    EXPECT_EQ(plan.passes[pass].counts, pass % kPassesOfSet >= kSettlePasses);
    EXPECT_EQ(plan.order.candidates[3 * pass], set);
    EXPECT_EQ(plan.order.candidates[3 * pass + 1], 2);
    EXPECT_EQ(plan.order.candidates[3 * pass + 2], 2);
    begins_with_0 += pass % kBlock == 0 && first == 0;
  }
  EXPECT_GT(begins_with_0, 3);
  EXPECT_LT(begins_with_0, 18);
}

TEST(SetPlanTest, OrderIsAnotherInEachProcessAndAFunctionOfTheSeed) {
  const auto order_of = [](uint64_t seed, int process) {
    return PlanSets(kMembers, kSteps, {.seed = seed, .process = process, .block_count = 20})
        .order.candidates;
  };
  EXPECT_EQ(order_of(1, 0), order_of(1, 0));
  EXPECT_NE(order_of(1, 0), order_of(1, 1));
  EXPECT_NE(order_of(1, 0), order_of(2, 0));
}

// Latencies of a plan's timed passes, by candidate. `ns(candidate, pass)`.
std::vector<ProcessLatencies> RunOf(const SetPlan& plan,
                                    const std::function<int64_t(int, int64_t)>& ns) {
  std::vector<ProcessLatencies> times(3);
  for (int64_t pass = plan.order.warm_up_pass_count; pass < plan.order.pass_count(); ++pass) {
    for (const int candidate : {plan.passes[pass].set, 2}) {
      times[candidate].latency_ns.push_back(ns(candidate, pass));
    }
  }
  return times;
}

TEST(SetPlanTest, PassIsTheSumOfItsStepsAndOnlyItsOwnSetCounts) {
  const SetPlan plan = PlanSets(kMembers, kSteps, {.block_count = 3});
  // The one that both have is slower behind the second. What does not count is slow by far.
  const std::vector<ProcessLatencies> ran = RunOf(plan, [&plan](int candidate, int64_t pass) {
    if (!plan.passes[pass].counts) return 1'000'000;
    const int first = candidate < 2 ? candidate : plan.passes[pass].set;
    if (candidate == 2) return first == 0 ? 10 : 20;
    return first == 0 ? 101 : 91;
  });
  ASSERT_OK_AND_ASSIGN(const SetTimes times, TimesOfSets(plan, ran));
  EXPECT_EQ(times.pass_ns[0], 121);
  EXPECT_EQ(times.pass_ns[1], 131);
  const size_t counted = 3 * kCountedPasses;
  EXPECT_THAT(times.candidates[0][0].latency_ns, AllOf(SizeIs(counted), Each(101)));
  EXPECT_THAT(times.candidates[1][1].latency_ns, AllOf(SizeIs(counted), Each(91)));
  EXPECT_THAT(times.candidates[0][2].latency_ns, AllOf(SizeIs(counted), Each(10)));
  EXPECT_THAT(times.candidates[1][2].latency_ns, AllOf(SizeIs(counted), Each(20)));
  EXPECT_THAT(times.candidates[1][0].latency_ns, IsEmpty());
}

// As seen with two bundles in turn (set_plan.h): a set's first pass has the time that suits what
// the other left in the cache.
TEST(SetPlanTest, SetThatIsSlowOnlyBehindTheOtherIsTheFasterOne) {
  const SetPlan plan = PlanSets(kMembers, kSteps, {.block_count = 6});
  constexpr int64_t kFirstNs[] = {9700, 9100, 8600, 8500, 8400, 8400};
  constexpr int64_t kSecondNs[] = {8800, 9500, 9800, 9800, 9800, 9800};
  const std::vector<ProcessLatencies> ran = RunOf(plan, [](int candidate, int64_t pass) {
    if (candidate == 2) return int64_t{1};
    return (candidate == 0 ? kFirstNs : kSecondNs)[pass % kPassesOfSet];
  });
  ASSERT_OK_AND_ASSIGN(const SetTimes times, TimesOfSets(plan, ran));
  EXPECT_EQ(times.pass_ns[0], 8402);
  EXPECT_EQ(times.pass_ns[1], 9802);
}

TEST(SetPlanTest, LatenciesOfAnotherPlanAreRefused) {
  const SetPlan plan = PlanSets(kMembers, kSteps, {.block_count = 1});
  std::vector<ProcessLatencies> times = RunOf(plan, [](int, int64_t) { return 1; });
  EXPECT_THAT(TimesOfSets(plan, times), IsOk());
  times[2].latency_ns.push_back(1);
  EXPECT_THAT(TimesOfSets(plan, times),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("more latencies")));
  times[2].latency_ns.resize(times[2].latency_ns.size() - 2);
  EXPECT_THAT(TimesOfSets(plan, times),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("fewer latencies")));
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
