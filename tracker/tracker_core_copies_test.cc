// When a job is leased a second time, and that a job never has a third lease.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tracker/core_test_farm.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CopiesTest : public CoreTestFarm {
 protected:
  // A worker's call hangs, with nothing to do.
  void Wait(const std::string& worker) {
    EXPECT_FALSE(Idle(worker).has_value());
    sequence_of_[worker] = sequence_;
  }
  // What the hanging call of a worker that is named is answered with.
  std::optional<Lease> Told(const std::string& worker) {
    const auto orders = core_->OrdersFor(now_, worker, sequence_of_[worker]);
    EXPECT_TRUE(orders.has_value());
    return orders.has_value() ? orders->slots[0].lease : std::nullopt;
  }
  // Its call hangs while it executes, and is answered after five seconds, as the service does.
  void FallSilent(const std::string& worker, const Lease& lease) {
    Executing(worker, lease);
    const int64_t sequence = sequence_;
    Advance(absl::Seconds(5));
    EXPECT_TRUE(core_->OrdersFor(now_, worker, sequence).has_value());
  }

  std::map<std::string, int64_t> sequence_of_;
};

TEST_F(CopiesTest, JobOfASilentWorkerGoesToAnIdleOneAsWellAndTheFirstResultStands) {
  Submit({RunSpec("job")});
  const Lease first = *Idle("stopped");
  Executing("stopped", first);
  const int64_t sequence = sequence_;
  Wait("idle");
  Advance(absl::Seconds(5));
  EXPECT_THAT(core_->TakeReadyWorkers(), IsEmpty()) << "the worker's call hangs: nothing is wrong";
  core_->OrdersFor(now_, "stopped", sequence);
  Advance(absl::Milliseconds(1999));
  EXPECT_THAT(core_->TakeReadyWorkers(), IsEmpty());
  EXPECT_EQ(core_->NextTick(), now_ + absl::Milliseconds(1));
  Advance(absl::Milliseconds(1));
  ASSERT_THAT(core_->TakeReadyWorkers(), ElementsAre("idle"));
  const Lease second = *Told("idle");
  EXPECT_EQ(second.job_id, "job");
  EXPECT_NE(second.epoch, first.epoch);
  EXPECT_GT(core_->NextTick(), now_) << "a tick does all that is due";
  EXPECT_EQ(counters().copies, 1);
  EXPECT_EQ(core_->GetStatus(now_).leased_count, 1) << "it is one job";
  Done("idle", second, "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
  // It comes back, and has nothing to say that counts.
  EXPECT_EQ(Executing("stopped", first).orders.slots[0].lease, std::nullopt);
  EXPECT_THAT(Done("stopped", first, "late").orders.slots[0].discard, ElementsAre("job"));
  EXPECT_EQ(counters().duplicates_dropped, 1);
  EXPECT_EQ(counters().leases_lost, 0);
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
}

TEST_F(CopiesTest, SilentWorkersResultThatComesFirstStandsAndTheCopyIsStopped) {
  Submit({RunSpec("job")});
  const Lease first = *Idle("stopped");
  Advance(absl::Seconds(2));  // The order was an answer, and nothing came after it.
  const Lease second = *Idle("idle");
  EXPECT_EQ(Executing("idle", second).orders.slots[0].lease, second);
  Done("stopped", first, "result");
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("idle"));
  EXPECT_EQ(core_->OrdersFor(now_, "idle", sequence_ - 1)->slots[0].lease, std::nullopt);
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
}

TEST_F(CopiesTest, ThereIsNoThirdLeaseAndNoneWithTheSameWorker) {
  Submit({RunSpec("job")});
  WorkerReport report = Report("stopped");
  report.slots.push_back(report.slots[0]);
  const Lease first = *Send(report).orders.slots[0].lease;
  Advance(absl::Seconds(2));
  EXPECT_EQ(counters().copies, 0) << "its other slot is as silent";
  EXPECT_TRUE(Idle("idle").has_value());
  EXPECT_FALSE(Idle("third").has_value());
  EXPECT_EQ(counters().copies, 1);
  // The copy's worker falls silent too.
  Advance(absl::Seconds(2));
  EXPECT_FALSE(Idle("fourth").has_value());
}

TEST_F(CopiesTest, CopyTakesNobodysPlaceAndNobodysShare) {
  Restart({.queue_quantum = 1});
  JobSpec copied = RunSpec("copied");
  copied.study = "a";
  Submit({copied});
  Idle("stopped");
  Advance(absl::Seconds(2));
  std::vector<JobSpec> others;
  for (const char* const id : {"a1", "b1", "a2", "b2"}) {
    JobSpec spec = RunSpec(id);
    spec.study = std::string(id).substr(0, 1);
    others.push_back(spec);
  }
  Submit(others);
  std::vector<std::string> order;
  for (int i = 0; i < 5; ++i) {
    const Lease lease = *Idle("idle");
    order.push_back(lease.job_id);
    Done("idle", lease, "result");
  }
  EXPECT_THAT(order, ElementsAre("a1", "b1", "a2", "b2", "copied"));
}

TEST_F(CopiesTest, CopyDoesNotGoToAWorkerThatHasLostTheJobOrIsDoubted) {
  JobSpec spec = RunSpec("job");
  spec.avoid_workers = {"doubted"};
  Submit({spec});
  Idle("stopped");
  Advance(absl::Seconds(2));
  EXPECT_FALSE(Idle("doubted").has_value());
  EXPECT_TRUE(Idle("idle").has_value());
}

TEST_F(CopiesTest, WorkerThatSpeaksAgainKeepsItsJobBesideTheCopy) {
  Submit({RunSpec("job")});
  const Lease first = *Idle("stopped");
  Advance(absl::Seconds(2));
  const Lease second = *Idle("idle");
  EXPECT_EQ(Executing("stopped", first).orders.slots[0].lease, first);
  EXPECT_EQ(Executing("idle", second).orders.slots[0].lease, second);
  // The copy is lost: a fault of its worker, and the job goes on where it was.
  Done("idle", second, WorkerFault{.message = "sick"});
  EXPECT_EQ(core_->GetStatus(now_).leased_count, 1);
  EXPECT_EQ(Executing("stopped", first).orders.slots[0].lease, first);
  Done("stopped", first, "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
}

TEST_F(CopiesTest, EachSilenceBringsOneCopy) {
  Submit({RunSpec("job")});
  const Lease first = *Idle("stopped");
  Advance(absl::Seconds(2));
  Done("sick", *Idle("sick"), WorkerFault{.message = "sick"});
  EXPECT_FALSE(Idle("idle").has_value()) << "the first one failed, and may be the job's doing";
  // It speaks, and falls silent once more.
  FallSilent("stopped", first);
  Wait("idle");
  Advance(absl::Seconds(2));
  ASSERT_THAT(core_->TakeReadyWorkers(), ElementsAre("idle"));
  EXPECT_TRUE(Told("idle").has_value());
}

TEST_F(CopiesTest, JobThatPausesIsCopiedWhenThePauseEnds) {
  Restart({.interruption_pause_min = absl::Seconds(10)});
  Submit({RunSpec("job")});
  for (int64_t incarnation = 1; incarnation <= 3; ++incarnation) Idle("restarting", incarnation);
  Lease lease = *Idle("stopped");
  Advance(absl::Seconds(2));
  Idle("restarting", 3);
  Idle("restarting", 4);  // The third interruption.
  EXPECT_EQ(counters().interruptions, 3);
  FallSilent("stopped", lease);
  Advance(absl::Seconds(2));
  Wait("idle");
  core_->TakeReadyWorkers();
  Advance(absl::Seconds(2));
  EXPECT_THAT(core_->TakeReadyWorkers(), IsEmpty());
  EXPECT_EQ(core_->NextTick(), now_ + absl::Seconds(1)) << "ten seconds after the interruption";
  Advance(absl::Seconds(1));
  EXPECT_THAT(core_->TakeReadyWorkers(), ElementsAre("idle"));
}

// What was evidence before there were copies is evidence still, and nothing else.
TEST_F(CopiesTest, SilentWorkerIsLostAsEverAndTheCopyGoesOn) {
  Submit({RunSpec("job")});
  Idle("stopped");
  Advance(absl::Seconds(2));
  const Lease second = *Idle("idle");
  for (int i = 0; i < 13; ++i) {
    Executing("idle", second);
    Advance(absl::Seconds(1));
  }
  EXPECT_EQ(counters().leases_lost, 1);
  EXPECT_EQ(core_->GetStatus(now_).leased_count, 1);
  EXPECT_FALSE(Idle("other").has_value()) << "it is not queued beside its copy";
  Done("idle", second, "result");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
}

TEST_F(CopiesTest, CopyOfASilentWorkerIsCopiedOnceTheFirstIsGone) {
  Submit({RunSpec("job")});
  Idle("stopped");
  Advance(absl::Seconds(2));
  EXPECT_TRUE(Idle("stopped too").has_value());
  Advance(absl::Seconds(13));  // The first is lost.
  EXPECT_EQ(counters().leases_lost, 1);
  EXPECT_EQ(Idle("idle")->job_id, "job");
  EXPECT_EQ(counters().copies, 2);
}

TEST_F(CopiesTest, JobWhoseResultIsUnderWayIsNotCopied) {
  Submit({RunSpec("job")});
  const Lease before = *Idle("holder");
  Restart({});
  Submit({RunSpec("job")}, /*resubmission=*/true);
  Advance(absl::Seconds(2));
  Idle("stopped");
  Done("holder", before, std::nullopt);  // It is asked to send it.
  Advance(absl::Seconds(2));
  EXPECT_FALSE(Idle("idle").has_value());
}

TEST_F(CopiesTest, JobThatASilentWorkerHasKeptOverARestartIsCopiedWhenItsTunerComes) {
  Submit({RunSpec("job")});
  const Lease before = *Idle("stopped");
  Restart({});
  FallSilent("stopped", before);
  Advance(absl::Seconds(2));
  Wait("idle");
  Submit({RunSpec("job")}, /*resubmission=*/true);
  EXPECT_EQ(counters().adopted, 1);
  ASSERT_THAT(core_->TakeReadyWorkers(), ElementsAre("idle"));
  EXPECT_EQ(Told("idle")->job_id, "job");
}

TEST_F(CopiesTest, CancelledJobIsStoppedInBothPlaces) {
  Submit({RunSpec("job")});
  const Lease first = *Idle("stopped");
  Advance(absl::Seconds(2));
  const Lease second = *Idle("idle");
  core_->Cancel(now_, "tuner", {"job"}, "");
  EXPECT_EQ(Executing("stopped", first).orders.slots[0].lease, std::nullopt);
  EXPECT_EQ(Executing("idle", second).orders.slots[0].lease, std::nullopt);
  EXPECT_THAT(Collect(), SizeIs(1));
}

}  // namespace
}  // namespace burnish
