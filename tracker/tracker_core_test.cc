#include "tracker/tracker_core.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tracker/core_test_farm.h"
#include "tracker/retry_after.h"

namespace burnish {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TrackerCoreTest : public CoreTestFarm {};

TEST_F(TrackerCoreTest, JobGoesToAWorkerAndItsResultToTheTuner) {
  Submit({RunSpec("job")});
  const SyncReply orders = Send(Report("w"));
  EXPECT_TRUE(orders.urgent);
  ASSERT_TRUE(orders.orders.slots[0].job.has_value());
  EXPECT_EQ(*orders.orders.slots[0].job, RunSpec("job"));
  const Lease lease = *orders.orders.slots[0].lease;
  EXPECT_FALSE(Executing("w", lease).urgent);
  EXPECT_THAT(Collect(), IsEmpty());
  EXPECT_THAT(Done("w", lease, "result").orders.slots[0].received, ElementsAre("job"));
  const std::vector<ResultEntry> results = Collect();
  ASSERT_THAT(results, ElementsAre(Payload("result")));
  EXPECT_EQ(results[0].job_id, "job");
  EXPECT_EQ(results[0].worker_id, "w");
  EXPECT_EQ(results[0].attempt_count, 1);
}

TEST_F(TrackerCoreTest, ResultIsKeptAndHeldUntilTheTunerAcknowledges) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Done("w", lease, "result");
  EXPECT_THAT(Collect(), SizeIs(1));
  EXPECT_THAT(Collect(), SizeIs(1)) << "not acknowledged: comes again";
  EXPECT_THAT(Done("w", lease, std::nullopt).orders.slots[0].discard, IsEmpty());
  EXPECT_THAT(Collect({"job"}), IsEmpty());
  EXPECT_THAT(Done("w", lease, std::nullopt).orders.slots[0].discard, ElementsAre("job"));
  EXPECT_EQ(core_->GetStatus(now_).unacknowledged_count, 0);
}

TEST_F(TrackerCoreTest, SeenResultsEndNoWaitUntilThereIsANewOne) {
  Submit({RunSpec("a"), RunSpec("b")});
  const Lease first = *Idle("w");
  Done("w", first, "result");
  const Collected seen = core_->Collect(now_, {.tuner_id = "tuner"});
  ASSERT_THAT(seen.results, SizeIs(1));
  const CollectRequest next{
      .tuner_id = "tuner", .seen_number = seen.results[0].number, .session = seen.session};
  EXPECT_FALSE(core_->Collect(now_, next).urgent);
  EXPECT_THAT(core_->TakeReadyTuners(), IsEmpty());
  const Lease second = *Idle("w");
  Done("w", second, "result");
  EXPECT_THAT(core_->TakeReadyTuners(), ElementsAre("tuner"));
  EXPECT_THAT(core_->Collect(now_, next).results, SizeIs(1));
}

TEST_F(TrackerCoreTest, WaitingWorkerIsNamedWhenAJobComes) {
  EXPECT_FALSE(Send(Report("w")).urgent);
  EXPECT_THAT(core_->TakeReadyWorkers(), IsEmpty());
  Submit({RunSpec("job")});
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("w"));
  const std::optional<WorkerOrders> orders = core_->OrdersFor(now_, "w", sequence_);
  ASSERT_TRUE(orders.has_value());
  EXPECT_EQ(orders->slots[0].job->id, "job");
}

TEST_F(TrackerCoreTest, WorkerWhoseCallBrokeGetsNoJobUntilItCallsAgain) {
  Send(Report("w"));
  core_->CallBroke(now_, "w", sequence_);
  Submit({RunSpec("job")});
  EXPECT_THAT(core_->TakeReadyWorkers(), IsEmpty());
  EXPECT_TRUE(Idle("w").has_value());
}

TEST_F(TrackerCoreTest, OrdersOfAReplacedCallAreNotGiven) {
  Send(Report("w"));
  const int64_t old_sequence = sequence_;
  Send(Report("w"));
  EXPECT_FALSE(core_->OrdersFor(now_, "w", old_sequence).has_value());
  EXPECT_TRUE(core_->OrdersFor(now_, "w", sequence_).has_value());
}

TEST_F(TrackerCoreTest, LostOrdersAreRepeatedUnderTheSameLease) {
  Submit({RunSpec("job")});
  const std::optional<Lease> first = Idle("w");
  EXPECT_EQ(Idle("w"), first);
  EXPECT_EQ(counters().dispatched, 1);
}

TEST_F(TrackerCoreTest, JobsOfOneWorkerAreSpreadOverWaitingWorkers) {
  WorkerReport wide = Report("wide");
  wide.slots.resize(2, wide.slots[0]);
  Send(wide);
  Send(Report("z"));
  Submit({RunSpec("a"), RunSpec("b")});
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("wide", "z"));
}

TEST_F(TrackerCoreTest, SubmittingTwiceRunsOnce) {
  const int64_t session = Submit({RunSpec("job")});
  EXPECT_EQ(Submit({RunSpec("job")}), session);
  EXPECT_TRUE(Idle("w1").has_value());
  EXPECT_FALSE(Idle("w2").has_value());
  EXPECT_EQ(counters().submitted, 1);
  EXPECT_EQ(counters().resubmitted, 1);
}

TEST_F(TrackerCoreTest, LateSubmissionOfAnAcknowledgedJobIsNotRunAgain) {
  Submit({RunSpec("job")});
  Done("w", *Idle("w"), "result");
  Collect({"job"});
  Submit({RunSpec("job")});
  EXPECT_FALSE(Idle("w").has_value());
}

TEST_F(TrackerCoreTest, HigherPriorityComesFirst) {
  Submit({RunSpec("low", 0), RunSpec("high", 5), RunSpec("middle", 1)});
  EXPECT_EQ(Idle("w1")->job_id, "high");
  EXPECT_EQ(Idle("w2")->job_id, "middle");
  EXPECT_EQ(Idle("w3")->job_id, "low");
}

// ---- Workers that die ----

TEST_F(TrackerCoreTest, ExpiredLeaseGivesTheJobToTheNextWorker) {
  Restart({.copy_silence = absl::InfiniteDuration()});
  Submit({RunSpec("job")});
  const Lease lease = *Idle("dying");
  Advance(absl::Seconds(14));
  EXPECT_FALSE(Idle("next").has_value());
  Advance(absl::Seconds(1));
  const Lease again = *Idle("next");
  EXPECT_EQ(again.job_id, "job");
  EXPECT_GT(again.epoch, lease.epoch);
  Done("next", again, "result");
  EXPECT_EQ(Collect()[0].attempt_count, 2);
  // First valid result wins; the first worker's late answer is counted and dropped.
  EXPECT_THAT(Done("dying", lease, "late").orders.slots[0].discard, ElementsAre("job"));
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
  EXPECT_EQ(counters().duplicates_dropped, 1);
}

TEST_F(TrackerCoreTest, HeartbeatKeepsTheLease) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  for (int i = 0; i < 10; ++i) {
    Advance(absl::Seconds(5));
    EXPECT_EQ(Executing("w", lease).orders.slots[0].lease, lease);
  }
  EXPECT_EQ(counters().leases_lost, 0);
}

TEST_F(TrackerCoreTest, LateResultBeforeTheSecondOneWinsAndStopsTheSecondWorker) {
  Submit({RunSpec("job")});
  const Lease first = *Idle("slow");
  Advance(absl::Seconds(15));
  const Lease second = *Idle("other");
  Executing("other", second);
  Done("slow", first, "from slow");
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("other"));
  EXPECT_EQ(core_->OrdersFor(now_, "other", sequence_ - 1)->slots[0].lease, std::nullopt);
  EXPECT_THAT(Collect(), ElementsAre(Payload("from slow")));
}

TEST_F(TrackerCoreTest, WorkerThatWasOnlyCutOffKeepsItsJob) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Executing("w", lease);
  Advance(absl::Seconds(20));
  EXPECT_EQ(counters().leases_lost, 1);
  EXPECT_EQ(Executing("w", lease).orders.slots[0].lease, lease);
  EXPECT_EQ(counters().adopted, 1);
  EXPECT_FALSE(Idle("other").has_value());
}

TEST_F(TrackerCoreTest, RestartedWorkerLosesItsLeasesAtOnce) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w", /*incarnation=*/1);
  const std::optional<Lease> again = Idle("w", /*incarnation=*/2);
  ASSERT_TRUE(again.has_value());
  EXPECT_GT(again->epoch, lease.epoch);
  EXPECT_EQ(counters().leases_lost, 1);
}

TEST_F(TrackerCoreTest, ProcessThatWasReplacedIsTurnedAway) {
  Idle("w", /*incarnation=*/9);
  Idle("w", /*incarnation=*/5);
  EXPECT_THAT(core_->Synchronize(now_, Report("w", /*incarnation=*/9)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another process")));
  Idle("w", /*incarnation=*/7);
  WorkerReport oldest = Report("w", /*incarnation=*/9);
  oldest.epoch = 1;
  EXPECT_THAT(core_->Synchronize(now_, oldest),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another process")))
      << "by its epoch, whichever clock";
}

// A message of a process that is dead by now, or of one that was partitioned off.
TEST_F(TrackerCoreTest, MessageOfAProcessThatDoesNotAnswerTakesNothingOver) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w", /*incarnation=*/1);
  for (int i = 0; i < 3; ++i) {
    const absl::StatusOr<SyncReply> reply = core_->Synchronize(now_, Report("w", 2));
    ASSERT_THAT(reply, IsOk());
    EXPECT_FALSE(reply->admitted);
    EXPECT_GT(reply->orders.epoch, 0);
    EXPECT_THAT(reply->orders.slots, IsEmpty());
  }
  EXPECT_EQ(Executing("w", lease).orders.slots[0].lease, lease);
  EXPECT_EQ(counters().leases_lost, 0);
}

TEST_F(TrackerCoreTest, RestartedTrackerKnowsTheNewerOfTwoProcesses) {
  Idle("w", /*incarnation=*/9);
  WorkerReport newer = Report("w", /*incarnation=*/5);
  newer.epoch = core_->Synchronize(now_, newer)->orders.epoch;
  // Another base: below the epochs that the first one gave.
  core_ = std::make_unique<TrackerCore>(TrackerOptions{.first_epoch = 1}, now_);
  EXPECT_TRUE(Send(newer).admitted);
  WorkerReport older = Report("w", /*incarnation=*/9);
  older.epoch = newer.epoch - 1;
  EXPECT_THAT(core_->Synchronize(now_, older), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_GT(core_->Synchronize(now_, Report("w", /*incarnation=*/7))->orders.epoch, newer.epoch);
}

// What a process says of itself is of no consequence for any other, under its own id or another.
TEST_F(TrackerCoreTest, NoEpochThatAWorkerReportsKeepsLaterOnesOut) {
  for (const int64_t epoch : {int64_t{1} << 40, int64_t{1} << 48, (int64_t{1} << 48) + 1,
                              (int64_t{1} << 62) - 1, int64_t{1} << 62}) {
    for (const char* id : {"stranger", "w"}) {
      SCOPED_TRACE(absl::StrCat(id, " ", epoch));
      Restart({});
      WorkerReport stranger = Report(id, /*incarnation=*/99);
      stranger.epoch = epoch;
      EXPECT_TRUE(Send(stranger).admitted);
      // Three processes, one after the other, as a daemon that is restarted.
      for (int64_t incarnation = 1; incarnation <= 3; ++incarnation) {
        WorkerReport report = Report("w", incarnation);
        absl::StatusOr<SyncReply> reply = core_->Synchronize(now_, report);
        ASSERT_THAT(reply, IsOk());
        report.epoch = reply->orders.epoch;
        EXPECT_LE(report.epoch, WorkerReport::kEpochMax) << "else its next report is malformed";
        report.sequence = ++sequence_;
        reply = core_->Synchronize(now_, report);
        ASSERT_THAT(reply, IsOk());
        EXPECT_TRUE(reply->admitted);
      }
    }
  }
}

TEST_F(TrackerCoreTest, ProcessWithAnEpochThatNobodyCountsToIsToldToStartAgain) {
  Idle("w", /*incarnation=*/1);
  WorkerReport odd = Report("w", /*incarnation=*/2);
  odd.epoch = int64_t{1} << 62;
  EXPECT_THAT(core_->Synchronize(now_, odd),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("start it again")));
  EXPECT_TRUE(Send(Report("w", 1)).admitted);
}

// Whoever takes a number before it is given would have the result that comes under it refused.
TEST_F(TrackerCoreTest, NumbersThatThisTrackerHasYetToGiveAreNobodysFromBefore) {
  Submit({RunSpec("job")}, /*resubmission=*/true);
  Advance(TrackerOptions().recovery_period);
  for (int64_t ahead = 1; ahead < 10; ++ahead) {
    Executing("liar", {.job_id = "job", .epoch = first_epoch_ + ahead});
  }
  EXPECT_EQ(counters().adopted, 0);
  WorkerReport idle = Report("w");
  const Lease lease = *Send(idle).orders.slots[0].lease;
  Done("w", lease, "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
}

// A session that an earlier tracker had given would tell a tuner that its jobs are known.
TEST_F(TrackerCoreTest, EpochsThatWorkersReportDoNotMoveSessionsAndLeases) {
  core_ = std::make_unique<TrackerCore>(TrackerOptions{.first_epoch = 1000}, now_);
  WorkerReport report = Report("w");
  report.epoch = 5000;
  Send(report);
  EXPECT_EQ(Submit({RunSpec("job")}), 1000);
  EXPECT_EQ(Idle("w")->epoch, 1001);
}

TEST_F(TrackerCoreTest, JobOfAWorkerWhoseConnectionClosedIsHandedOnWithinASecond) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("dying");
  Executing("dying", lease);
  core_->CallBroke(now_, "dying", sequence_);
  EXPECT_FALSE(Idle("next").has_value());
  EXPECT_EQ(core_->NextTick(), now_ + absl::Milliseconds(500));
  Advance(absl::Milliseconds(500));
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("next"));
  EXPECT_EQ(core_->OrdersFor(now_, "next", sequence_)->slots[0].lease->job_id, "job");
  EXPECT_EQ(counters().interruptions, 1);
  EXPECT_EQ(core_->ListWorkers(now_)[0].liveness, WorkerLiveness::kLost);
}

TEST_F(TrackerCoreTest, WorkerThatCallsAgainSoonKeepsItsJob) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Executing("w", lease);
  core_->CallBroke(now_, "w", sequence_);
  Advance(absl::Milliseconds(499));
  EXPECT_EQ(Executing("w", lease).orders.slots[0].lease, lease);
  const int64_t hanging = sequence_;
  core_->CallBroke(now_, "w", hanging - 1);
  Advance(absl::Seconds(5));
  EXPECT_EQ(counters().leases_lost, 0) << "a call that was replaced says nothing";
}

TEST_F(TrackerCoreTest, ReportThatWasOvertakenIsRefused) {
  const WorkerReport early = Report("w");
  Send(Report("w"));
  EXPECT_THAT(core_->Synchronize(now_, early), StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(counters().stale_reports, 1);
}

TEST_F(TrackerCoreTest, WorkersFaultSendsTheJobElsewhereAndPausesTheSlot) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("sick");
  const SyncReply reply = Done("sick", lease, WorkerFault{.message = "disk full"});
  EXPECT_EQ(reply.orders.slots[0].lease, std::nullopt) << "paused";
  EXPECT_THAT(reply.orders.slots[0].discard, ElementsAre("job"));
  const Lease other = *Idle("well");
  Done("well", other, "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
  EXPECT_EQ(counters().worker_faults, 1);
}

TEST_F(TrackerCoreTest, PauseEndsByItselfAndDoublesWithEachFault) {
  Submit({RunSpec("job")});
  Done("sick", *Idle("sick"), WorkerFault{.message = "disk full"});
  Advance(absl::Milliseconds(99));
  EXPECT_FALSE(Idle("sick").has_value());
  EXPECT_EQ(core_->NextTick(), now_ + absl::Milliseconds(1));
  Advance(absl::Milliseconds(1));
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("sick"));
  const Lease second = *core_->OrdersFor(now_, "sick", sequence_)->slots[0].lease;
  Done("sick", second, WorkerFault{.message = "disk full"});
  Advance(absl::Milliseconds(199));
  EXPECT_FALSE(Idle("sick").has_value());
  Advance(absl::Milliseconds(1));
  EXPECT_TRUE(Idle("sick").has_value());
}

TEST_F(TrackerCoreTest, RepeatedReportOfAFaultCountsOnce) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  for (int i = 0; i < 5; ++i) Done("w", lease, WorkerFault{.message = "disk full"});
  EXPECT_EQ(counters().worker_faults, 1);
  EXPECT_THAT(Collect(), IsEmpty());
}

TEST_F(TrackerCoreTest, SlotThatStopsWithoutAResultLosesTheJob) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Executing("w", lease);
  EXPECT_EQ(Idle("w"), std::nullopt);
  EXPECT_EQ(Idle("other")->job_id, "job");
}

TEST_F(TrackerCoreTest, LeaseThatLastsTooLongIsTakenAway) {
  JobSpec spec = RunSpec("job");
  spec.timeout = absl::Seconds(3);
  Submit({spec});
  const Lease lease = *Idle("stuck");
  EXPECT_FALSE(Executing("stuck", lease).urgent);
  EXPECT_EQ(core_->NextTick(), now_ + absl::Seconds(3));
  Advance(absl::Seconds(3));
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("stuck"));
  EXPECT_EQ(core_->OrdersFor(now_, "stuck", sequence_)->slots[0].lease, std::nullopt);
  EXPECT_EQ(Idle("other")->job_id, "job");
  EXPECT_EQ(counters().timed_out, 1);
}

TEST_F(TrackerCoreTest, SlotThatIsStillStoppingIsNotHurried) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Executing("w", lease);
  core_->Cancel(now_, "tuner", {"job"}, "");
  EXPECT_TRUE(Executing("w", lease).urgent);
  WorkerReport report = Report("w");
  report.slots[0].executing = lease;
  report.slots[0].cancelling = true;
  Submit({RunSpec("next")});
  const SyncReply reply = Send(report);
  EXPECT_FALSE(reply.urgent);
  EXPECT_EQ(reply.orders.slots[0].lease, std::nullopt) << "busy yet";
}

// ---- Workers that say what is not theirs to say ----

TEST_F(TrackerCoreTest, ResultForALeaseThatTheWorkerNeverHadIsNotTaken) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Executing("w", lease);
  EXPECT_THAT(Done("liar", lease, "forged").orders.slots[0].discard, ElementsAre("job"));
  EXPECT_THAT(Done("liar", {.job_id = "job", .epoch = 7}, "forged").orders.slots[0].discard,
              ElementsAre("job"));
  EXPECT_EQ(Executing("liar", lease).orders.slots[0].lease, std::nullopt);
  EXPECT_EQ(counters().foreign_reports, 3);
  Done("w", lease, "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
}

TEST_F(TrackerCoreTest, BuildersRunResultIsNotTaken) {
  Submit({RunSpec("job")}, /*resubmission=*/true);
  Advance(absl::Seconds(2));
  WorkerReport report = Report("builder");
  report.slots[0].info = {.kind = JobKind::kBuild};
  report.slots[0].results = {{.lease = {.job_id = "job", .epoch = 7}, .outcome = "forged"}};
  EXPECT_THAT(Send(report).orders.slots[0].discard, ElementsAre("job"));
  EXPECT_THAT(Collect(), IsEmpty());
  report = Report("builder");
  EXPECT_THAT(core_->Synchronize(now_, report),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("other kinds")));
}

// Of a job from before a restart nobody knows who had it, until its worker is found at it.
TEST_F(TrackerCoreTest, ResultForALeaseThatWasFoundWithAnotherIsNotTaken) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("honest");
  Restart({});
  Submit({RunSpec("job")}, /*resubmission=*/true);
  Executing("honest", lease);
  Done("liar", lease, "lie");
  EXPECT_THAT(Collect(), IsEmpty());
  EXPECT_EQ(counters().foreign_reports, 1);
  Done("honest", lease, "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
}

// A slot is told by the job's id what it may discard.
TEST_F(TrackerCoreTest, ResultThatCountsIsKeptBesideOneOfTheSameJobThatDoesNot) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  WorkerReport report = Report("w");
  report.slots[0].results = {{.lease = {"job", 999}, .outcome = "of another tracker"},
                             {.lease = lease, .outcome = "result"}};
  EXPECT_THAT(Send(report).orders.slots[0].discard, IsEmpty());
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
  Collect({"job"});
  report.sequence = ++sequence_;
  EXPECT_THAT(Send(report).orders.slots[0].discard, Contains("job"));
}

TEST_F(TrackerCoreTest, JobIsNeverPoisonedByAWorkersWord) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Done("w", lease, Failure{.kind = FailureKind::kPoisoned, .message = "forged"});
  EXPECT_THAT(Collect(), IsEmpty());
  EXPECT_EQ(counters().worker_faults, 1);
}

TEST_F(TrackerCoreTest, ResultThatAWorkerDoesNotSendIsComputedElsewhere) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Restart({});
  Submit({RunSpec("job")}, /*resubmission=*/true);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Done("w", lease, std::nullopt).orders.slots[0].send, ElementsAre("job"));
    EXPECT_FALSE(Idle("other").has_value());
    Advance(absl::Seconds(5));
  }
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("other"));
  Done("w", lease, std::nullopt);
  EXPECT_EQ(core_->OrdersFor(now_, "other", sequence_ - 1)->slots[0].lease->job_id, "job");
  Done("w", lease, "late");
  EXPECT_THAT(Collect(), ElementsAre(Payload("late"))) << "the first one wins all the same";
}

// ---- Cancelling, draining, leaving ----

TEST_F(TrackerCoreTest, CancelledJobsHaveAResultWhereverTheyWere) {
  Submit({RunSpec("leased"), RunSpec("queued"), RunSpec("done")});
  const Lease leased = *Idle("w1");
  EXPECT_EQ(leased.job_id, "leased");
  Executing("w1", leased);
  const int64_t hanging = sequence_;
  EXPECT_EQ(core_->Cancel(now_, "tuner", {"leased", "queued", "unknown"}, ""), 2);
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("w1"));
  EXPECT_EQ(core_->OrdersFor(now_, "w1", hanging)->slots[0].lease, std::nullopt);
  EXPECT_THAT(Collect(), ElementsAre(Failed(FailureKind::kCancelled, ""),
                                     Failed(FailureKind::kCancelled, "")));
  const Lease done = *Idle("w2");
  EXPECT_EQ(done.job_id, "done");
  Done("w2", done, "result");
  EXPECT_EQ(core_->Cancel(now_, "tuner", {"done"}, ""), 0);
}

TEST_F(TrackerCoreTest, CancellingAStudyLeavesTheOthers) {
  JobSpec other = RunSpec("other");
  other.study = "other study";
  Submit({RunSpec("a"), other, RunSpec("b")});
  EXPECT_EQ(core_->Cancel(now_, "tuner", {}, "study"), 2);
  EXPECT_EQ(Idle("w")->job_id, "other");
}

TEST_F(TrackerCoreTest, ResultOfACancelledJobIsDropped) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  core_->Cancel(now_, "tuner", {"job"}, "");
  EXPECT_THAT(Done("w", lease, "result").orders.slots[0].discard, ElementsAre("job"));
  EXPECT_THAT(Collect(), ElementsAre(Failed(FailureKind::kCancelled, "")));
}

TEST_F(TrackerCoreTest, DrainingWorkerFinishesWhatItHasAndGetsNoMore) {
  Submit({RunSpec("a"), RunSpec("b")});
  const Lease lease = *Idle("w");
  ASSERT_THAT(core_->Drain(now_, "w", /*undo=*/false), IsOk());
  const SyncReply told = Executing("w", lease);
  EXPECT_TRUE(told.urgent && told.orders.draining);
  EXPECT_EQ(told.orders.slots[0].lease, lease);
  EXPECT_EQ(Done("w", lease, "result").orders.slots[0].lease, std::nullopt);
  EXPECT_EQ(core_->ListWorkers(now_)[0].liveness, WorkerLiveness::kDraining);
  ASSERT_THAT(core_->Drain(now_, "w", /*undo=*/true), IsOk());
  EXPECT_TRUE(Idle("w").has_value());
  EXPECT_THAT(core_->Drain(now_, "nobody", false), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(TrackerCoreTest, LeavingWorkerLearnsAtOnceThatItMayDiscard) {
  Submit({RunSpec("a"), RunSpec("b")});
  const Lease lease = *Idle("w");
  WorkerReport report = Report("w");
  report.leaving = true;
  report.slots[0].results = {{.lease = lease, .outcome = JobOutcome("result")}};
  EXPECT_FALSE(Send(report).urgent) << "no more jobs, and the tuner has not the result yet";
  Collect({"a"});
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("w"));
  EXPECT_THAT(core_->OrdersFor(now_, "w", sequence_)->slots[0].discard, ElementsAre("a"));
  Advance(absl::Seconds(15));
  EXPECT_THAT(core_->ListWorkers(now_), IsEmpty()) << "it said that it would go";
}

TEST_F(TrackerCoreTest, SlotWithTooManyResultsGetsNoJobUntilTheyAreAcknowledged) {
  std::vector<JobSpec> jobs;
  std::vector<std::string> ids;
  for (int i = 0; i < WorkerReport::kHeldResultsMax + 1; ++i) {
    ids.push_back("job" + std::to_string(100 + i));
    jobs.push_back(RunSpec(ids.back()));
  }
  Submit(jobs);
  WorkerReport report = Report("w");
  for (int i = 0; i < WorkerReport::kHeldResultsMax; ++i) {
    report.sequence = ++sequence_;
    const std::optional<Lease> lease = Send(report).orders.slots[0].lease;
    ASSERT_TRUE(lease.has_value()) << i;
    report.slots[0].results.push_back({.lease = *lease, .outcome = JobOutcome("result")});
  }
  report.sequence = ++sequence_;
  EXPECT_EQ(Send(report).orders.slots[0].lease, std::nullopt);
  Collect(ids);
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("w"));
  EXPECT_THAT(core_->OrdersFor(now_, "w", sequence_)->slots[0].discard,
              SizeIs(WorkerReport::kHeldResultsMax));
}

// ---- Limits ----

TEST_F(TrackerCoreTest, FullTrackerTakesNothingOfABatchAndSaysWhenToTryAgain) {
  Restart({.jobs_max = 2});
  Submit({RunSpec("a")});
  const absl::StatusOr<int64_t> refused =
      core_->Submit(now_, "tuner", {RunSpec("b"), RunSpec("c")}, false);
  ASSERT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted));
  const std::optional<absl::Duration> delay = GetRetryAfter(refused.status());
  ASSERT_TRUE(delay.has_value());
  EXPECT_GE(*delay, absl::Milliseconds(100));
  EXPECT_LE(*delay, absl::Seconds(2));
  EXPECT_EQ(core_->GetStatus(now_).queued_count, 1);
  Submit({RunSpec("a"), RunSpec("b")});  // A known one needs no room.
  EXPECT_THAT(core_->Submit(now_, "tuner", {RunSpec("c")}, false),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

// A tuner keeps a build's result until the run has one.
TEST_F(TrackerCoreTest, TrackerFullOfFinishedBuildsTakesTheirRuns) {
  Restart({.jobs_max = 2});
  Submit({RunSpec("build1"), RunSpec("build2")});
  for (int i = 0; i < 2; ++i) Done("w", *Idle("w"), "built");
  EXPECT_EQ(core_->GetStatus(now_).unacknowledged_count, 2);
  Submit({RunSpec("run1"), RunSpec("run2")});
  EXPECT_TRUE(Idle("w").has_value());
}

TEST_F(TrackerCoreTest, ResultsThatNobodyCollectsAreBounded) {
  for (const TrackerOptions& options :
       {TrackerOptions{.results_max = 1}, TrackerOptions{.result_bytes_max = 6}}) {
    Restart(options);
    Submit({RunSpec("a"), RunSpec("b")});
    Done("w", *Idle("w"), "result");
    EXPECT_THAT(core_->Submit(now_, "tuner", {RunSpec("c")}, false),
                StatusIs(absl::StatusCode::kResourceExhausted));
    Done("w", *Idle("w"), "result");  // What is open may end.
    EXPECT_EQ(core_->GetStatus(now_).unacknowledged_count, 2);
    Collect({"a", "b"});
    Submit({RunSpec("c")});
  }
}

TEST_F(TrackerCoreTest, PayloadsAreBoundedToo) {
  Restart({.job_bytes_max = 20});
  Submit({RunSpec("a")});  // 12 bytes.
  EXPECT_THAT(core_->Submit(now_, "tuner", {RunSpec("b")}, false),
              StatusIs(absl::StatusCode::kResourceExhausted));
  Done("w", *Idle("w"), "a result that is longer than the payload");
  Submit({RunSpec("b")});
}

// One client has no more than it leaves, and nobody with little is turned away for it.
TEST_F(TrackerCoreTest, OneTunerDoesNotFillTheTrackerForOthers) {
  Restart({.jobs_max = 10'000});
  const auto submit = [this](const std::string& tuner, int count) {
    static int number = 0;
    std::vector<JobSpec> jobs;
    for (int i = 0; i < count; ++i) {
      jobs.push_back(RunSpec(tuner + "/" + std::to_string(++number)));
    }
    return core_->Submit(now_, tuner, std::move(jobs), false, /*client=*/tuner).status();
  };
  int64_t taken = 0;
  while (submit("greedy", 500).ok()) taken += 500;
  EXPECT_EQ(taken, 5000);
  const absl::Status refused = submit("greedy", 500);
  ASSERT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("share")));
  EXPECT_TRUE(GetRetryAfter(refused).has_value());
  // Ten others get what one call brings, whoever came before.
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(submit("other" + std::to_string(i), 1000), IsOk());
  }
  EXPECT_THAT(submit("other4", 1000), IsOk()) << "the last room that there is";
  EXPECT_THAT(submit("other5", 1), StatusIs(absl::StatusCode::kResourceExhausted));
  // Its own end makes room for others first.
  EXPECT_EQ(core_->Cancel(now_, "greedy", {}, "study"), 5000);
  EXPECT_THAT(submit("other5", 1), IsOk());
  EXPECT_THAT(submit("greedy", 500), IsOk());
}

TEST_F(TrackerCoreTest, ResultsThatOneTunerDoesNotCollectKeepNoOtherOut) {
  Restart({.results_max = 4096});
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 3000; ++i) jobs.push_back(RunSpec("job" + std::to_string(i)));
  Submit(jobs);
  core_->Cancel(now_, "tuner", {}, "study");
  EXPECT_EQ(core_->GetStatus(now_).unacknowledged_count, 3000);
  EXPECT_THAT(core_->Submit(now_, "tuner", {RunSpec("more")}, false),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(core_->Submit(now_, "other", {RunSpec("theirs")}, false), IsOk());
}

// Each look for a job goes through the lines that jobs wait in.
TEST_F(TrackerCoreTest, LinesOfOneTunerAreBoundedAndGoWithTheirJobs) {
  Restart({.lanes_max = 100});
  const auto lines = [](int count, absl::string_view name) {
    std::vector<JobSpec> jobs;
    for (int i = 0; i < count; ++i) {
      const std::string number = absl::StrCat(name, i);
      JobSpec& job = jobs.emplace_back(RunSpec(number));
      // Each of the three makes a line.
      if (i % 3 == 0) job.device_key = number;
      if (i % 3 == 1) job.study = number;
      if (i % 3 == 2) job.priority = i;
    }
    return jobs;
  };
  EXPECT_THAT(core_->Submit(now_, "tuner", lines(51, "a"), false),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(core_->Submit(now_, "tuner", lines(50, "a"), false), IsOk());
  EXPECT_THAT(core_->Submit(now_, "tuner", {RunSpec("more")}, false),
              StatusIs(absl::StatusCode::kResourceExhausted));
  JobSpec same = RunSpec("same");
  same.priority = 2;
  EXPECT_THAT(core_->Submit(now_, "tuner", {same}, false), IsOk()) << "in a line that there is";
  EXPECT_THAT(core_->Submit(now_, "other", lines(30, "b"), false), IsOk());
  EXPECT_LE(core_->GetStatus(now_).unmatched.size(), kUnmatchedShownMax);
  for (const JobSpec& job : lines(50, "a")) core_->Cancel(now_, "tuner", {job.id}, "");
  core_->Cancel(now_, "tuner", {"same"}, "");
  EXPECT_THAT(core_->Submit(now_, "tuner", lines(32, "c"), false), IsOk());
}

TEST_F(TrackerCoreTest, TextsBesideThePayloadTakeRoomToo) {
  Restart({.job_bytes_max = 100'000});
  JobSpec wide = RunSpec("wide");
  for (int i = 0; i < 32; ++i) wide.labels[absl::StrCat("label", i)] = std::string(256, 'x');
  for (int i = 0; i < 16; ++i) wide.avoid_workers.push_back(std::string(256, 'w'));
  int count = 0;
  for (; count < 1000; ++count) {
    wide.id = absl::StrCat("wide", count);
    if (!core_->Submit(now_, "tuner", {wide}, false).ok()) break;
  }
  EXPECT_GT(count, 1);
  EXPECT_LT(count, 10);
}

TEST_F(TrackerCoreTest, TooManyWorkersAreRefusedButALostOneMakesRoom) {
  Restart({.workers_max = 1});
  Idle("w1");
  EXPECT_THAT(core_->Synchronize(now_, Report("w2")),
              StatusIs(absl::StatusCode::kResourceExhausted));
  Advance(absl::Seconds(15));
  Idle("w2");
}

TEST_F(TrackerCoreTest, RepliesAreBounded) {
  Restart({.results_per_reply_max = 2});
  Submit({RunSpec("a"), RunSpec("b"), RunSpec("c")});
  core_->Cancel(now_, "tuner", {}, "study");
  EXPECT_THAT(Collect(), SizeIs(2));
  EXPECT_THAT(Collect({"a", "b"}), SizeIs(1));
}

// Else neither side could ever read what the other says, and both would say it again.
TEST_F(TrackerCoreTest, AnswersHaveRoomForAFewLargeThingsAtATime) {
  constexpr int kCount = 5;
  std::vector<JobSpec> jobs;
  for (int i = 0; i < kCount; ++i) {
    jobs.push_back(RunSpec(absl::StrCat("job", i)));
    jobs.back().payload = std::string(JobSpec::kPayloadBytesMax, 'x');
  }
  Submit(jobs);
  WorkerReport report = Report("w");
  report.slots.resize(kCount, report.slots[0]);
  int begun_count = 0;
  for (int round = 0; round < kCount && begun_count < kCount; ++round) {
    const SyncReply reply = Send(report);
    EXPECT_TRUE(reply.urgent);
    int sent_count = 0;
    for (int i = 0; i < kCount; ++i) {
      ASSERT_TRUE(reply.orders.slots[i].lease.has_value());
      if (!reply.orders.slots[i].job.has_value()) continue;
      report.slots[i].executing = reply.orders.slots[i].lease;
      ++sent_count;
    }
    EXPECT_LE(sent_count, 2);
    begun_count += sent_count;
    report.sequence = ++sequence_;
  }
  EXPECT_EQ(begun_count, kCount);
  const ArtifactMissing missing{
      .sha256 = std::vector<std::string>(ArtifactMissing::kCountMax, std::string(32, 'm'))};
  for (int i = 0; i < kCount; ++i) {
    report.slots[i].results = {{.lease = *report.slots[i].executing, .outcome = missing}};
    report.slots[i].executing.reset();
  }
  Send(report);
  EXPECT_THAT(Collect(), SizeIs(4)) << "half a MiB each";
}

// ---- Matching ----

TEST_F(TrackerCoreTest, JobThatNoWorkerCanDoSaysWhatIsMissing) {
  JobSpec spec = RunSpec("job");
  spec.labels = {{"epoch", "7"}};
  Submit({spec});
  const auto reason = [&] {
    const std::vector<UnmatchedQueue> unmatched =
        core_->Collect(now_, {.tuner_id = "tuner"}).unmatched;
    return unmatched.size() == 1 ? unmatched[0].reason : "";
  };
  EXPECT_EQ(reason(), "no worker has a run slot");
  EXPECT_FALSE(Idle("w").has_value());
  EXPECT_EQ(reason(), "no run slot of cpu-znver3 has the label epoch=7");
  WorkerReport report = Report("w");
  report.slots[0].info.labels = {{"epoch", "7"}};
  EXPECT_TRUE(Send(report).orders.slots[0].lease.has_value());
  EXPECT_EQ(reason(), "");
}

// ---- Tuners ----

TEST_F(TrackerCoreTest, TunerThatIsGoneIsForgottenWithItsJobs) {
  const int64_t session = Submit({RunSpec("leased"), RunSpec("queued")});
  const Lease lease = *Idle("w");
  for (int i = 0; i < 6; ++i) {
    Advance(absl::Seconds(10));
    if (i < 5) Executing("w", lease);
  }
  EXPECT_EQ(core_->GetStatus(now_).tuner_count, 0);
  EXPECT_EQ(core_->GetStatus(now_).queued_count, 0);
  const Collected back = core_->Collect(now_, {.tuner_id = "tuner", .session = session});
  EXPECT_NE(back.session, session) << "so that it submits again";
  EXPECT_TRUE(back.urgent);
}

TEST_F(TrackerCoreTest, ForgottenJobComesBackToTheWorkerThatExecutesIt) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  for (int i = 0; i < 6; ++i) {
    Executing("w", lease);
    Advance(absl::Seconds(10));
  }
  Executing("w", lease);
  EXPECT_EQ(core_->GetStatus(now_).tuner_count, 0);
  Submit({RunSpec("job")}, /*resubmission=*/true);
  EXPECT_FALSE(Idle("other").has_value());
  EXPECT_EQ(counters().adopted, 1);
}

TEST_F(TrackerCoreTest, ResultOfAForgottenTunerIsFetchedFromItsWorkerAndNotComputedAgain) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Done("w", lease, "result");
  for (int i = 0; i < 6; ++i) {
    Done("w", lease, std::nullopt);  // It lives, and knows that the tracker has the outcome.
    Advance(absl::Seconds(10));
  }
  ASSERT_EQ(counters().tuners_forgotten, 1);
  // Its tuner was only cut off, and sends what is open again.
  Submit({RunSpec("job")}, /*resubmission=*/true);
  EXPECT_EQ(counters().dispatched, 1) << "the job was given out again";
  EXPECT_THAT(Done("w", lease, std::nullopt).orders.slots[0].send, ElementsAre("job"));
  Done("w", lease, "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
}

TEST_F(TrackerCoreTest, UnwantedResultIsForgottenAndItsJobMayComeAgain) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Done("w", lease, "result");
  const Collected collected = core_->Collect(now_, {.tuner_id = "tuner"});
  core_->Collect(now_, {.tuner_id = "tuner",
                        .unwanted = {collected.results[0].number},
                        .session = collected.session});
  EXPECT_EQ(core_->GetStatus(now_).unacknowledged_count, 0);
  EXPECT_THAT(Done("w", lease, std::nullopt).orders.slots[0].discard, IsEmpty());
  Submit({RunSpec("job")}, /*resubmission=*/true);
  EXPECT_THAT(Done("w", lease, std::nullopt).orders.slots[0].send, ElementsAre("job"));
  Done("w", lease, "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
}

TEST_F(TrackerCoreTest, UnwantedResultIsFetchedAlsoBeforeItsWorkerSpeaksAgain) {
  Submit({RunSpec("job")});
  Done("w", *Idle("w"), "result");
  const int64_t sequence = sequence_;
  const Collected collected = core_->Collect(now_, {.tuner_id = "tuner"});
  core_->Collect(now_, {.tuner_id = "tuner",
                        .unwanted = {collected.results[0].number},
                        .session = collected.session});
  Submit({RunSpec("job")}, /*resubmission=*/true);
  EXPECT_FALSE(Idle("other").has_value());
  EXPECT_THAT(core_->OrdersFor(now_, "w", sequence)->slots[0].send, ElementsAre("job"));
}

TEST_F(TrackerCoreTest, ResultOfAJobThatIsSubmittedAgainIsNewAgain) {
  Submit({RunSpec("job")});
  Done("w", *Idle("w"), "result");
  const Collected seen = core_->Collect(now_, {.tuner_id = "tuner"});
  const CollectRequest next{.tuner_id = "tuner",
                            .unwanted = {seen.results[0].number},
                            .seen_number = seen.results[0].number,
                            .session = seen.session};
  Submit({RunSpec("job")}, /*resubmission=*/true);
  EXPECT_THAT(core_->Collect(now_, next).results, ElementsAre(Payload("result")))
      << "what was unwanted is the earlier number";
}

TEST_F(TrackerCoreTest, StudyWithFewJobsDoesNotWaitForTheOneWithMany) {
  Restart({.queue_quantum = 1});
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 50; ++i) jobs.push_back(RunSpec("many" + std::to_string(i)));
  Submit(jobs);
  JobSpec few = RunSpec("few");
  few.study = "another";
  Submit({few});
  std::vector<std::string> first_three;
  for (const char* worker : {"w1", "w2", "w3"}) first_three.push_back(Idle(worker)->job_id);
  EXPECT_THAT(first_three, Contains("few"));
}

// ---- A tracker that was restarted ----

TEST_F(TrackerCoreTest, ResubmittedJobStaysWithTheWorkerThatExecutesIt) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Restart({});
  EXPECT_EQ(Executing("w", lease).orders.slots[0].lease, lease) << "go on, for now";
  Submit({RunSpec("job")}, /*resubmission=*/true);
  EXPECT_FALSE(Idle("other").has_value());
  Done("w", lease, "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
  EXPECT_EQ(counters().dispatched, 0);
}

TEST_F(TrackerCoreTest, ResubmittedJobWaitsForItsWorkerToSayThatItHasIt) {
  Submit({RunSpec("job"), RunSpec("not begun")});
  const Lease lease = *Idle("w");
  Restart({});
  Submit({RunSpec("job"), RunSpec("not begun")}, /*resubmission=*/true);
  EXPECT_FALSE(Idle("other").has_value()) << "held back";
  Executing("w", lease);
  EXPECT_EQ(counters().adopted, 1);
  Submit({RunSpec("new")});
  EXPECT_EQ(Idle("other")->job_id, "new") << "new jobs are not held back";
  Advance(absl::Seconds(2));
  EXPECT_EQ(Idle("third")->job_id, "not begun");
}

TEST_F(TrackerCoreTest, ResultFromBeforeTheRestartIsFetchedAndNotComputedAgain) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Done("w", lease, "result");
  Restart({});
  EXPECT_FALSE(Done("w", lease, std::nullopt).urgent);
  Submit({RunSpec("job")}, /*resubmission=*/true);
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("w"));
  EXPECT_THAT(core_->OrdersFor(now_, "w", sequence_)->slots[0].send, ElementsAre("job"));
  EXPECT_FALSE(Idle("other").has_value());
  Done("w", lease, "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
}

TEST_F(TrackerCoreTest, WorkerThatDiesWithAResultToFetchDoesNotLoseTheJob) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Restart({});
  Submit({RunSpec("job")}, /*resubmission=*/true);
  EXPECT_THAT(Done("w", lease, std::nullopt).orders.slots[0].send, ElementsAre("job"));
  Advance(absl::Seconds(15));
  EXPECT_EQ(Idle("other")->job_id, "job");
}

TEST_F(TrackerCoreTest, ResultToFetchThatVanishesDoesNotLoseTheJob) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Restart({});
  Submit({RunSpec("job")}, /*resubmission=*/true);
  EXPECT_THAT(Done("w", lease, std::nullopt).orders.slots[0].send, ElementsAre("job"));
  EXPECT_EQ(Idle("w")->job_id, "job") << "it no longer says that it has the result";
}

// It never had one. What it says of another lease of the job is not what was asked for.
TEST_F(TrackerCoreTest, ResultToFetchThatWasALieDoesNotHoldTheJobUp) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("liar");
  Restart({});
  Submit({RunSpec("job")}, /*resubmission=*/true);
  EXPECT_THAT(Done("liar", lease, std::nullopt).orders.slots[0].send, ElementsAre("job"));
  const SyncReply reply =
      Done("liar", {.job_id = "job", .epoch = lease.epoch - 1}, WorkerFault{.message = "made up"});
  ASSERT_TRUE(reply.orders.slots[0].lease.has_value()) << "the only idle slot there is";
  EXPECT_EQ(reply.orders.slots[0].lease->job_id, "job");
}

TEST_F(TrackerCoreTest, ResultThatTheTunerHadBeforeTheRestartIsDiscarded) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Restart({});
  Collect({"job"});
  EXPECT_THAT(Done("w", lease, std::nullopt).orders.slots[0].discard, ElementsAre("job"));
}

// A message that was long under way may come before all others, and says that the job is new.
TEST_F(TrackerCoreTest, LateFirstSubmissionDoesNotKeepAnEarlierTrackersResultOut) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Restart({});
  Submit({RunSpec("job")});  // Late.
  WorkerReport report = Report("w");
  report.slots[0].results = {{.lease = lease, .outcome = "result"}};
  EXPECT_EQ(Send(report).orders.slots[0].lease->job_id, "job") << "the result is nobody's yet";
  Submit({RunSpec("job")}, /*resubmission=*/true);
  report.sequence = ++sequence_;
  Send(report);
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
}

TEST_F(TrackerCoreTest, JobThatTurnsOutToBeFromBeforeIsFetchedFromWhoeverHasItsResult) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Restart({});
  Submit({RunSpec("job")});  // Late.
  WorkerReport report = Report("w");
  report.leaving = true;  // Gets no job meanwhile.
  report.slots[0].results = {{.lease = lease}};
  Send(report);
  Submit({RunSpec("job")}, /*resubmission=*/true);
  EXPECT_FALSE(Idle("other").has_value());
  EXPECT_THAT(core_->OrdersFor(now_, "w", report.sequence)->slots[0].send, ElementsAre("job"));
}

TEST_F(TrackerCoreTest, OrphanThatCannotHaveTheJobIsStoppedAtOnce) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Restart({});
  EXPECT_EQ(Executing("w", lease).orders.slots[0].lease, lease) << "its tuner may want it yet";
  Submit({RunSpec("job")});  // Nobody has had it, says the tuner.
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("w"));
  EXPECT_EQ(core_->OrdersFor(now_, "w", sequence_)->slots[0].lease, std::nullopt);
}

TEST_F(TrackerCoreTest, OfTwoOrphansOfOneJobOneIsStopped) {
  Submit({RunSpec("job")});
  const Lease first = *Idle("a");
  Advance(absl::Seconds(15));
  const Lease second = *Idle("b");
  Restart({});
  Executing("a", first);
  const int64_t sequence_of_a = sequence_;
  Executing("b", second);
  Submit({RunSpec("job")}, /*resubmission=*/true);
  EXPECT_THAT(core_->TakeReadyWorkers(), Contains("b"));
  EXPECT_EQ(core_->OrdersFor(now_, "b", sequence_)->slots[0].lease, std::nullopt);
  EXPECT_EQ(core_->OrdersFor(now_, "a", sequence_of_a)->slots[0].lease, first);
}

TEST_F(TrackerCoreTest, OrphansAreGivenUpAfterAWhile) {
  const Lease running{.job_id = "running", .epoch = 5}, held{.job_id = "held", .epoch = 6};
  WorkerReport report = Report("w");
  report.slots[0].executing = running;
  report.slots[0].results = {{.lease = held, .outcome = JobOutcome("result")}};
  const SyncReply first = Send(report);
  EXPECT_FALSE(first.urgent);
  EXPECT_THAT(first.orders.slots[0].received, ElementsAre("held")) << "need not be sent again";
  for (int i = 0; i < 5; ++i) {
    Advance(absl::Seconds(10));
    report.sequence = ++sequence_;
    EXPECT_EQ(Send(report).orders.slots[0].lease, running);
  }
  Advance(absl::Seconds(10));
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("w"));
  const SlotOrders orders = core_->OrdersFor(now_, "w", sequence_)->slots[0];
  EXPECT_EQ(orders.lease, std::nullopt);
  EXPECT_THAT(orders.discard, ElementsAre("held"));
  // A report that was under way, or one after a call that had just been answered.
  EXPECT_EQ(Executing("w", running).orders.slots[0].lease, std::nullopt) << "as if it were new";
}

TEST_F(TrackerCoreTest, IdleTrackerAsksForNoTick) {
  EXPECT_EQ(core_->NextTick(), absl::InfiniteFuture());
  Submit({RunSpec("job")});
  EXPECT_EQ(core_->NextTick(), now_ + absl::Seconds(60)) << "when the tuner would be forgotten";
  Idle("w");
  EXPECT_EQ(core_->NextTick(), now_ + absl::Seconds(2)) << "when the worker is silent";
  Advance(absl::Seconds(2));
  EXPECT_EQ(core_->NextTick(), now_ + absl::Seconds(13)) << "when the lease ends";
}

}  // namespace
}  // namespace burnish
