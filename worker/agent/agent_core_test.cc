#include "worker/agent/agent_core.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Lease kLease{.job_id = "job", .epoch = 7};

class AgentCoreTest : public ::testing::Test {
 protected:
  // Orders for the last report.
  std::vector<SlotAction> Apply(SlotOrders slot) {
    return agent_.Apply({.sequence = sequence_, .slots = {std::move(slot)}});
  }
  SlotReport Report() {
    WorkerReport report = agent_.MakeReport();
    sequence_ = report.sequence;
    return report.slots.at(0);
  }
  void StartJob(const Lease& lease = kLease) {
    Report();
    const std::vector<SlotAction> actions =
        Apply({.lease = lease, .job = JobSpec{.id = lease.job_id}});
    ASSERT_THAT(actions, SizeIs(1));
    ASSERT_EQ(actions[0].kind, SlotAction::Kind::kStart);
    EXPECT_EQ(actions[0].lease, lease);
  }

  AgentCore agent_{{.worker_id = "w", .host = "h", .incarnation = 3}, {{.kind = JobKind::kRun}}};
  int64_t sequence_ = 0;
};

TEST_F(AgentCoreTest, FirstReportSaysWhoItIsAndThatItIsIdle) {
  EXPECT_TRUE(agent_.has_news());
  const WorkerReport report = agent_.MakeReport();
  EXPECT_EQ(report.worker_id, "w");
  EXPECT_EQ(report.incarnation, 3);
  EXPECT_EQ(report.epoch, 0);
  EXPECT_EQ(report.sequence, 1);
  ASSERT_THAT(report.slots, SizeIs(1));
  EXPECT_EQ(report.slots[0], (SlotReport{.info = {.kind = JobKind::kRun}}));
  EXPECT_FALSE(agent_.has_news());
  EXPECT_EQ(agent_.MakeReport().sequence, 2);
}

// Every report has it: the tracker's state is soft.
TEST_F(AgentCoreTest, ReportsSayWhatWasMeasuredOfTheMachine) {
  EXPECT_EQ(agent_.MakeReport().calibration, std::nullopt);
  const CalibrationRow row{.machine = "m", .clock_ghz = 3};
  AgentCore measured({.worker_id = "w", .host = "h", .incarnation = 3, .calibration = row},
                     {{.kind = JobKind::kRun}});
  EXPECT_EQ(measured.MakeReport().calibration, row);
  EXPECT_EQ(measured.MakeReport().calibration, row);
}

TEST_F(AgentCoreTest, JobIsStartedOnceAndReported) {
  StartJob();
  EXPECT_TRUE(agent_.has_news());
  EXPECT_EQ(Report().executing, kLease);
  EXPECT_THAT(Apply({.lease = kLease}), IsEmpty());
  EXPECT_EQ(agent_.executing_count(), 1);
}

// A tracker would turn away the worker for such a report.
TEST_F(AgentCoreTest, ResultThatIsTooLargeIsARefusal) {
  StartJob();
  agent_.Finished(0, std::string(JobSpec::kPayloadBytesMax + 1, 'x'));
  const SlotReport report = Report();
  ASSERT_THAT(report.results, SizeIs(1));
  const auto* fault = std::get_if<WorkerFault>(&*report.results[0].outcome);
  ASSERT_NE(fault, nullptr);
  EXPECT_TRUE(fault->refused);
}

// As after a tracker's restart, which asks for all that is held.
TEST_F(AgentCoreTest, ReportsHaveRoomForALittleAtATimeAndAllComesInTheEnd) {
  constexpr int kCount = 20;
  std::vector<std::string> ids;
  for (int i = 0; i < kCount; ++i) {
    const Lease lease{.job_id = std::string(1, static_cast<char>('a' + i)), .epoch = i + 1};
    StartJob(lease);
    agent_.Finished(0, std::string(JobSpec::kPayloadBytesMax, 'x'));
    Report();
    Apply({.received = {lease.job_id}});
    ids.push_back(lease.job_id);
  }
  std::vector<std::string> sent;
  SlotReport report = Report();
  while (!ids.empty()) {
    ASSERT_THAT(report.results, SizeIs(kCount)) << "each lease is in each report";
    Apply({.send = ids});
    EXPECT_TRUE(agent_.has_news());
    report = Report();
    size_t bytes = 0;
    std::vector<std::string> received;
    for (const HeldResult& result : report.results) {
      if (!result.outcome.has_value()) continue;
      bytes += std::get<std::string>(*result.outcome).size();
      std::erase(ids, result.lease.job_id);
      received.push_back(result.lease.job_id);
    }
    ASSERT_GT(bytes, 0u);
    EXPECT_LE(bytes, 3u << 20);
    Apply({.received = received, .send = ids});
    sent.insert(sent.end(), received.begin(), received.end());
    report = Report();
  }
  EXPECT_EQ(sent.size(), size_t{kCount});
}

TEST_F(AgentCoreTest, ResultWithoutRoomIsNotDoneYetAsFarAsTheTrackerKnows) {
  AgentCore agent({.worker_id = "w", .incarnation = 3},
                  std::vector<SlotInfo>(4, {.kind = JobKind::kRun}));
  WorkerOrders orders{.sequence = agent.MakeReport().sequence};
  for (int i = 0; i < 4; ++i) {
    const Lease lease{.job_id = std::to_string(i), .epoch = i + 1};
    orders.slots.push_back({.lease = lease, .job = JobSpec{.id = lease.job_id}});
  }
  agent.Apply(orders);
  for (int i = 0; i < 4; ++i) agent.Finished(i, std::string(JobSpec::kPayloadBytesMax, 'x'));
  WorkerReport report = agent.MakeReport();
  EXPECT_THAT(report.slots[1].results, SizeIs(1));
  EXPECT_THAT(report.slots[3].results, IsEmpty());
  EXPECT_EQ(report.slots[3].executing, (Lease{.job_id = "3", .epoch = 4}));
  orders = {.sequence = report.sequence, .slots = std::vector<SlotOrders>(4)};
  orders.slots[0].received = {"0"};
  orders.slots[1].received = {"1"};
  agent.Apply(orders);
  EXPECT_TRUE(agent.has_news());
  report = agent.MakeReport();
  EXPECT_FALSE(report.slots[0].results[0].outcome.has_value());
  EXPECT_TRUE(report.slots[3].results.at(0).outcome.has_value());
  EXPECT_FALSE(report.slots[3].executing.has_value());
}

TEST_F(AgentCoreTest, OrdersForAnEarlierReportAreIgnored) {
  Report();
  const int64_t old_sequence = sequence_;
  Report();
  EXPECT_THAT(agent_.Apply({.sequence = old_sequence,
                            .slots = {{.lease = kLease, .job = JobSpec{.id = "job"}}}}),
              IsEmpty());
  EXPECT_EQ(Report().executing, std::nullopt);
}

TEST_F(AgentCoreTest, OutcomeIsSentUntilReceivedAndKeptUntilDiscarded) {
  StartJob();
  agent_.Finished(0, "result");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Report().results,
                ElementsAre(HeldResult{.lease = kLease, .outcome = JobOutcome("result")}));
  }
  Apply({.received = {"job"}});
  EXPECT_THAT(Report().results, ElementsAre(HeldResult{.lease = kLease}));
  EXPECT_FALSE(agent_.IsEmpty());
  Apply({.discard = {"job"}});
  EXPECT_THAT(Report().results, IsEmpty());
  EXPECT_TRUE(agent_.IsEmpty());
}

TEST_F(AgentCoreTest, OutcomeIsSentAgainToATrackerThatLostIt) {
  StartJob();
  agent_.Finished(0, "result");
  Report();
  Apply({.received = {"job"}});
  Report();
  Apply({.send = {"job"}});
  EXPECT_TRUE(agent_.has_news());
  EXPECT_TRUE(Report().results[0].outcome.has_value());
}

TEST_F(AgentCoreTest, NextJobRunsWhileResultsWaitForTheTuner) {
  StartJob();
  agent_.Finished(0, "result");
  StartJob({.job_id = "next", .epoch = 8});
  const SlotReport report = Report();
  EXPECT_EQ(report.executing->job_id, "next");
  EXPECT_THAT(report.results, SizeIs(1));
}

TEST_F(AgentCoreTest, LostLeaseCancelsAndDropsTheOutcome) {
  StartJob();
  Report();
  const std::vector<SlotAction> actions = Apply({});
  ASSERT_THAT(actions, SizeIs(1));
  EXPECT_EQ(actions[0].kind, SlotAction::Kind::kCancel);
  EXPECT_TRUE(Report().cancelling);
  EXPECT_THAT(Apply({}), IsEmpty()) << "told once";
  agent_.Finished(0, "too late");
  EXPECT_TRUE(agent_.IsEmpty());
  EXPECT_EQ(Report().executing, std::nullopt);
}

TEST_F(AgentCoreTest, OtherLeaseCancelsFirstAndStartsWhenItIsRepeated) {
  StartJob();
  Report();
  const SlotOrders other{.lease = Lease{.job_id = "other", .epoch = 9},
                         .job = JobSpec{.id = "other"}};
  EXPECT_EQ(Apply(other).at(0).kind, SlotAction::Kind::kCancel);
  agent_.Finished(0, "too late");
  Report();
  EXPECT_EQ(Apply(other).at(0).kind, SlotAction::Kind::kStart);
}

TEST_F(AgentCoreTest, OrdersAboutAnExecutionThatHasEndedSinceStartNothing) {
  StartJob();
  Report();
  agent_.Finished(0, "result");
  EXPECT_THAT(Apply({.lease = kLease}), IsEmpty());
  EXPECT_THAT(Report().results, SizeIs(1));
}

TEST_F(AgentCoreTest, HighestEpochOfAnyTrackerIsSaidFromThenOn) {
  Report();
  Report();
  agent_.Apply({.sequence = 1, .epoch = 7});
  EXPECT_EQ(agent_.MakeReport().epoch, 7) << "also of an answer that came late";
  agent_.Apply({.sequence = 3, .epoch = 5});
  EXPECT_EQ(agent_.MakeReport().epoch, 7);
}

TEST_F(AgentCoreTest, WaitingIsNewsAndEndsWithTheExecution) {
  agent_.SetWaiting(0, true);
  StartJob();
  EXPECT_FALSE(Report().waiting) << "it executed nothing then";
  agent_.SetWaiting(0, true);
  EXPECT_TRUE(agent_.has_news());
  EXPECT_TRUE(Report().waiting);
  agent_.SetWaiting(0, true);
  EXPECT_FALSE(agent_.has_news());
  agent_.Finished(0, "result");
  EXPECT_FALSE(Report().waiting);
}

TEST_F(AgentCoreTest, LeavingIsNewsAndIsReported) {
  agent_.MakeReport();
  agent_.Leave();
  EXPECT_TRUE(agent_.has_news());
  EXPECT_TRUE(agent_.MakeReport().leaving);
}

TEST_F(AgentCoreTest, OrdersForAnotherNumberOfSlotsAreIgnored) {
  Report();
  EXPECT_THAT(agent_.Apply({.sequence = sequence_, .slots = {}}), IsEmpty());
}

}  // namespace
}  // namespace burnish
