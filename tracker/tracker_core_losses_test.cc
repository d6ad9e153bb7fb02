// When a job is given up, and that good ones never are for what the farm did.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tracker/core_test_farm.h"

namespace burnish {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class LossesTest : public CoreTestFarm {
 protected:
  // Known, and busy with something until they report.
  void Enroll(const std::vector<std::string>& workers) {
    for (const std::string& worker : workers) {
      Send(Report(worker));
      core_->OrdersFor(now_, worker, sequence_);  // Its call was answered: it gets nothing unasked.
    }
  }
  // Gets the worker's next job, which must be `id`, and reports a fault over it.
  void Fault(const std::string& worker, const std::string& id) {
    Advance(absl::Seconds(1));  // Whatever pause it has is over.
    const std::optional<Lease> lease = Idle(worker);
    ASSERT_TRUE(lease.has_value()) << worker;
    ASSERT_EQ(lease->job_id, id);
    Done(worker, *lease, WorkerFault{.message = "fault of " + worker});
  }
  // The worker finishes another job.
  void Finish(const std::string& worker) {
    Advance(absl::Seconds(1));
    JobSpec other = RunSpec("other" + std::to_string(++other_count_));
    other.labels = {{"worker", worker}};
    Submit({other});
    const std::optional<Lease> lease = Idle(worker);
    ASSERT_TRUE(lease.has_value()) << worker;
    ASSERT_EQ(lease->job_id, other.id);
    Done(worker, *lease, "result");
    Collect({other.id});
  }

  // Long enough for a verdict, with the workers alive.
  void WaitForVerdict() {
    for (int i = 0; i < 6; ++i) {
      Advance(absl::Seconds(10));
      for (const char* worker : {"w1", "w2", "w3"}) Idle(worker);
      Collect();
    }
  }

  // `bad` was lost on w1 and w2, which do well; w3 has it in its first slot, and another job in the
  // second. `w3_` is its next report, without a result.
  void LoseOnAllButW3(const JobSpec& bad) {
    Enroll({"w1", "w2"});
    w3_ = Report("w3");
    w3_.slots.push_back(w3_.slots[0]);
    Send(w3_);
    core_->OrdersFor(now_, "w3", sequence_);
    Submit({bad});
    for (const char* worker : {"w1", "w2"}) Fault(worker, bad.id);
    for (const char* worker : {"w1", "w2"}) Finish(worker);
    JobSpec good = RunSpec("good");
    good.labels = {{"worker", "w3"}};
    Submit({good});
    w3_.sequence = ++sequence_;
    const std::vector<SlotOrders> orders = Send(w3_).orders.slots;
    ASSERT_EQ(orders[0].lease->job_id, bad.id);
    ASSERT_EQ(orders[1].lease->job_id, "good");
    bad_lease_ = *orders[0].lease;
    good_lease_ = *orders[1].lease;
    w3_.sequence = ++sequence_;
  }

  int other_count_ = 0;
  WorkerReport w3_;
  Lease bad_lease_, good_lease_;
};

TEST_F(LossesTest, LeaseOfAnEarlierTrackerThatStopsIsNoEvidence) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("worker");
  Restart({});
  Submit({RunSpec("job")}, /*resubmission=*/true);
  // A report that was long under way: the earlier tracker has had it stopped meanwhile.
  Executing("worker", lease);
  EXPECT_EQ(counters().adopted, 1);
  Idle("worker");
  EXPECT_EQ(counters().interruptions, 1);
  EXPECT_EQ(counters().worker_faults, 0);
}

TEST_F(LossesTest, WorkerWhoseTimeIsUpDoesNotGetTheJobBackForGoingOn) {
  JobSpec job = RunSpec("job");
  job.timeout = absl::Seconds(5);
  Submit({job});
  const Lease lease = *Idle("w");
  Executing("w", lease);
  core_->OrdersFor(now_, "w", sequence_);  // Its next report is under way as the time ends.
  Advance(absl::Seconds(5));
  ASSERT_EQ(counters().timed_out, 1);
  EXPECT_EQ(Executing("w", lease).orders.slots[0].lease, std::nullopt) << "has to stop";
  EXPECT_EQ(counters().adopted, 0);
}

TEST_F(LossesTest, LostJobDoesNotWaitForAWorkerThatIsDrained) {
  Enroll({"w1", "w2"});
  Submit({RunSpec("job")});
  Fault("w1", "job");
  Advance(absl::Seconds(1));
  EXPECT_FALSE(Idle("w1").has_value()) << "the other one is to try it";
  EXPECT_THAT(core_->TakeReadyWorkers(), IsEmpty());
  ASSERT_THAT(core_->Drain(now_, "w2", /*undo=*/false), IsOk());
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("w1"));
  EXPECT_TRUE(core_->OrdersFor(now_, "w1", sequence_)->slots[0].lease.has_value());
}

TEST_F(LossesTest, JobLostOnThreeWorkersThatDoWellIsPoisonedWithEveryReason) {
  Enroll({"w1", "w2", "w3"});
  Submit({RunSpec("bad")});
  for (const char* worker : {"w1", "w2", "w3"}) {
    EXPECT_THAT(Collect(), IsEmpty());
    Fault(worker, "bad");
  }
  EXPECT_THAT(Collect(), IsEmpty()) << "nobody has shown yet that it does well";
  Finish("w1");
  Finish("w2");
  EXPECT_THAT(Collect(), IsEmpty());
  EXPECT_FALSE(Idle("w4").has_value()) << "waits for its verdict";
  Finish("w3");
  EXPECT_THAT(Collect(), ElementsAre(Failed(FailureKind::kPoisoned, "fault of w2")));
  EXPECT_EQ(counters().poisoned, 1);
  EXPECT_FALSE(Idle("w4").has_value()) << "never tried again";
}

// Nobody knows whether the result came after the fault.
TEST_F(LossesTest, ResultInTheSameReportAsAFaultDoesNotShowThatItsWorkerDoesWell) {
  ASSERT_NO_FATAL_FAILURE(LoseOnAllButW3(RunSpec("bad")));
  w3_.slots[0].results = {{.lease = bad_lease_, .outcome = WorkerFault{.message = "w3"}}};
  w3_.slots[1].results = {{.lease = good_lease_, .outcome = "result"}};
  Send(w3_);
  EXPECT_EQ(counters().poisoned, 0);
  Finish("w1");
  EXPECT_EQ(counters().poisoned, 0);
}

// The result that shows that the worker does well, and the job's own, later in the same report.
TEST_F(LossesTest, JobIsNotGivenUpByTheReportThatBringsItsResult) {
  JobSpec bad = RunSpec("bad");
  bad.timeout = absl::Seconds(5);
  ASSERT_NO_FATAL_FAILURE(LoseOnAllButW3(bad));
  Advance(absl::Seconds(5));
  w3_.slots[0].results = {{.lease = good_lease_, .outcome = "good's"},
                          {.lease = bad_lease_, .outcome = "bad's"}};
  Send(w3_);
  EXPECT_EQ(counters().poisoned, 0);
  EXPECT_THAT(Collect(), Contains(Payload("bad's")));
}

// One of another version, or with less memory, is no reason to give up.
TEST_F(LossesTest, JobThatOneWorkerRefusesIsTriedElsewhereAndNobodyPauses) {
  Enroll({"w1", "w2"});
  Submit({RunSpec("job"), RunSpec("next")});
  Done("w1", *Idle("w1"), WorkerFault{.message = "too large", .refused = true});
  EXPECT_EQ(counters().refusals, 1);
  EXPECT_EQ(counters().worker_faults, 0);
  for (const WorkerStatus& worker : core_->ListWorkers(now_)) {
    EXPECT_EQ(worker.slots[0].paused_for, absl::ZeroDuration());
    EXPECT_EQ(worker.slots[0].fault_count, 0);
  }
  EXPECT_EQ(Idle("w1")->job_id, "next") << "at once, and not the one that it cannot do";
  const Lease lease = *Idle("w2");
  EXPECT_EQ(lease.job_id, "job");
  Done("w2", lease, "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
}

TEST_F(LossesTest, JobThatTwoWorkersRefuseIsParkedAndGoesToNoThird) {
  Enroll({"w1", "w2", "w3"});
  Submit({RunSpec("job")});
  for (const char* worker : {"w1", "w2"}) {
    Done(worker, *Idle(worker), WorkerFault{.message = "malformed", .refused = true});
  }
  EXPECT_THAT(Collect(), ElementsAre(Failed(FailureKind::kParked, "malformed")));
  EXPECT_FALSE(Idle("w3").has_value());
  // It says nothing of how they do: what they lose counts as before.
  Submit({RunSpec("bad")});
  for (const char* worker : {"w1", "w2", "w3"}) Fault(worker, "bad");
  for (const char* worker : {"w1", "w2", "w3"}) Finish(worker);
  EXPECT_EQ(counters().poisoned, 1);
}

TEST_F(LossesTest, JobThatTheOnlyWorkerRefusesIsParkedAtOnce) {
  Submit({RunSpec("job")});
  Done("w", *Idle("w"), WorkerFault{.message = "malformed", .refused = true});
  EXPECT_THAT(Collect(), ElementsAre(Failed(FailureKind::kParked, "malformed")));
}

// Each way in which a daemon ends: killed with its host, crashed, started anew.
TEST_F(LossesTest, JobOverWhichTwoDaemonsDiedIsParkedAndGoesToNoThird) {
  const auto silent = [this](const std::string&) { Advance(absl::Seconds(15)); };
  const auto closed = [this](const std::string& worker) {
    core_->CallBroke(now_, worker, sequence_);
    Advance(absl::Milliseconds(500));
  };
  const auto restarted = [this](const std::string& worker) {
    WorkerReport report = Report(worker, /*incarnation=*/2);
    report.leaving = true;  // Else it would try the job again itself.
    Send(report);
  };
  for (const auto& die :
       std::vector<std::function<void(const std::string&)>>{silent, closed, restarted}) {
    Restart({});
    Submit({RunSpec("killer")});
    for (const char* worker : {"w1", "w2"}) {
      EXPECT_THAT(Collect(), IsEmpty());
      const std::optional<Lease> lease = Idle(worker);
      ASSERT_TRUE(lease.has_value()) << worker;
      Executing(worker, *lease);
      die(worker);
      Collect();
    }
    EXPECT_THAT(Collect(), ElementsAre(Failed(FailureKind::kParked, "2 workers ended over it")));
    EXPECT_FALSE(Idle("w3").has_value());
    EXPECT_EQ(counters().parked, 1);
  }
}

// What never began there, and what an operator ends, is nobody's death.
TEST_F(LossesTest, OnlyWhoExecutedTheJobHasDiedOverIt) {
  Submit({RunSpec("job")});
  for (const char* worker : {"w1", "w2", "w3"}) {
    ASSERT_TRUE(Idle(worker).has_value());
    core_->CallBroke(now_, worker, sequence_);  // Its orders may never have come.
    Advance(absl::Seconds(2));
  }
  for (const char* worker : {"v1", "v2", "v3"}) {
    Advance(absl::Seconds(10));
    Collect();
    const std::optional<Lease> lease = Idle(worker);
    ASSERT_TRUE(lease.has_value()) << worker;
    WorkerReport leaving = Report(worker);
    leaving.slots[0].executing = *lease;
    leaving.leaving = true;
    Send(leaving);
    core_->CallBroke(now_, worker, sequence_);
    Advance(absl::Seconds(2));
  }
  EXPECT_THAT(Collect(), IsEmpty());
}

TEST_F(LossesTest, WorkerThatWasOnlyCutOffHasNotDied) {
  Submit({RunSpec("job")});
  for (const char* worker : {"w1", "w2"}) {
    const Lease lease = *Idle(worker);
    Executing(worker, lease);
    core_->CallBroke(now_, worker, sequence_);
    Advance(absl::Seconds(1));
    // It comes back and goes on, and then gives the job up for good.
    if (std::string(worker) == "w1") {
      EXPECT_EQ(Executing(worker, lease).orders.slots[0].lease, lease);
      Done(worker, lease, WorkerFault{.message = "killed", .interrupted = true});
      Advance(absl::Seconds(1));
    }
  }
  EXPECT_THAT(Collect(), IsEmpty()) << "one of them has";
  EXPECT_EQ(counters().parked, 0);
}

TEST_F(LossesTest, JobOfWorkersThatShowNothingElseIsParked) {
  Enroll({"w1", "w2", "w3"});
  Submit({RunSpec("job")});
  for (const char* worker : {"w1", "w2", "w3"}) Fault(worker, "job");
  Finish("w1");
  Finish("w2");
  WaitForVerdict();
  EXPECT_THAT(Collect(), ElementsAre(Failed(FailureKind::kParked, "only 2 of its workers")));
  EXPECT_EQ(counters().poisoned, 0);
}

TEST_F(LossesTest, LossesOfSickWorkersAreNoEvidence) {
  Enroll({"w1", "w2", "w3"});
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(RunSpec("job" + std::to_string(i)));
  Submit(jobs);
  for (const char* worker : {"w1", "w2", "w3"}) {
    for (const JobSpec& job : jobs) Fault(worker, job.id);
  }
  // One good result each among four losses of others: none of the three does well.
  for (const char* worker : {"w1", "w2", "w3"}) Finish(worker);
  WaitForVerdict();
  const std::vector<ResultEntry> results = Collect();
  ASSERT_EQ(results.size(), 4u);
  for (const ResultEntry& result : results) {
    EXPECT_THAT(result, Failed(FailureKind::kParked, "do well otherwise"));
  }
}

TEST_F(LossesTest, OneWorkerAloneParksAndNeverPoisons) {
  Submit({RunSpec("job")});
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Collect(), IsEmpty());
    Fault("w1", "job");
  }
  EXPECT_THAT(Collect(), ElementsAre(Failed(FailureKind::kParked, "no further worker")));
}

TEST_F(LossesTest, WorkerThatLostAJobDoesNotTakeItAgainWhileAnotherCould) {
  Enroll({"busy"});
  Submit({RunSpec("job")});
  const Lease lease = *Idle("sick");
  Done("sick", lease, WorkerFault{.message = "disk full"});
  Advance(absl::Seconds(10));
  EXPECT_FALSE(Idle("sick").has_value());
  EXPECT_EQ(Idle("busy")->job_id, "job");
}

// The case that condemned 40 of 40 good candidates.
TEST_F(LossesTest, RestartsOfOneWorkerNeitherPoisonNorPark) {
  std::vector<JobSpec> jobs;
  for (int i = 0; i < 40; ++i) jobs.push_back(RunSpec("job" + std::to_string(100 + i)));
  Submit(jobs);
  int64_t boot = 0;
  size_t done_count = 0;
  Rng rng(1);
  for (int i = 0; i < 1000 && done_count < jobs.size(); ++i) {
    Collect();
    Idle("w", ++boot);
    Advance(absl::Seconds(2));
    const std::optional<Lease> lease = Idle("w", boot);
    // One process in three lives long enough for a result.
    if (!lease.has_value() || rng.Uniform() > 1.0 / 3) continue;
    WorkerReport report = Report("w", boot);
    report.slots[0].results = {{.lease = *lease, .outcome = JobOutcome("result")}};
    Send(report);
    Collect({lease->job_id});
    ++done_count;
  }
  EXPECT_EQ(done_count, jobs.size());
  EXPECT_EQ(counters().poisoned + counters().parked, 0);
  EXPECT_GT(counters().interruptions, 50);
}

TEST_F(LossesTest, JobThatEndsEachWorkerIsHeldBackEverLongerAndParkedInTheEnd) {
  Submit({RunSpec("killer")});
  int64_t boot = 0;
  absl::Time last_start = now_;
  absl::Duration longest_pause;
  while (Collect().empty() && boot < 1000) {
    const int64_t before = counters().dispatched;
    Idle("w", ++boot);
    Advance(absl::Seconds(1));
    if (counters().dispatched == before) continue;
    longest_pause = std::max(longest_pause, now_ - last_start);
    last_start = now_;
  }
  EXPECT_EQ(counters().dispatched, 32);
  EXPECT_GE(longest_pause, absl::Seconds(30));
  EXPECT_THAT(Collect(), ElementsAre(Failed(FailureKind::kParked, "interrupted 32 times")));
}

// The end of the recovery period, for which the job once waited, is not the end of its pause.
TEST_F(LossesTest, EarlierPauseDoesNotEndALaterOne) {
  Submit({RunSpec("job")});
  Lease lease = *Idle("w");
  Restart({});
  Submit({RunSpec("job")}, /*resubmission=*/true);
  EXPECT_FALSE(Idle("other").has_value()) << "until two seconds after the start";
  Executing("w", lease);
  Advance(absl::Milliseconds(1500));
  for (int64_t incarnation = 2; incarnation <= 4; ++incarnation) {
    const std::optional<Lease> next = Idle("w", incarnation);
    if (incarnation < 4) EXPECT_TRUE(next.has_value());
  }
  EXPECT_EQ(counters().interruptions, 3);
  Advance(absl::Milliseconds(500));
  EXPECT_FALSE(Idle("other").has_value()) << "interrupted three times: a pause of a second";
  Advance(absl::Milliseconds(500));
  EXPECT_TRUE(Idle("other").has_value());
}

// Whoever says that it has a result and then does not would end each pause.
TEST_F(LossesTest, ResultThatVanishesDoesNotEndThePause) {
  Restart({.interruption_pause_min = absl::Seconds(10)});
  Submit({RunSpec("job")});
  Lease lease;
  for (int64_t incarnation = 1; incarnation <= 3; ++incarnation) lease = *Idle("w", incarnation);
  EXPECT_FALSE(Idle("w", 4).has_value());
  WorkerReport report = Report("w", 4);
  report.slots[0].results = {{.lease = lease}};
  EXPECT_THAT(Send(report).orders.slots[0].send, ElementsAre("job"));
  EXPECT_FALSE(Idle("w", 4).has_value());
  EXPECT_FALSE(Idle("other").has_value());
  Advance(absl::Seconds(10));
  EXPECT_TRUE(Idle("other").has_value());
}

// The result was computed before a restart of the tracker; its holder was away meanwhile.
TEST_F(LossesTest, LostJobIsFetchedFromAnotherWorkerThatHasItsResult) {
  Submit({RunSpec("job")});
  const Lease before = *Idle("holder");
  Restart({});
  Submit({RunSpec("job")}, /*resubmission=*/true);
  Advance(absl::Seconds(2));
  const Lease lease = *Idle("w");
  EXPECT_THAT(Done("holder", before, std::nullopt).orders.slots[0].send, ElementsAre("job"));
  Done("w", lease, WorkerFault{.message = "sick"});
  EXPECT_FALSE(Idle("idle").has_value()) << "what is done already is not done again";
  EXPECT_EQ(core_->GetStatus(now_).leased_count, 1) << "it is asked for";
  Done("holder", before, "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
}

TEST_F(LossesTest, WaitingForOthersOnTheHostIsNoTimeOfTheJob) {
  JobSpec spec = RunSpec("job");
  spec.timeout = absl::Seconds(3);
  Submit({spec});
  const Lease lease = *Idle("w");
  const auto report = [&](bool waiting) {
    WorkerReport report = Report("w");
    report.slots[0].executing = lease;
    report.slots[0].waiting = waiting;
    return Send(report).orders.slots[0].lease;
  };
  report(false);
  Advance(absl::Seconds(2));
  report(true);
  for (int i = 0; i < 20; ++i) {
    Advance(absl::Seconds(10));
    EXPECT_EQ(report(true), lease);
    Collect();
  }
  report(false);
  EXPECT_EQ(core_->NextTick(), now_ + absl::Seconds(1));
  Advance(absl::Seconds(1));
  EXPECT_EQ(counters().timed_out, 1);
}

TEST_F(LossesTest, WorkerThatClaimsToWaitForEverIsInterrupted) {
  JobSpec spec = RunSpec("job");
  spec.timeout = absl::Seconds(3);
  Submit({spec});
  const Lease lease = *Idle("w");
  WorkerReport report = Report("w");
  report.slots[0].executing = lease;
  report.slots[0].waiting = true;
  for (int i = 0; i < 90 && counters().interruptions == 0; ++i) {
    report.sequence = ++sequence_;
    Send(report);
    Collect();
    Advance(absl::Seconds(10));
  }
  EXPECT_EQ(counters().interruptions, 1);
  EXPECT_EQ(now_ - absl::UnixEpoch(), absl::Minutes(15));
}

TEST_F(LossesTest, FaultThatCameFromOutsideIsNoEvidence) {
  Submit({RunSpec("job")});
  for (int i = 0; i < 10; ++i) {
    const Lease lease = *Idle("w");
    Done("w", lease, WorkerFault{.message = "killed", .interrupted = true});
    EXPECT_THAT(Collect(), IsEmpty());
    Advance(absl::Seconds(40));
    Collect();
  }
  EXPECT_EQ(counters().interruptions, 10);
  Done("w", *Idle("w"), "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
}

TEST_F(LossesTest, WorkerThatWasOnlyCutOffTakesItsLossBack) {
  Submit({RunSpec("job")});
  const Lease lease = *Idle("w");
  Executing("w", lease);
  for (int i = 0; i < 5; ++i) {
    Advance(absl::Seconds(20));
    EXPECT_EQ(Executing("w", lease).orders.slots[0].lease, lease);
    Collect();
  }
  Done("w", lease, "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
  EXPECT_EQ(counters().leases_lost, 5);
}

TEST_F(LossesTest, JobGoesToAWorkerThatItsTunerDoubtsOnlyWhereThereIsNoOther) {
  Enroll({"doubted", "other"});
  JobSpec job = RunSpec("job");
  job.avoid_workers = {"doubted"};
  Submit({job});
  EXPECT_EQ(Idle("doubted"), std::nullopt);
  // People see it as long as such a job is open.
  const auto doubts = [this] {
    std::map<std::string, std::vector<std::string>> doubted_by;
    for (const WorkerStatus& worker : core_->ListWorkers(now_)) {
      if (!worker.doubted_by.empty()) doubted_by[worker.worker_id] = worker.doubted_by;
    }
    return doubted_by;
  };
  EXPECT_THAT(doubts(), ElementsAre(Pair("doubted", ElementsAre("study"))));
  const std::optional<Lease> lease = Idle("other");
  ASSERT_TRUE(lease.has_value());
  EXPECT_EQ(lease->job_id, "job");
  Done("other", *lease, "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
  EXPECT_THAT(doubts(), IsEmpty());
}

TEST_F(LossesTest, DoubtedWorkerThatIsAloneGetsTheJob) {
  Enroll({"doubted"});
  JobSpec job = RunSpec("job");
  job.avoid_workers = {"doubted"};
  Submit({job});
  EXPECT_TRUE(Idle("doubted").has_value());
}

}  // namespace
}  // namespace burnish
