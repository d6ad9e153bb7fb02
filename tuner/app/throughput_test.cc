#include "tuner/app/throughput.h"

#include <atomic>
#include <set>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(ThroughputTest, CountsTheRunsOfAllOnThreadsOfTheirOwn) {
  absl::Mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> runs{0};
  ASSERT_OK_AND_ASSIGN(const Throughput measured,
                       MeasureThroughput(3, absl::Milliseconds(50), [&](int session) {
                         EXPECT_GE(session, 0);
                         EXPECT_LT(session, 3);
                         ++runs;
                         absl::SleepFor(absl::Milliseconds(2));
                         const absl::MutexLock lock(&mutex);
                         threads.insert(std::this_thread::get_id());
                         return absl::OkStatus();
                       }));
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_EQ(measured.latency.run_count, runs - 3);  // One of each is to warm up.
  EXPECT_GE(measured.latency.min_ns, 2'000'000);
  // Side by side: one after the other could not be more than 500.
  EXPECT_GT(measured.runs_per_second, 0);
  EXPECT_LE(measured.runs_per_second, 1'500);
}

TEST(ThroughputTest, RunsOnceAtLeastEach) {
  ASSERT_OK_AND_ASSIGN(
      const Throughput measured,
      MeasureThroughput(2, absl::ZeroDuration(), [](int) { return absl::OkStatus(); }));
  EXPECT_EQ(measured.latency.run_count, 2);
}

TEST(ThroughputTest, TheFirstErrorEndsAll) {
  for (int good_runs : {0, 5}) {
    std::atomic<int> runs{0};
    EXPECT_THAT(MeasureThroughput(2, absl::Hours(1),
                                  [&](int session) {
                                    if (session == 1 && runs++ == good_runs) {
                                      return absl::InternalError("no");
                                    }
                                    return absl::OkStatus();
                                  })
                    .status(),
                StatusIs(absl::StatusCode::kInternal, "no"));
  }
}

}  // namespace
}  // namespace burnish
