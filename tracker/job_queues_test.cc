#include "tracker/job_queues.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

const SlotInfo kAvx2{.kind = JobKind::kRun, .device_keys = {"cpu-znver3"}, .labels = {{"e", "7"}}};

Demands Runs(const std::string& device_key, const Labels& labels = {}) {
  return {.kind = JobKind::kRun, .device_key = device_key, .labels = labels};
}

Line Waiting(const std::string& device_key, const Labels& labels = {}) {
  return {.demands = Runs(device_key, labels)};
}

std::optional<QueuedJob> PopFor(JobQueues& queues, const std::string& worker_id = "worker",
                                bool has_other = false) {
  return queues.PopFor({.slot = kAvx2,
                        .worker_id = worker_id,
                        .has_other = [has_other](const Line&) { return has_other; }});
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
  queues.Push(Waiting("cuda-sm90"), Job(1, "gpu"));
  EXPECT_EQ(PopFor(queues), std::nullopt);
  queues.Push(Waiting("cpu-znver3"), Job(2, "cpu"));
  EXPECT_EQ(PopFor(queues)->id, "cpu");
  EXPECT_EQ(queues.size(), 1);
}

TEST(JobQueuesTest, PriorityCountsOverQueuesAndEqualOnesTakeTurns) {
  JobQueues queues(/*quantum=*/1);
  queues.Push(Waiting("cpu-znver3"), Job(1, "a1"));
  queues.Push(Waiting("cpu-znver3"), Job(2, "a2"));
  queues.Push(Waiting(""), Job(3, "b1"));
  queues.Push(Waiting(""), Job(4, "b2"));
  queues.Push(Waiting("", {{"e", "7"}}), Job(5, "urgent", /*priority=*/9));
  std::vector<std::string> ids;
  while (queues.size() > 0) ids.push_back(PopFor(queues)->id);
  EXPECT_THAT(ids, ::testing::ElementsAre("urgent", "a1", "b1", "a2", "b2"));
}

TEST(JobQueuesTest, QueueThatEmptiesWithEachJobDoesNotStarveAnother) {
  JobQueues queues(/*quantum=*/1);
  queues.Push(Waiting("cpu-znver3"), Job(1, "patient"));
  for (uint64_t order = 2; order < 5; ++order) {
    queues.Push(Waiting(""), Job(order, "pushy"));
    if (PopFor(queues)->id == "patient") return;
  }
  FAIL() << "the patient job was never served";
}

TEST(JobQueuesTest, RemovedJobIsGone) {
  JobQueues queues(/*quantum=*/1);
  queues.Push(Waiting(""), Job(1, "job"));
  EXPECT_FALSE(queues.Remove(Waiting("cpu-znver3"), Job(1, "job")));
  EXPECT_TRUE(queues.Remove(Waiting(""), Job(1, "job")));
  EXPECT_EQ(queues.size(), 0);
}

TEST(JobQueuesTest, QueueOfLowPriorityIsServedWithinItsBound) {
  JobQueues queues(/*quantum=*/8);
  for (uint64_t i = 1; i <= 100; ++i) queues.Push(Waiting("cpu-znver3"), Job(i, "high", 5));
  queues.Push(Waiting("", {{"e", "7"}}), Job(1000, "low"));
  int before = 0;
  while (PopFor(queues)->id != "low") ++before;
  EXPECT_EQ(before, kPassedOverMax);
}

TEST(JobQueuesTest, LineGoesToWhomItAvoidsOnlyWhereThereIsNoOther) {
  JobQueues queues(/*quantum=*/1);
  queues.Push({.demands = Runs(""), .avoided = {"lame", "sick"}}, Job(1, "job"));
  EXPECT_EQ(PopFor(queues, "sick", /*has_other=*/true), std::nullopt);
  EXPECT_EQ(PopFor(queues, "well", /*has_other=*/true)->id, "job");
  queues.Push({.demands = Runs(""), .avoided = {"sick"}}, Job(2, "other"));
  EXPECT_EQ(PopFor(queues, "sick", /*has_other=*/false)->id, "other");
}

// It asks through all workers.
TEST(JobQueuesTest, ALineIsAskedAboutOnceAVersionOfTheFarm) {
  JobQueues queues(/*quantum=*/1);
  queues.Push({.demands = Runs(""), .avoided = {"sick"}}, Job(1, "job"));
  int asked_count = 0;
  for (const int64_t version : {7, 7, 7, 8}) {
    queues.PopFor({.slot = kAvx2,
                   .worker_id = "sick",
                   .farm_version = version,
                   .has_other = [&](const Line&) { return ++asked_count > 0; }});
  }
  EXPECT_EQ(asked_count, 2);
}

TEST(JobQueuesTest, ClientWithManyLinesHasOneShare) {
  JobQueues queues(/*quantum=*/1);
  QueueClient crowd, alone;
  for (uint64_t i = 1; i <= 20; ++i) {
    QueuedJob job = Job(i, "c");
    job.client = &crowd;
    queues.Push({.demands = Runs(""), .avoided = {absl::StrCat("other", i)}}, job);
    job = Job(100 + i, "a");
    job.client = &alone;
    queues.Push(Waiting(""), job);
  }
  std::string served;
  for (int i = 0; i < 12; ++i) served += PopFor(queues)->id;
  EXPECT_GE(std::count(served.begin(), served.end(), 'a'), 5) << served;
}

// Two tune on this device; one of them has a builder busy, too.
TEST(JobQueuesTest, WhatAClientGetsOfOtherSlotsCostsItNoTurn) {
  JobQueues queues(/*quantum=*/1);
  const SlotInfo builder{.kind = JobKind::kBuild};
  QueueClient busy, other;
  for (uint64_t order = 1; order <= 8; ++order) {
    QueuedJob job = Job(order, "other");
    job.client = &other;
    queues.Push(Waiting("cpu-znver3"), job);
    job = Job(100 + order, "busy");
    job.client = &busy;
    queues.Push(Waiting(""), job);
    job.order += 100;
    queues.Push({.demands = {.kind = JobKind::kBuild}}, job);
  }
  std::vector<std::string> ids;
  for (int turn = 0; turn < 6; ++turn) {
    ids.push_back(PopFor(queues)->id);
    ASSERT_TRUE(queues
                    .PopFor({.slot = builder,
                             .worker_id = "builder",
                             .has_other = [](const Line&) { return false; }})
                    .has_value());
  }
  EXPECT_THAT(ids, ::testing::ElementsAre("other", "busy", "other", "busy", "other", "busy"));
}

TEST(JobQueuesTest, KindsOfSlotsThatAClientRemembersAreBounded) {
  JobQueues queues(/*quantum=*/1);
  QueueClient client;
  for (uint64_t order = 1; order <= 200; ++order) {
    const std::string device = absl::StrCat("device", order);
    QueuedJob job = Job(order, device);
    job.client = &client;
    queues.Push(Waiting(device), job);
    const SlotInfo slot{.kind = JobKind::kRun, .device_keys = {device}};
    ASSERT_TRUE(
        queues
            .PopFor(
                {.slot = slot, .worker_id = device, .has_other = [](const Line&) { return false; }})
            .has_value());
  }
  EXPECT_EQ(client.served_at.size(), 64u);
}

// 64 of them used to hide all others.
TEST(JobQueuesTest, JobsThatNobodyMayHaveAreInNobodysWay) {
  JobQueues queues(/*quantum=*/1);
  for (uint64_t i = 1; i <= 100; ++i) {
    queues.Push({.demands = Runs(""), .avoided = {absl::StrCat("other", i), "worker"}},
                Job(i, "stuck"));
  }
  queues.Push({.demands = Runs(""), .avoided = {"sick"}}, Job(200, "lost"));
  EXPECT_EQ(PopFor(queues, "worker", /*has_other=*/true)->id, "lost");
}

}  // namespace
}  // namespace burnish
