#include "proto/run_job.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "proto/job.pb.h"

namespace burnish {
namespace {

constexpr int kHashBytes = 32;

absl::Status CheckHash(absl::string_view name, const std::string& hash, bool may_be_empty) {
  if (hash.size() == kHashBytes || (may_be_empty && hash.empty())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("run job: got %s of %d bytes, want 32", name, hash.size()));
}

void MethodToProto(const MeasureMethod& method, v1::MeasureMethod* message) {
  message->set_version(method.version);
  message->set_process_count(method.process_count);
  message->set_repeat_count_min(method.repeat_count_min);
  message->set_repeat_count_max(method.repeat_count_max);
  message->set_repeat_duration_ns_min(absl::ToInt64Nanoseconds(method.repeat_duration_min));
  message->set_warm_up_ns_min(absl::ToInt64Nanoseconds(method.warm_up_min));
  message->set_early_stop_ratio(method.early_stop_ratio);
  message->set_cold_policy(static_cast<v1::Environment::ColdPolicy>(method.cold_policy));
  message->set_arena_bytes(method.arena_bytes);
  message->set_timeout_ns(absl::ToInt64Nanoseconds(method.timeout));
  message->set_distribution(method.distribution);
  message->set_model_constant_bytes(method.model_constant_bytes);
}

absl::Status CheckNumber(absl::string_view name, int64_t number, int64_t max) {
  if (number >= 0 && number <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("run job: got %s=%d, want 0 to %d", name, number, max));
}

// All numbers, before anything is computed or allocated by them.
absl::Status CheckMethod(const v1::MeasureMethod& message) {
  if (message.timeout_ns() <= 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("run job: got timeout_ns=%d, want > 0", message.timeout_ns()));
  }
  const int64_t time_max_ns = absl::ToInt64Nanoseconds(MeasureMethod::kTimeMax);
  RETURN_IF_ERROR(CheckNumber("process_count", message.process_count(), INT32_MAX));
  RETURN_IF_ERROR(CheckNumber("repeat_count_min", message.repeat_count_min(), INT32_MAX));
  RETURN_IF_ERROR(CheckNumber("repeat_count_max", message.repeat_count_max(), INT32_MAX));
  RETURN_IF_ERROR(
      CheckNumber("repeat_duration_ns_min", message.repeat_duration_ns_min(), time_max_ns));
  RETURN_IF_ERROR(CheckNumber("warm_up_ns_min", message.warm_up_ns_min(), time_max_ns));
  RETURN_IF_ERROR(CheckNumber("arena_bytes", message.arena_bytes(), MeasureMethod::kArenaBytesMax));
  RETURN_IF_ERROR(CheckNumber("model_constant_bytes", message.model_constant_bytes(), INT64_MAX));
  // Written so that NaN is refused.
  if (!(message.early_stop_ratio() >= 0 &&
        message.early_stop_ratio() <= MeasureMethod::kEarlyStopRatioMax)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("run job: got early_stop_ratio=%g, want 0 to %g",
                        message.early_stop_ratio(), MeasureMethod::kEarlyStopRatioMax));
  }
  if (!v1::Environment::ColdPolicy_IsValid(message.cold_policy())) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "run job: got cold_policy=%d, which this runner does not know", message.cold_policy()));
  }
  return absl::OkStatus();
}

absl::StatusOr<MeasureMethod> MethodFromProto(const v1::MeasureMethod& message) {
  RETURN_IF_ERROR(CheckMethod(message));
  return MeasureMethod{
      .version = message.version(),
      .process_count = message.process_count(),
      .repeat_count_min = message.repeat_count_min(),
      .repeat_count_max = message.repeat_count_max(),
      .repeat_duration_min = absl::Nanoseconds(message.repeat_duration_ns_min()),
      .warm_up_min = absl::Nanoseconds(message.warm_up_ns_min()),
      .early_stop_ratio = message.early_stop_ratio(),
      .cold_policy = static_cast<ColdPolicy>(message.cold_policy()),
      .arena_bytes = message.arena_bytes(),
      .timeout = absl::Nanoseconds(message.timeout_ns()),
      .distribution = message.distribution(),
      .model_constant_bytes = message.model_constant_bytes(),
  };
}

absl::StatusOr<ModelOrder> OrderFromProto(const v1::ModelOrder& message, int candidate_count) {
  ModelOrder order{.step_count = message.step_count(),
                   .warm_up_pass_count = message.warm_up_pass_count(),
                   .candidates = {message.candidates().begin(), message.candidates().end()}};
  if (order.step_count < 1 || order.candidates.empty() ||
      order.candidates.size() % order.step_count != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("run job: got an order of %d candidates, want whole passes of %d steps",
                        order.candidates.size(), order.step_count));
  }
  if (order.warm_up_pass_count < 0 || order.warm_up_pass_count >= order.pass_count()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "run job: got %d passes of warm-up of %d", order.warm_up_pass_count, order.pass_count()));
  }
  for (const int32_t candidate : order.candidates) {
    if (candidate >= 0 && candidate < candidate_count) continue;
    return absl::InvalidArgumentError(
        absl::StrFormat("run job: got candidate %d in an order of %d", candidate, candidate_count));
  }
  return order;
}

absl::StatusOr<RunCandidate> CandidateFromProto(const v1::RunCandidate& message) {
  RETURN_IF_ERROR(CheckHash("candidate_id", message.candidate_id(), false));
  RETURN_IF_ERROR(CheckHash("artifact_sha256", message.artifact_sha256(), false));
  RETURN_IF_ERROR(
      CheckHash("reference_artifact_sha256", message.reference_artifact_sha256(), true));
  RETURN_IF_ERROR(
      CheckNumber("incumbent_ns", message.incumbent_ns(), RunCandidate::kIncumbentNsMax));
  return RunCandidate{
      .candidate_id = message.candidate_id(),
      .artifact_sha256 = message.artifact_sha256(),
      .workload = message.workload(),
      .contract = message.contract(),
      .reference_artifact_sha256 = message.reference_artifact_sha256(),
      .seed = message.seed(),
      .numerics = FromProto(message.numerics()),
      .incumbent_ns = message.incumbent_ns(),
      .reference_contract = message.reference_contract(),
  };
}

}  // namespace

std::string Encode(const RunJob& job) {
  v1::RunJob message;
  for (const RunCandidate& candidate : job.candidates) {
    v1::RunCandidate* out = message.add_candidates();
    out->set_candidate_id(candidate.candidate_id);
    out->set_artifact_sha256(candidate.artifact_sha256);
    out->set_workload(candidate.workload);
    out->set_contract(candidate.contract);
    out->set_reference_artifact_sha256(candidate.reference_artifact_sha256);
    out->set_seed(candidate.seed);
    *out->mutable_numerics() = ToProto(candidate.numerics);
    out->set_incumbent_ns(candidate.incumbent_ns);
    out->set_reference_contract(candidate.reference_contract);
  }
  MethodToProto(job.method, message.mutable_method());
  message.set_target(job.target);
  message.set_model_sha256(job.model_sha256);
  if (job.model_order.has_value()) {
    v1::ModelOrder* order = message.mutable_model_order();
    order->set_step_count(job.model_order->step_count);
    order->set_warm_up_pass_count(job.model_order->warm_up_pass_count);
    order->mutable_candidates()->Add(job.model_order->candidates.begin(),
                                     job.model_order->candidates.end());
  }
  return message.SerializeAsString();
}

std::string Encode(const RunResult& result) {
  v1::RunResult message;
  for (const Measurement& measurement : result.measurements) {
    *message.add_measurements() = ToProto(measurement);
  }
  return message.SerializeAsString();
}

absl::StatusOr<RunJob> DecodeRunJob(absl::string_view bytes) {
  v1::RunJob message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("got bytes that are no run job");
  }
  if (message.candidates().empty()) {
    return absl::InvalidArgumentError("run job: got no candidate, want at least one");
  }
  if (message.candidates_size() > RunJob::kCandidatesMax) {
    return absl::InvalidArgumentError(absl::StrFormat("run job: got %d candidates, want at most %d",
                                                      message.candidates_size(),
                                                      RunJob::kCandidatesMax));
  }
  RETURN_IF_ERROR(CheckHash("model_sha256", message.model_sha256(), true));
  RunJob job{.target = message.target(), .model_sha256 = message.model_sha256()};
  ASSIGN_OR_RETURN(job.method, MethodFromProto(message.method()));
  for (const v1::RunCandidate& candidate : message.candidates()) {
    ASSIGN_OR_RETURN(RunCandidate parsed, CandidateFromProto(candidate));
    job.candidates.push_back(std::move(parsed));
  }
  if (message.has_model_order()) {
    ASSIGN_OR_RETURN(job.model_order, OrderFromProto(message.model_order(),
                                                     static_cast<int>(job.candidates.size())));
  }
  if (job.model_order.has_value() != (job.method.cold_policy == ColdPolicy::kModelOrder)) {
    return absl::InvalidArgumentError(
        "run job: a model's order and the cold policy MODEL_ORDER need each other");
  }
  return job;
}

absl::StatusOr<RunResult> DecodeRunResult(absl::string_view bytes) {
  v1::RunResult message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("got bytes that are no run result");
  }
  RunResult result;
  for (const v1::Measurement& measurement : message.measurements()) {
    ASSIGN_OR_RETURN(Measurement parsed, FromProto(measurement));
    result.measurements.push_back(std::move(parsed));
  }
  return result;
}

}  // namespace burnish
