#include "proto/build_job.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "proto/job.pb.h"

namespace burnish {
namespace {

constexpr int kHashBytes = 32;

absl::Status CheckHash(absl::string_view what, const std::string& hash) {
  if (hash.size() == kHashBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("%s of %d bytes, want 32", what, hash.size()));
}

}  // namespace

std::string Encode(const BuildJob& job) {
  v1::BuildJob message;
  message.set_candidate_id(job.candidate_id);
  message.set_workload(job.workload);
  message.set_target(job.target);
  message.set_contract(job.contract);
  message.set_trace(job.trace);
  message.set_codegen_epoch(job.codegen_epoch);
  message.set_timeout_ns(absl::ToInt64Nanoseconds(job.timeout));
  return message.SerializeAsString();
}

std::string Encode(const BuildResult& result) {
  v1::BuildResult message;
  message.set_candidate_id(result.candidate_id);
  if (const auto* built = std::get_if<BuiltArtifact>(&result.outcome)) {
    // Build facts travel as they do within a measurement.
    Measurement measurement;
    measurement.build = built->build;
    v1::Measurement facts = ToProto(measurement);
    message.mutable_built()->mutable_build()->Swap(facts.mutable_build());
    *message.mutable_built()->mutable_numerics() = ToProto(built->numerics);
    message.mutable_built()->set_contract(built->contract);
  } else {
    *message.mutable_failure() = ToProto(std::get<Failure>(result.outcome));
  }
  return message.SerializeAsString();
}

absl::StatusOr<BuildJob> DecodeBuildJob(absl::string_view bytes) {
  v1::BuildJob message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("got bytes that are no build job");
  }
  RETURN_IF_ERROR(CheckHash("build job: got candidate_id", message.candidate_id()));
  const int64_t timeout_max_ns = absl::ToInt64Nanoseconds(BuildJob::kTimeoutMax);
  if (message.timeout_ns() <= 0 || message.timeout_ns() > timeout_max_ns) {
    return absl::InvalidArgumentError(absl::StrFormat("build job: got timeout_ns=%d, want 1 to %d",
                                                      message.timeout_ns(), timeout_max_ns));
  }
  return BuildJob{
      .candidate_id = message.candidate_id(),
      .workload = message.workload(),
      .target = message.target(),
      .contract = message.contract(),
      .trace = message.trace(),
      .codegen_epoch = message.codegen_epoch(),
      .timeout = absl::Nanoseconds(message.timeout_ns()),
  };
}

absl::StatusOr<BuildResult> DecodeBuildResult(absl::string_view bytes) {
  v1::BuildResult message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("got bytes that are no build result");
  }
  RETURN_IF_ERROR(CheckHash("build result: got candidate_id", message.candidate_id()));
  BuildResult result{.candidate_id = message.candidate_id()};
  if (message.has_built()) {
    v1::Measurement facts;
    facts.mutable_failure()->set_kind(v1::Failure::BUILD_ERROR);  // A measurement has an outcome.
    facts.mutable_build()->Swap(message.mutable_built()->mutable_build());
    ASSIGN_OR_RETURN(Measurement measurement, FromProto(facts));
    RETURN_IF_ERROR(
        CheckHash("build result: got artifact_sha256", measurement.build.artifact_sha256));
    if (message.built().contract().size() > BuiltArtifact::kContractBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrFormat("build result: got a contract of %d bytes, want at most %d",
                          message.built().contract().size(), BuiltArtifact::kContractBytesMax));
    }
    result.outcome = BuiltArtifact{.build = std::move(measurement.build),
                                   .numerics = FromProto(message.built().numerics()),
                                   .contract = message.built().contract()};
  } else if (message.has_failure()) {
    ASSIGN_OR_RETURN(result.outcome, FromProto(message.failure()));
  } else {
    return absl::InvalidArgumentError("build result: got no outcome, want one");
  }
  return result;
}

}  // namespace burnish
