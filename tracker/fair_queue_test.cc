#include "tracker/fair_queue.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> PopAll(FairQueue& queue) {
  std::vector<std::string> ids;
  while (!queue.empty()) ids.push_back(queue.Pop().id);
  return ids;
}

TEST(FairQueueTest, StudyWithOneJobDoesNotWaitForTheOneWithMany) {
  FairQueue queue(/*quantum=*/1);
  for (int i = 1; i <= 3; ++i) {
    queue.Push({.order = static_cast<uint64_t>(i), .id = absl::StrCat("a", i), .study = "a"});
  }
  queue.Push({.order = 9, .id = "b1", .study = "b"});
  EXPECT_THAT(PopAll(queue), ElementsAre("a1", "b1", "a2", "a3"));
}

TEST(FairQueueTest, HigherPriorityGoesFirstWhateverTheStudy) {
  FairQueue queue(/*quantum=*/1);
  queue.Push({.order = 1, .id = "low", .study = "a", .priority = -1});
  queue.Push({.order = 2, .id = "high", .study = "b", .priority = 3});
  EXPECT_EQ(queue.top_priority(), 3);
  EXPECT_THAT(PopAll(queue), ElementsAre("high", "low"));
}

// 99,000 jobs of top priority used to lock out all others until the last of them was done.
TEST(FairQueueTest, LowPriorityIsServedWithinItsBoundHoweverManyAreAbove) {
  for (const int bands : {2, 3, 9, 20}) {
    FairQueue queue(/*quantum=*/8);
    uint64_t order = 0;
    const auto push = [&](int priority) {
      queue.Push(
          {.order = ++order, .id = absl::StrCat(priority), .study = "s", .priority = priority});
    };
    for (int i = 0; i < 1000; ++i) push(bands - 1);
    for (int priority = 0; priority < bands - 1; ++priority) push(priority);
    std::map<std::string, int> waited;
    for (int i = 0; i < 1000; ++i) {
      const QueuedJob job = queue.Pop();
      for (int priority = 0; priority < bands; ++priority) ++waited[absl::StrCat(priority)];
      EXPECT_LE(waited[job.id], kPassedOverMax + bands);
      waited[job.id] = 0;
      push(job.priority);  // Each band always has jobs.
    }
    for (const auto& [id, count] : waited) EXPECT_LE(count, kPassedOverMax + bands) << id;
  }
}

// Who starves is a priority that has jobs all the time. One whose last job is taken back begins
// anew with the next: nobody has waited.
TEST(FairQueueTest, EveryPriorityIsServedWithinItsBoundWhateverComesAndGoes) {
  constexpr int kPriorities = 5;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    Rng rng(seed);
    FairQueue queue(/*quantum=*/4);
    std::map<int32_t, std::vector<QueuedJob>> waiting;  // By priority; none is empty.
    std::map<int32_t, std::pair<int, int>> starved;  // Jobs of others; most priorities meanwhile.
    const auto forget = [&](const QueuedJob& job) {
      std::vector<QueuedJob>& jobs = waiting[job.priority];
      std::erase(jobs, job);
      if (!jobs.empty()) return;
      waiting.erase(job.priority);
      starved.erase(job.priority);
    };
    uint64_t order = 0;
    for (int step = 0; step < 500; ++step) {
      const QueuedJob job{.order = ++order,
                          .id = absl::StrCat(order),
                          .study = absl::StrCat(rng.Below(3)),
                          .priority = static_cast<int32_t>(rng.Below(kPriorities)),
                          .cost = static_cast<int32_t>(rng.Between(1, 6))};
      queue.Push(job);
      waiting[job.priority].push_back(job);
      if (rng.Below(2) == 0) {
        const auto& jobs = std::next(waiting.begin(), rng.Below(waiting.size()))->second;
        const QueuedJob taken_back = jobs[rng.Below(jobs.size())];
        ASSERT_TRUE(queue.Remove(taken_back));
        forget(taken_back);
      }
      if (waiting.empty() || rng.Below(4) == 0) continue;
      for (const auto& [priority, jobs] : waiting) {
        auto& [passed_over, bands] = starved[priority];
        ++passed_over;
        bands = std::max(bands, static_cast<int>(waiting.size()));
        ASSERT_LE(passed_over, kPassedOverMax + bands) << "priority " << priority;
      }
      const QueuedJob next = queue.Pop();
      starved.erase(next.priority);
      forget(next);
    }
  }
}

TEST(FairQueueTest, HighPriorityKeepsSevenJobsOfEight) {
  FairQueue queue(/*quantum=*/8);
  for (uint64_t i = 1; i <= 80; ++i) {
    queue.Push({.order = i, .id = "high", .study = "a", .priority = 5});
    queue.Push({.order = 100 + i, .id = "low", .study = "b", .priority = 0});
  }
  int high_count = 0;
  for (int i = 0; i < 80; ++i) high_count += queue.Pop().id == "high" ? 1 : 0;
  EXPECT_EQ(high_count, 70);
}

TEST(FairQueueTest, CostlyJobsTakeTheirShareOfTurns) {
  FairQueue queue(/*quantum=*/1);
  for (uint64_t i = 1; i <= 2; ++i) {
    queue.Push({.order = i, .id = absl::StrCat("big", i), .study = "a", .cost = 3});
  }
  for (uint64_t i = 3; i <= 8; ++i) {
    queue.Push({.order = i, .id = absl::StrCat("small", i), .study = "b", .cost = 1});
  }
  EXPECT_THAT(PopAll(queue), ElementsAre("small3", "small4", "big1", "small5", "small6", "small7",
                                         "big2", "small8"));
}

TEST(FairQueueTest, JobThatComesBackKeepsItsPlace) {
  FairQueue queue(/*quantum=*/1);
  const QueuedJob first{.order = 1, .id = "first", .study = "a"};
  queue.Push(first);
  queue.Push({.order = 2, .id = "second", .study = "a"});
  EXPECT_EQ(queue.Pop(), first);
  queue.Push(first);
  EXPECT_THAT(PopAll(queue), ElementsAre("first", "second"));
}

TEST(FairQueueTest, ClientWithManyStudiesHasOneShare) {
  FairQueue queue(/*quantum=*/1);
  QueueClient crowd, alone;
  uint64_t order = 0;
  for (int i = 0; i < 20; ++i) {
    queue.Push({.order = ++order, .id = "c", .study = absl::StrCat(i), .client = &crowd});
    queue.Push({.order = ++order, .id = "a", .study = "one", .client = &alone});
  }
  std::string served;
  for (int i = 0; i < 20; ++i) served += queue.Pop().id;
  EXPECT_EQ(std::count(served.begin(), served.end(), 'a'), 10) << served;
}

TEST(FairQueueTest, RemovedJobIsNotServed) {
  FairQueue queue(/*quantum=*/1);
  const QueuedJob job{.order = 1, .id = "job", .study = "a"};
  EXPECT_FALSE(queue.Remove(job));
  queue.Push(job);
  EXPECT_TRUE(queue.Remove(job));
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.Remove(job));
}

// Shreedhar and Varghese, theorem 2: quantum + 2 * (highest cost).
TEST(FairQueueTest, NoBusyStudyGetsAheadByMoreThanTheBound) {
  constexpr int kCostMax = 20;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    Rng rng(seed);
    const int quantum = static_cast<int>(rng.Between(1, 30));
    const int study_count = static_cast<int>(rng.Between(2, 6));
    FairQueue queue(quantum);
    uint64_t order = 0;
    const auto push = [&](const std::string& study) {
      queue.Push({.order = ++order,
                  .id = absl::StrCat("job", order),
                  .study = study,
                  .cost = static_cast<int32_t>(rng.Between(1, kCostMax))});
    };
    std::map<std::string, int64_t> served;
    for (int i = 0; i < study_count; ++i) {
      served[absl::StrCat("study", i)] = 0;
      for (int k = 0; k < 2; ++k) push(absl::StrCat("study", i));
    }
    for (int step = 0; step < 300; ++step) {
      const QueuedJob job = queue.Pop();
      served[job.study] += job.cost;
      push(job.study);
      const auto [least, most] =
          std::minmax_element(served.begin(), served.end(),
                              [](const auto& a, const auto& b) { return a.second < b.second; });
      ASSERT_LE(most->second - least->second, quantum + 2 * kCostMax) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace burnish
