#include "tuner/measure/fake_measurer.h"

#include <set>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<MeasureRequest> Requests(int count) {
  auto task = std::make_shared<MeasureTask>();
  task->target.arch = "x86-64";
  std::vector<MeasureRequest> requests;
  for (int i = 0; i < count; ++i) {
    requests.push_back(
        {.trial_id = "t" + std::to_string(i), .task = task, .trace = "trace " + std::to_string(i)});
  }
  return requests;
}

int64_t Constant(const MeasureRequest&) { return 100; }

std::vector<MeasureResult> CollectAll(Measurer& measurer) {
  std::vector<MeasureResult> all;
  while (true) {
    std::vector<MeasureResult> some = measurer.Collect(absl::Seconds(1));
    if (some.empty()) return all;
    all.insert(all.end(), some.begin(), some.end());
  }
}

TEST(FakeMeasurerTest, EveryTrialHasOneResultAndTheSameCandidatesFail) {
  std::set<std::string> failed_before;
  for (int run = 0; run < 2; ++run) {
    FakeMeasurer measurer({.latency_ns = Constant, .failure_share = 0.3});
    ASSERT_THAT(measurer.Submit(Requests(100)), IsOk());
    std::set<std::string> ids, failed;
    for (const MeasureResult& result : CollectAll(measurer)) {
      ids.insert(result.trial_id);
      if (result.measurement.failure() != nullptr) failed.insert(result.trial_id);
    }
    EXPECT_THAT(ids, SizeIs(100));
    EXPECT_GT(failed.size(), 15);
    EXPECT_LT(failed.size(), 45);
    if (run == 1) EXPECT_EQ(failed, failed_before);
    failed_before = failed;
  }
}

TEST(FakeMeasurerTest, ResubmittedTrialIsMeasuredOnceUntilAcknowledged) {
  FakeMeasurer measurer({.latency_ns = Constant});
  ASSERT_THAT(measurer.Submit(Requests(3)), IsOk());
  ASSERT_THAT(measurer.Submit(Requests(3)), IsOk());
  EXPECT_THAT(CollectAll(measurer), SizeIs(3));
  ASSERT_THAT(measurer.Submit(Requests(3)), IsOk());
  EXPECT_THAT(CollectAll(measurer), SizeIs(3));
  EXPECT_EQ(measurer.measured_counts().at("t0"), 1);
  measurer.Acknowledge({"t0", "t1", "t2"});
  ASSERT_THAT(measurer.Submit(Requests(1)), IsOk());
  EXPECT_THAT(CollectAll(measurer), SizeIs(1));
  EXPECT_EQ(measurer.measured_counts().at("t0"), 2);
}

TEST(FakeMeasurerTest, CancelledTrialSaysSoAndLostOnesMayBeTriedAgain) {
  FakeMeasurer measurer({.latency_ns = Constant, .lost_share = 1});
  ASSERT_THAT(measurer.Submit(Requests(2)), IsOk());
  ASSERT_THAT(measurer.Cancel({"t1"}), IsOk());
  for (const MeasureResult& result : CollectAll(measurer)) {
    ASSERT_NE(result.measurement.failure(), nullptr);
    EXPECT_EQ(result.measurement.failure()->kind,
              result.trial_id == "t1" ? FailureKind::kCancelled : FailureKind::kWorkerLost);
  }
  EXPECT_THAT(measurer.measured_counts(), IsEmpty());
}

TEST(FakeMeasurerTest, TimePassesWithTheResults) {
  FakeClock clock;
  const absl::Time start = clock.SteadyNow();
  FakeMeasurer measurer({.latency_ns = Constant, .clock = &clock});
  ASSERT_THAT(measurer.Submit(Requests(5)), IsOk());
  CollectAll(measurer);
  EXPECT_EQ(clock.SteadyNow() - start, absl::Milliseconds(50));
}

}  // namespace
}  // namespace burnish
