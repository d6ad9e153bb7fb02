// Whose bytes are taken: of the worker that has the build's lease.
#include <string>

#include "absl/status/status.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tracker/core_test_farm.h"

namespace burnish {
namespace {

constexpr absl::StatusCode kDenied = absl::StatusCode::kPermissionDenied;
constexpr absl::StatusCode kNotYet = absl::StatusCode::kUnavailable;

JobSpec BuildSpec(const std::string& id) {
  return {.id = id, .kind = JobKind::kBuild, .study = "study", .payload = "source of " + id};
}

class BuildsTest : public CoreTestFarm {
 protected:
  WorkerReport Builder(const std::string& worker, int64_t incarnation = 1) {
    WorkerReport report = Report(worker, incarnation);
    report.slots[0].info = {.kind = JobKind::kBuild};
    return report;
  }
  Lease IdleBuilder(const std::string& worker, int64_t incarnation = 1) {
    return Send(Builder(worker, incarnation)).orders.slots.at(0).lease.value_or(Lease());
  }
  void Executing(const std::string& worker, const Lease& lease) {
    WorkerReport report = Builder(worker);
    report.slots[0].executing = lease;
    Send(report);
  }
  absl::StatusCode Deliver(const std::string& worker, const Lease& lease, int64_t incarnation = 1) {
    return core_->CheckBuildLease(now_, worker, incarnation, lease).code();
  }
  // No tracker that has just started.
  void Settle() { Advance(TrackerOptions().lease_duration); }
};

TEST_F(BuildsTest, OnlyTheLeasesHolderDelivers) {
  Settle();
  Submit({BuildSpec("job"), BuildSpec("other"), RunSpec("run")});
  const Lease lease = IdleBuilder("builder");
  ASSERT_EQ(lease.job_id, "job");
  const Lease others = IdleBuilder("builder 2");
  const std::optional<Lease> run = Idle("runner");
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(Deliver("builder", lease), absl::StatusCode::kOk);
  EXPECT_EQ(Deliver("builder 2", lease), kDenied);
  EXPECT_EQ(Deliver("builder", others), kDenied);
  EXPECT_EQ(Deliver("builder", {.job_id = "job", .epoch = lease.epoch + 100}), kDenied);
  EXPECT_EQ(Deliver("builder", lease, /*incarnation=*/2), kDenied);
  EXPECT_EQ(Deliver("runner", *run), kDenied) << "a lease, but of no build";
  EXPECT_EQ(Deliver("nobody", lease), kDenied);
  EXPECT_EQ(Deliver("builder", {.job_id = "never submitted", .epoch = 1}), kDenied);
  EXPECT_EQ(Deliver("", {}), kDenied);
}

TEST_F(BuildsTest, ALeaseThatIsOverIsNone) {
  Settle();
  Submit({BuildSpec("done")});
  const Lease done = IdleBuilder("builder");
  WorkerReport report = Builder("builder");
  report.slots[0].results = {{.lease = done, .outcome = "result"}};
  Send(report);
  EXPECT_EQ(Deliver("builder", done), kDenied);
  Submit({BuildSpec("cancelled")});
  const Lease cancelled = IdleBuilder("builder");
  ASSERT_EQ(cancelled.job_id, "cancelled");
  core_->Cancel(now_, "tuner", {"cancelled"}, "");
  EXPECT_EQ(Deliver("builder", cancelled), kDenied);
}

TEST_F(BuildsTest, AWorkerThatWasCutOffWaitsUntilItIsKnownWhoHasTheJob) {
  Settle();
  Submit({BuildSpec("job")});
  const Lease lease = IdleBuilder("builder");
  Executing("builder", lease);
  Advance(TrackerOptions().lease_duration);
  EXPECT_EQ(Deliver("builder", lease), kNotYet);
  Executing("builder", lease);
  EXPECT_EQ(Deliver("builder", lease), absl::StatusCode::kOk) << "it goes on";
  Advance(TrackerOptions().lease_duration);
  const Lease second = IdleBuilder("another");
  ASSERT_EQ(second.job_id, "job");
  EXPECT_EQ(Deliver("builder", lease), kDenied);
  EXPECT_EQ(Deliver("another", second), absl::StatusCode::kOk);
}

// A tracker that was restarted knows neither worker nor job. Both are about to come, in any order.
TEST_F(BuildsTest, ARestartedTrackerWaitsForTheWorkerAndItsTuner) {
  Submit({BuildSpec("job")});
  const Lease lease = IdleBuilder("builder");
  for (const bool tuner_is_first : {true, false}) {
    Restart({});
    EXPECT_EQ(Deliver("builder", lease), kNotYet);
    if (tuner_is_first) {
      Submit({BuildSpec("job")}, /*resubmission=*/true);
      EXPECT_EQ(Deliver("builder", lease), kNotYet);
      Executing("builder", lease);
    } else {
      Executing("builder", lease);
      EXPECT_EQ(Deliver("builder", lease), kNotYet) << "nobody has asked for it yet";
      Submit({BuildSpec("job")}, /*resubmission=*/true);
    }
    EXPECT_EQ(Deliver("builder", lease), absl::StatusCode::kOk);
  }
}

// A job that was never submitted to an earlier tracker has no leases but this one's.
TEST_F(BuildsTest, AMadeUpLeaseIsNone) {
  Settle();
  Submit({BuildSpec("job")});
  ASSERT_EQ(IdleBuilder("builder").job_id, "job");
  Executing("liar", {.job_id = "job", .epoch = 7});
  EXPECT_EQ(Deliver("liar", {.job_id = "job", .epoch = 7}), kDenied);
  Executing("liar 2", {.job_id = "nobody's", .epoch = 7});
  EXPECT_EQ(Deliver("liar 2", {.job_id = "nobody's", .epoch = 7}), kNotYet);
}

}  // namespace
}  // namespace burnish
