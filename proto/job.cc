#include "proto/job.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "proto/tracker.pb.h"

namespace burnish {
namespace {

constexpr int kLabelsMax = 32;
constexpr int kHashBytes = 32;

absl::Status CheckText(absl::string_view name, absl::string_view text) {
  if (text.size() <= JobSpec::kTextBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("job: got %s of %d bytes, want at most %d",
                                                    name, text.size(), JobSpec::kTextBytesMax));
}

absl::Status CheckSpec(const v1::JobSpec& message) {
  if (message.id().empty() || message.id().size() > JobSpec::kIdBytesMax) {
    return absl::InvalidArgumentError(absl::StrFormat("job: got an id of %d bytes, want 1 to %d",
                                                      message.id().size(), JobSpec::kIdBytesMax));
  }
  if (message.kind() != v1::BUILD && message.kind() != v1::RUN) {
    return absl::InvalidArgumentError(absl::StrFormat("job: got kind=%d, want BUILD or RUN, for %s",
                                                      message.kind(), message.id()));
  }
  if (message.cost() < 1 || message.cost() > JobSpec::kCostMax) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "job: got cost=%d, want 1 to %d, for %s", message.cost(), JobSpec::kCostMax, message.id()));
  }
  if (message.payload().size() > JobSpec::kPayloadBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrFormat("job: got a payload of %d bytes, want at most %d, for %s",
                        message.payload().size(), JobSpec::kPayloadBytesMax, message.id()));
  }
  if (message.timeout_ns() < 0) {
    return absl::InvalidArgumentError(absl::StrFormat("job: got timeout_ns=%d, want >= 0, for %s",
                                                      message.timeout_ns(), message.id()));
  }
  if (message.labels_size() > kLabelsMax) {
    return absl::InvalidArgumentError(absl::StrFormat("job: got %d labels, want at most %d, for %s",
                                                      message.labels_size(), kLabelsMax,
                                                      message.id()));
  }
  if (message.avoid_workers_size() > JobSpec::kAvoidedMax) {
    return absl::InvalidArgumentError(
        absl::StrFormat("job: got %d workers to avoid, want at most %d, for %s",
                        message.avoid_workers_size(), JobSpec::kAvoidedMax, message.id()));
  }
  for (const std::string& worker : message.avoid_workers()) {
    RETURN_IF_ERROR(CheckText("a worker to avoid", worker));
  }
  RETURN_IF_ERROR(CheckText("device_key", message.device_key()));
  RETURN_IF_ERROR(CheckText("study", message.study()));
  for (const auto& [name, value] : message.labels()) {
    RETURN_IF_ERROR(CheckText("label", name));
    RETURN_IF_ERROR(CheckText("label value", value));
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view JobKindName(JobKind kind) { return kind == JobKind::kBuild ? "build" : "run"; }

v1::JobSpec ToProto(const JobSpec& job) {
  v1::JobSpec message;
  message.set_id(job.id);
  message.set_kind(static_cast<v1::JobKind>(job.kind));
  message.set_device_key(job.device_key);
  message.mutable_labels()->insert(job.labels.begin(), job.labels.end());
  message.set_study(job.study);
  message.set_priority(job.priority);
  message.set_cost(job.cost);
  message.set_timeout_ns(absl::ToInt64Nanoseconds(job.timeout));
  message.set_payload(job.payload);
  message.mutable_avoid_workers()->Add(job.avoid_workers.begin(), job.avoid_workers.end());
  return message;
}

absl::StatusOr<JobSpec> FromProto(const v1::JobSpec& message) {
  RETURN_IF_ERROR(CheckSpec(message));
  return JobSpec{
      .id = message.id(),
      .kind = static_cast<JobKind>(message.kind()),
      .device_key = message.device_key(),
      .labels = {message.labels().begin(), message.labels().end()},
      .study = message.study(),
      .priority = message.priority(),
      .cost = message.cost(),
      .timeout = absl::Nanoseconds(message.timeout_ns()),
      .payload = message.payload(),
      .avoid_workers = {message.avoid_workers().begin(), message.avoid_workers().end()},
  };
}

v1::JobOutcome ToProto(const JobOutcome& outcome) {
  v1::JobOutcome message;
  if (const auto* payload = std::get_if<std::string>(&outcome)) {
    message.set_payload(*payload);
  } else if (const auto* failure = std::get_if<Failure>(&outcome)) {
    *message.mutable_failure() = ToProto(*failure);
  } else if (const auto* missing = std::get_if<ArtifactMissing>(&outcome)) {
    for (const std::string& sha256 : missing->sha256) {
      message.mutable_artifact_missing()->add_sha256(sha256);
    }
  } else {
    // Through Failure, which cuts the text and makes it valid UTF-8.
    const auto& fault = std::get<WorkerFault>(outcome);
    message.set_worker_fault(ToProto(Failure{.message = fault.message}).message());
    message.set_interrupted(fault.interrupted);
    message.set_refused(fault.refused);
  }
  return message;
}

absl::StatusOr<JobOutcome> FromProto(const v1::JobOutcome& message) {
  switch (message.outcome_case()) {
    case v1::JobOutcome::kPayload:
      if (message.payload().size() > JobSpec::kPayloadBytesMax) {
        return absl::InvalidArgumentError(
            absl::StrFormat("outcome: got a payload of %d bytes, want at most %d",
                            message.payload().size(), JobSpec::kPayloadBytesMax));
      }
      return JobOutcome(message.payload());
    case v1::JobOutcome::kFailure: {
      ASSIGN_OR_RETURN(Failure failure, FromProto(message.failure()));
      return JobOutcome(std::move(failure));
    }
    case v1::JobOutcome::kArtifactMissing: {
      ArtifactMissing missing{.sha256 = {message.artifact_missing().sha256().begin(),
                                         message.artifact_missing().sha256().end()}};
      if (missing.sha256.empty() || missing.sha256.size() > ArtifactMissing::kCountMax) {
        return absl::InvalidArgumentError(
            absl::StrFormat("outcome: got %d missing artifacts, want 1 to %d",
                            missing.sha256.size(), ArtifactMissing::kCountMax));
      }
      for (const std::string& sha256 : missing.sha256) {
        if (sha256.size() == kHashBytes) continue;
        return absl::InvalidArgumentError(
            absl::StrFormat("outcome: got a hash of %d bytes, want 32", sha256.size()));
      }
      return JobOutcome(std::move(missing));
    }
    case v1::JobOutcome::kWorkerFault:
      // Cut as a Failure's text is: each loss of a job keeps one.
      return JobOutcome(
          WorkerFault{.message = ToProto(Failure{.message = message.worker_fault()}).message(),
                      .interrupted = message.interrupted(),
                      .refused = message.refused()});
    case v1::JobOutcome::OUTCOME_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("outcome: got none, want one");
}

}  // namespace burnish
