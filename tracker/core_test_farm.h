// A TrackerCore with a tuner and workers of one run slot each, for its tests.
#ifndef TRACKER_CORE_TEST_FARM_H_
#define TRACKER_CORE_TEST_FARM_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tracker/tracker_core.h"

namespace burnish {

inline constexpr char kDevice[] = "cpu-znver3";

inline JobSpec RunSpec(const std::string& id, int priority = 0) {
  return {.id = id,
          .kind = JobKind::kRun,
          .device_key = kDevice,
          .study = "study",
          .priority = priority,
          .payload = "payload of " + id};
}

// Time is an argument of every call, so nothing sleeps and a failure replays exactly.
class CoreTestFarm : public ::testing::Test {
 protected:
  CoreTestFarm() { Restart({}); }

  // Another tracker process: it knows nothing of before, and its epochs are higher.
  void Restart(TrackerOptions options) {
    first_epoch_ += 1'000'000;
    options.first_epoch = first_epoch_;
    core_ = std::make_unique<TrackerCore>(options, now_);
  }

  void Advance(absl::Duration duration) {
    now_ += duration;
    core_->Tick(now_);
  }

  int64_t Submit(std::vector<JobSpec> jobs, bool resubmission = false) {
    const absl::StatusOr<int64_t> session =
        core_->Submit(now_, "tuner", std::move(jobs), resubmission);
    EXPECT_THAT(session, IsOk());
    return session.value_or(0);
  }

  std::vector<ResultEntry> Collect(const std::vector<std::string>& acknowledged = {}) {
    return core_->Collect(now_, {.tuner_id = "tuner", .acknowledged = acknowledged}).results;
  }

  // A report of a worker with one run slot.
  WorkerReport Report(const std::string& worker, int64_t incarnation = 1) {
    return {.worker_id = worker,
            .host = "host",
            .incarnation = incarnation,
            .sequence = ++sequence_,
            .slots = {{.info = {.kind = JobKind::kRun,
                                .device_keys = {kDevice},
                                .labels = {{"worker", worker}}}}}};
  }

  SyncReply Send(const WorkerReport& report) {
    absl::StatusOr<SyncReply> reply = core_->Synchronize(now_, report);
    EXPECT_THAT(reply, IsOk());
    // A process that lives echoes the epoch that it is told, as the agent does.
    if (reply.ok() && !reply->admitted) {
      WorkerReport echo = report;
      echo.epoch = reply->orders.epoch;
      echo.sequence = ++sequence_;
      reply = core_->Synchronize(now_, echo);
      EXPECT_THAT(reply, IsOk());
    }
    return reply.ok() ? *std::move(reply) : SyncReply();
  }

  // An idle worker says so. Returns the lease that it gets.
  std::optional<Lease> Idle(const std::string& worker, int64_t incarnation = 1) {
    return Send(Report(worker, incarnation)).orders.slots.at(0).lease;
  }

  SyncReply Executing(const std::string& worker, const Lease& lease) {
    WorkerReport report = Report(worker);
    report.slots[0].executing = lease;
    return Send(report);
  }

  SyncReply Done(const std::string& worker, const Lease& lease, std::optional<JobOutcome> outcome) {
    WorkerReport report = Report(worker);
    report.slots[0].results = {{.lease = lease, .outcome = std::move(outcome)}};
    return Send(report);
  }

  Counters counters() const { return core_->GetStatus(now_).counters; }

  absl::Time now_ = absl::UnixEpoch();
  int64_t sequence_ = 0;
  int64_t first_epoch_ = 1;
  std::unique_ptr<TrackerCore> core_;
};

inline auto Payload(const std::string& text) {
  return ::testing::Field("outcome", &ResultEntry::outcome, JobOutcome(text));
}
inline auto Failed(FailureKind kind, const std::string& text) {
  return ::testing::Field(
      "outcome", &ResultEntry::outcome,
      ::testing::VariantWith<Failure>(::testing::AllOf(
          ::testing::Field("kind", &Failure::kind, kind),
          ::testing::Field("message", &Failure::message, ::testing::HasSubstr(text)))));
}

}  // namespace burnish

#endif  // TRACKER_CORE_TEST_FARM_H_
