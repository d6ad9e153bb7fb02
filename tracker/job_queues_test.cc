#include "tracker/job_queues.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

const SlotInfo kAvx2{.kind = JobKind::kRun, .device_keys = {"cpu-znver3"}, .labels = {{"e", "7"}}};

Demands Runs(const std::string& device_key, const Labels& labels = {}) {
  return {.kind = JobKind::kRun, .device_key = device_key, .labels = labels};
}

QueuedJob Job(uint64_t order, const std::string& id, int priority = 0) {
  return {.order = order, .id = id, .study = "study", .priority = priority};
}

TEST(MeetsTest, KindDeviceAndEachLabelMustFit) {
  EXPECT_TRUE(Meets(kAvx2, Runs("cpu-znver3")));
  EXPECT_TRUE(Meets(kAvx2, Runs("")));
  EXPECT_TRUE(Meets(kAvx2, Runs("cpu-znver3", {{"e", "7"}})));
  EXPECT_FALSE(Meets(kAvx2, Runs("cpu-znver3", {{"e", "8"}})));
  EXPECT_FALSE(Meets(kAvx2, Runs("cuda-sm90")));
  EXPECT_FALSE(Meets(kAvx2, {.kind = JobKind::kBuild, .device_key = "cpu-znver3"}));
}

TEST(MeetsTest, SlotWithoutDeviceKeysServesEveryDevice) {
  const SlotInfo builder{.kind = JobKind::kBuild};
  EXPECT_TRUE(Meets(builder, {.kind = JobKind::kBuild, .device_key = "cuda-sm90"}));
}

TEST(WhyUnmetTest, NamesWhatTheNearestSlotLacks) {
  const SlotInfo bare{.kind = JobKind::kRun, .device_keys = {"cpu-znver3"}};
  EXPECT_EQ(WhyUnmet(Runs("cpu-znver3"), {}), "no worker has a run slot");
  EXPECT_EQ(WhyUnmet(Runs("cuda-sm90"), {&kAvx2}), "no run slot has the device key cuda-sm90");
  EXPECT_EQ(WhyUnmet(Runs("cpu-znver3", {{"e", "8"}, {"f", "1"}}), {&bare, &kAvx2}),
            "no run slot of cpu-znver3 has the label e=8 and f=1");
  EXPECT_EQ(WhyUnmet(Runs("", {{"e", "8"}}), {&kAvx2}), "no run slot has the label e=8 (it has 7)");
}

TEST(JobQueuesTest, SlotGetsOnlyWhatItCanDo) {
  JobQueues queues(/*quantum=*/1);
  queues.Push(Runs("cuda-sm90"), Job(1, "gpu"));
  EXPECT_EQ(queues.PopFor(kAvx2), std::nullopt);
  queues.Push(Runs("cpu-znver3"), Job(2, "cpu"));
  EXPECT_EQ(queues.PopFor(kAvx2)->id, "cpu");
  EXPECT_EQ(queues.size(), 1);
}

TEST(JobQueuesTest, PriorityCountsOverQueuesAndEqualOnesTakeTurns) {
  JobQueues queues(/*quantum=*/1);
  queues.Push(Runs("cpu-znver3"), Job(1, "a1"));
  queues.Push(Runs("cpu-znver3"), Job(2, "a2"));
  queues.Push(Runs(""), Job(3, "b1"));
  queues.Push(Runs(""), Job(4, "b2"));
  queues.Push(Runs("", {{"e", "7"}}), Job(5, "urgent", /*priority=*/9));
  std::vector<std::string> ids;
  while (queues.size() > 0) ids.push_back(queues.PopFor(kAvx2)->id);
  EXPECT_THAT(ids, ::testing::ElementsAre("urgent", "a1", "b1", "a2", "b2"));
}

TEST(JobQueuesTest, QueueThatEmptiesWithEachJobDoesNotStarveAnother) {
  JobQueues queues(/*quantum=*/1);
  queues.Push(Runs("cpu-znver3"), Job(1, "patient"));
  for (uint64_t order = 2; order < 5; ++order) {
    queues.Push(Runs(""), Job(order, "pushy"));
    if (queues.PopFor(kAvx2)->id == "patient") return;
  }
  FAIL() << "the patient job was never served";
}

TEST(JobQueuesTest, RemovedJobIsGone) {
  JobQueues queues(/*quantum=*/1);
  queues.Push(Runs(""), Job(1, "job"));
  EXPECT_FALSE(queues.Remove(Runs("cpu-znver3"), Job(1, "job")));
  EXPECT_TRUE(queues.Remove(Runs(""), Job(1, "job")));
  EXPECT_EQ(queues.size(), 0);
}

TEST(JobQueuesTest, QueueOfLowPriorityIsServedWithinItsBound) {
  JobQueues queues(/*quantum=*/8);
  for (uint64_t i = 1; i <= 100; ++i) queues.Push(Runs("cpu-znver3"), Job(i, "high", 5));
  queues.Push(Runs("", {{"e", "7"}}), Job(1000, "low"));
  int before = 0;
  while (queues.PopFor(kAvx2)->id != "low") ++before;
  EXPECT_EQ(before, kPassedOverMax);
}

}  // namespace
}  // namespace burnish
