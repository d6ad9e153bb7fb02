#include "tuner/refine/pass_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::SizeIs;

// Tasks 0 to 2 with 3, 1 and 5 entries, in a model of six steps.
const std::vector<int> kEntries = {3, 1, 5};
const std::vector<int> kSteps = {0, 1, 2, 0, 2, 2};

// The entry of each task in a pass, numbered within the task.
std::vector<int> EntriesOf(const ModelOrder& order, int64_t pass) {
  const std::vector<int> first = {0, 3, 4};
  std::vector<int> entries(3, -1);
  for (size_t step = 0; step < kSteps.size(); ++step) {
    const int task = kSteps[step];
    const int entry = order.candidates[pass * order.step_count + step] - first[task];
    EXPECT_GE(entry, 0);
    EXPECT_LT(entry, kEntries[task]);
    if (entries[task] >= 0) EXPECT_EQ(entries[task], entry) << "two entries in one pass";
    entries[task] = entry;
  }
  return entries;
}

TEST(PassPlanTest, EveryEntryRunsEquallyOftenAndAllOfThemInTheWarmUp) {
  const ModelOrder order = PlanPasses(kEntries, kSteps, {.seed = 1, .block_count = 6});
  EXPECT_EQ(order.step_count, 6);
  EXPECT_EQ(order.warm_up_pass_count, 5);
  EXPECT_EQ(order.pass_count(), 5 * 7);
  for (size_t task = 0; task < kEntries.size(); ++task) {
    std::vector<int> timed(kEntries[task], 0), warm_up(kEntries[task], 0);
    for (int64_t pass = 0; pass < order.pass_count(); ++pass) {
      ++(pass < 5 ? warm_up : timed)[EntriesOf(order, pass)[task]];
    }
    EXPECT_THAT(warm_up, Each(Ge(1)));
    // 30 passes among 3, 1 and 5 entries; a block of five cuts the second permutation of three.
    const auto [least, most] = std::minmax_element(timed.begin(), timed.end());
    EXPECT_LE(*most - *least, task == 0 ? 6 : 0);
    EXPECT_GE(*least, 30 / kEntries[task] - 4);
  }
}

TEST(PassPlanTest, EveryEntryMeetsEveryEntryOfItsNeighbour) {
  const ModelOrder order = PlanPasses(kEntries, kSteps, {.seed = 2, .block_count = 40});
  std::map<std::pair<int, int>, int> met;
  for (int64_t pass = 5; pass < order.pass_count(); ++pass) {
    const std::vector<int> entries = EntriesOf(order, pass);
    ++met[{entries[0], entries[2]}];
  }
  EXPECT_THAT(met, SizeIs(3 * 5));
  // 200 passes over 15 pairs.
  for (const auto& [pair, count] : met) EXPECT_THAT(count, Ge(3));
}

TEST(PassPlanTest, EachProcessHasAnOrderOfItsOwnAndTheSeedDecidesIt) {
  const ModelOrder first = PlanPasses(kEntries, kSteps, {.seed = 3, .process = 0});
  EXPECT_EQ(first, PlanPasses(kEntries, kSteps, {.seed = 3, .process = 0}));
  EXPECT_NE(first, PlanPasses(kEntries, kSteps, {.seed = 3, .process = 1}));
  EXPECT_NE(first, PlanPasses(kEntries, kSteps, {.seed = 4, .process = 0}));
}

TEST(PassPlanTest, TasksWithNothingToChooseMakeOnePassABlock) {
  const ModelOrder order = PlanPasses({1, 1}, {0, 1, 0}, {.block_count = 2});
  EXPECT_EQ(order.warm_up_pass_count, 1);
  EXPECT_EQ(order.candidates, (std::vector<int32_t>{0, 1, 0, 0, 1, 0, 0, 1, 0}));
}

}  // namespace
}  // namespace burnish
