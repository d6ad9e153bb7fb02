#include "tracker/tracker_messages.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "proto/tracker.pb.h"

namespace burnish {
namespace {

constexpr int kTunerIdBytesMax = 128;
// Of one message. A bound on foreign input, not tuned.
constexpr int kAcknowledgementsMax = 1 << 16;

absl::Status CheckTunerId(absl::string_view id) {
  if (!id.empty() && id.size() <= kTunerIdBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("got a tuner id of %d bytes, want 1 to %d", id.size(), kTunerIdBytesMax));
}

// What the tracker remembers of them must not be as long as a stranger likes.
absl::Status CheckJobIds(const google::protobuf::RepeatedPtrField<std::string>& ids) {
  if (ids.size() > kAcknowledgementsMax) {
    return absl::InvalidArgumentError(
        absl::StrFormat("got %d job ids, want at most %d", ids.size(), kAcknowledgementsMax));
  }
  for (const std::string& id : ids) {
    if (id.size() <= JobSpec::kIdBytesMax) continue;
    return absl::InvalidArgumentError(absl::StrFormat("got a job id of %d bytes, want at most %d",
                                                      id.size(), JobSpec::kIdBytesMax));
  }
  return absl::OkStatus();
}

void UnmatchedToProto(const UnmatchedQueue& queue, v1::UnmatchedQueue* message) {
  message->set_kind(static_cast<v1::JobKind>(queue.demands.kind));
  message->set_device_key(queue.demands.device_key);
  message->mutable_labels()->insert(queue.demands.labels.begin(), queue.demands.labels.end());
  message->set_job_count(queue.job_count);
  message->set_reason(queue.reason);
}

UnmatchedQueue UnmatchedFromProto(const v1::UnmatchedQueue& message) {
  return {.demands = {.kind = message.kind() == v1::RUN ? JobKind::kRun : JobKind::kBuild,
                      .device_key = message.device_key(),
                      .labels = {message.labels().begin(), message.labels().end()}},
          .job_count = message.job_count(),
          .reason = message.reason()};
}

void SlotToProto(const SlotStatus& slot, v1::SlotStatus* message) {
  *message->mutable_info() = ToProto(slot.info);
  if (slot.executing.has_value()) {
    message->mutable_executing()->set_job_id(slot.executing->job_id);
    message->mutable_executing()->set_epoch(slot.executing->epoch);
  }
  message->set_executing_ns(absl::ToInt64Nanoseconds(slot.executing_for));
  message->set_held_result_count(slot.held_count);
  message->set_done_count(slot.done_count);
  message->set_fault_count(slot.fault_count);
  message->set_paused_ns(absl::ToInt64Nanoseconds(slot.paused_for));
}

}  // namespace

absl::StatusOr<std::vector<JobSpec>> JobsFromProto(const v1::SubmitJobsRequest& message) {
  RETURN_IF_ERROR(CheckTunerId(message.tuner_id()));
  if (message.jobs_size() > kJobsPerSubmitMax) {
    return absl::InvalidArgumentError(
        absl::StrFormat("got %d jobs, want at most %d", message.jobs_size(), kJobsPerSubmitMax));
  }
  std::vector<JobSpec> jobs;
  jobs.reserve(message.jobs_size());
  for (const v1::JobSpec& job : message.jobs()) {
    ASSIGN_OR_RETURN(JobSpec spec, FromProto(job));
    jobs.push_back(std::move(spec));
  }
  return jobs;
}

v1::SubmitJobsRequest ToProto(const std::string& tuner_id, const std::vector<JobSpec>& jobs,
                              bool resubmission) {
  v1::SubmitJobsRequest message;
  message.set_tuner_id(tuner_id);
  message.set_resubmission(resubmission);
  for (const JobSpec& job : jobs) *message.add_jobs() = ToProto(job);
  return message;
}

absl::Status Validate(const v1::CancelJobsRequest& message) {
  RETURN_IF_ERROR(CheckTunerId(message.tuner_id()));
  RETURN_IF_ERROR(CheckJobIds(message.job_ids()));
  if (message.study().size() <= JobSpec::kTextBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "got a study of %d bytes, want at most %d", message.study().size(), JobSpec::kTextBytesMax));
}

absl::StatusOr<CollectRequest> FromProto(const v1::CollectResultsRequest& message) {
  RETURN_IF_ERROR(CheckTunerId(message.tuner_id()));
  RETURN_IF_ERROR(CheckJobIds(message.acknowledged()));
  if (message.unwanted_size() > kAcknowledgementsMax) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "got %d unwanted results, want at most %d", message.unwanted_size(), kAcknowledgementsMax));
  }
  return CollectRequest{
      .tuner_id = message.tuner_id(),
      .acknowledged = {message.acknowledged().begin(), message.acknowledged().end()},
      .unwanted = {message.unwanted().begin(), message.unwanted().end()},
      .seen_number = message.seen_number(),
      .session = message.session()};
}

v1::CollectResultsRequest ToProto(const CollectRequest& request) {
  v1::CollectResultsRequest message;
  message.set_tuner_id(request.tuner_id);
  message.mutable_acknowledged()->Add(request.acknowledged.begin(), request.acknowledged.end());
  message.mutable_unwanted()->Add(request.unwanted.begin(), request.unwanted.end());
  message.set_seen_number(request.seen_number);
  message.set_session(request.session);
  return message;
}

v1::CollectResultsResponse ToProto(const Collected& collected) {
  v1::CollectResultsResponse message;
  message.set_session(collected.session);
  for (const ResultEntry& result : collected.results) {
    v1::JobResult* out = message.add_results();
    out->set_number(result.number);
    out->set_job_id(result.job_id);
    *out->mutable_outcome() = ToProto(result.outcome);
    out->set_worker_id(result.worker_id);
    out->set_worker_address(result.worker_address);
    out->set_attempt_count(result.attempt_count);
  }
  for (const UnmatchedQueue& queue : collected.unmatched) {
    UnmatchedToProto(queue, message.add_unmatched());
  }
  return message;
}

absl::StatusOr<Collected> FromProto(const v1::CollectResultsResponse& message) {
  Collected collected{.session = message.session()};
  for (const v1::JobResult& result : message.results()) {
    ResultEntry& out = collected.results.emplace_back();
    out.number = result.number();
    out.job_id = result.job_id();
    ASSIGN_OR_RETURN(out.outcome, FromProto(result.outcome()));
    out.worker_id = result.worker_id();
    out.worker_address = result.worker_address();
    out.attempt_count = result.attempt_count();
  }
  for (const v1::UnmatchedQueue& queue : message.unmatched()) {
    collected.unmatched.push_back(UnmatchedFromProto(queue));
  }
  return collected;
}

v1::ListWorkersResponse ToProto(const std::vector<WorkerStatus>& workers) {
  v1::ListWorkersResponse message;
  for (const WorkerStatus& worker : workers) {
    v1::WorkerStatus* out = message.add_workers();
    out->set_worker_id(worker.worker_id);
    out->set_host(worker.host);
    out->set_state(static_cast<v1::WorkerStatus::State>(worker.liveness));
    out->set_since_seen_ns(absl::ToInt64Nanoseconds(worker.since_seen));
    for (const SlotStatus& slot : worker.slots) SlotToProto(slot, out->add_slots());
    if (worker.calibration.has_value()) *out->mutable_calibration() = ToProto(*worker.calibration);
    out->mutable_doubted_by()->Add(worker.doubted_by.begin(), worker.doubted_by.end());
  }
  return message;
}

v1::GetStatusResponse ToProto(const TrackerStatus& status) {
  v1::GetStatusResponse message;
  message.set_uptime_ns(absl::ToInt64Nanoseconds(status.uptime));
  message.set_worker_count(status.worker_count);
  message.set_tuner_count(status.tuner_count);
  message.set_queued_count(status.queued_count);
  message.set_leased_count(status.leased_count);
  message.set_unacknowledged_count(status.unacknowledged_count);
  for (const UnmatchedQueue& queue : status.unmatched) {
    UnmatchedToProto(queue, message.add_unmatched());
  }
  const Counters& counters = status.counters;
  auto& out = *message.mutable_counters();
  out["submitted"] = counters.submitted;
  out["resubmitted"] = counters.resubmitted;
  out["refused_full"] = counters.refused_full;
  out["dispatched"] = counters.dispatched;
  out["adopted"] = counters.adopted;
  out["finished"] = counters.finished;
  out["copies"] = counters.copies;
  out["duplicates_dropped"] = counters.duplicates_dropped;
  out["stale_reports"] = counters.stale_reports;
  out["foreign_reports"] = counters.foreign_reports;
  out["workers_lost"] = counters.workers_lost;
  out["leases_lost"] = counters.leases_lost;
  out["worker_faults"] = counters.worker_faults;
  out["interruptions"] = counters.interruptions;
  out["refusals"] = counters.refusals;
  out["timed_out"] = counters.timed_out;
  out["poisoned"] = counters.poisoned;
  out["parked"] = counters.parked;
  out["cancelled"] = counters.cancelled;
  out["acknowledged"] = counters.acknowledged;
  out["tuners_forgotten"] = counters.tuners_forgotten;
  return message;
}

}  // namespace burnish
