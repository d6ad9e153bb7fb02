#include "proto/measurement.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "proto/measurement.pb.h"

namespace burnish {
namespace {

constexpr int kHashBytes = 32;

// At most `bytes_max` bytes of `text`, never in the middle of a UTF-8 character; bytes that are no
// UTF-8 (a compiler's output may hold any) become '?', because proto3 strings must be UTF-8.
std::string Utf8Prefix(absl::string_view text, size_t bytes_max) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const unsigned char lead = text[i];
    const size_t length = lead < 0x80   ? 1
                          : lead < 0xc2 ? 0
                          : lead < 0xe0 ? 2
                          : lead < 0xf0 ? 3
                          : lead < 0xf5 ? 4
                                        : 0;
    bool valid = length > 0 && i + length <= text.size();
    for (size_t k = 1; valid && k < length; ++k) {
      valid = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    }
    if (valid && length == 3) {  // No overlong forms, no surrogates.
      const unsigned char second = text[i + 1];
      valid = !(lead == 0xe0 && second < 0xa0) && !(lead == 0xed && second >= 0xa0);
    } else if (valid && length == 4) {
      const unsigned char second = text[i + 1];
      valid = !(lead == 0xf0 && second < 0x90) && !(lead == 0xf4 && second >= 0x90);
    }
    const absl::string_view piece = valid ? text.substr(i, length) : absl::string_view("?");
    if (out.size() + piece.size() > bytes_max) break;
    absl::StrAppend(&out, piece);
    i += valid ? length : 1;
  }
  return out;
}

std::string Utf8(absl::string_view text) { return Utf8Prefix(text, text.size()); }

absl::Status CheckHash(absl::string_view name, absl::string_view hash) {
  if (hash.empty() || hash.size() == kHashBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("measurement: got %s of %d bytes, want none or 32", name, hash.size()));
}

void ProcessToProto(const ProcessLatencies& process, v1::ProcessLatencies* message) {
  message->mutable_latency_ns()->Add(process.latency_ns.begin(), process.latency_ns.end());
  message->set_inner_count(process.inner_count);
  message->set_warm_up_count(process.warm_up_count);
  message->set_reference_before_ns(process.reference_before_ns);
  message->set_reference_after_ns(process.reference_after_ns);
  message->set_probe_before_ns(process.probe_before_ns);
  message->set_probe_after_ns(process.probe_after_ns);
  message->set_steal_ns(process.steal_ns);
  message->set_throttle_count(process.throttle_count);
  message->set_involuntary_switch_count(process.involuntary_switch_count);
  message->set_page_fault_count(process.page_fault_count);
  message->set_huge_page_bytes(process.huge_page_bytes);
  message->set_stopped_early(process.stopped_early);
}

absl::StatusOr<ProcessLatencies> ProcessFromProto(const v1::ProcessLatencies& message) {
  if (message.latency_ns().empty()) {
    return absl::InvalidArgumentError("measurement: a process without a repeat, want at least one");
  }
  for (const int64_t latency_ns : message.latency_ns()) {
    if (latency_ns <= 0) {
      return absl::InvalidArgumentError(
          absl::StrFormat("measurement: got latency %d ns, want > 0", latency_ns));
    }
  }
  if (message.inner_count() < 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("measurement: got inner_count=%d, want >= 1", message.inner_count()));
  }
  return ProcessLatencies{
      .latency_ns = {message.latency_ns().begin(), message.latency_ns().end()},
      .inner_count = message.inner_count(),
      .warm_up_count = message.warm_up_count(),
      .reference_before_ns = message.reference_before_ns(),
      .reference_after_ns = message.reference_after_ns(),
      .probe_before_ns = message.probe_before_ns(),
      .probe_after_ns = message.probe_after_ns(),
      .steal_ns = message.steal_ns(),
      .throttle_count = message.throttle_count(),
      .involuntary_switch_count = message.involuntary_switch_count(),
      .page_fault_count = message.page_fault_count(),
      .huge_page_bytes = message.huge_page_bytes(),
      .stopped_early = message.stopped_early(),
  };
}

void EnvironmentToProto(const Environment& environment, v1::Environment* message) {
  message->set_mode(static_cast<v1::Environment::Mode>(environment.mode));
  message->set_model_sha256(environment.model_sha256);
  message->set_cold_policy(static_cast<v1::Environment::ColdPolicy>(environment.cold_policy));
  message->set_arena_bytes(environment.arena_bytes);
  message->set_threads(environment.threads);
  message->mutable_cpus()->Add(environment.cpus.begin(), environment.cpus.end());
  message->mutable_siblings()->Add(environment.siblings.begin(), environment.siblings.end());
  message->set_flush_denormals(environment.flush_denormals);
  message->set_vector_bytes(environment.vector_bytes);
  message->set_cpu_model(Utf8(environment.cpu_model));
  message->set_microcode(Utf8(environment.microcode));
  message->set_hypervisor(Utf8(environment.hypervisor));
  message->set_kernel_release(Utf8(environment.kernel_release));
  message->set_device(Utf8(environment.device));
  message->set_host(Utf8(environment.host));
  message->set_worker(Utf8(environment.worker));
  message->set_seed(environment.seed);
  message->set_distribution(Utf8(environment.distribution));
  message->set_method_version(environment.method_version);
}

// A mode of a newer writer is kept as unknown: it must not make old readers refuse a whole row.
absl::StatusOr<Environment> EnvironmentFromProto(const v1::Environment& message) {
  RETURN_IF_ERROR(CheckHash("model_sha256", message.model_sha256()));
  return Environment{
      .mode = v1::Environment::Mode_IsValid(message.mode())
                  ? static_cast<MeasureMode>(message.mode())
                  : MeasureMode::kUnknown,
      .model_sha256 = message.model_sha256(),
      .cold_policy = v1::Environment::ColdPolicy_IsValid(message.cold_policy())
                         ? static_cast<ColdPolicy>(message.cold_policy())
                         : ColdPolicy::kUnknown,
      .arena_bytes = message.arena_bytes(),
      .threads = message.threads(),
      .cpus = {message.cpus().begin(), message.cpus().end()},
      .siblings = {message.siblings().begin(), message.siblings().end()},
      .flush_denormals = message.flush_denormals(),
      .vector_bytes = message.vector_bytes(),
      .cpu_model = message.cpu_model(),
      .microcode = message.microcode(),
      .hypervisor = message.hypervisor(),
      .kernel_release = message.kernel_release(),
      .device = message.device(),
      .host = message.host(),
      .worker = message.worker(),
      .seed = message.seed(),
      .distribution = message.distribution(),
      .method_version = message.method_version(),
  };
}

void BuildToProto(const BuildFacts& build, v1::BuildFacts* message) {
  message->set_llvm_version(Utf8(build.llvm_version));
  message->set_codegen_epoch(build.codegen_epoch);
  message->set_artifact_sha256(build.artifact_sha256);
  message->set_lowered_sha256(build.lowered_sha256);
  message->set_code_sha256(build.code_sha256);
  message->set_spill_count(build.spill_count);
  message->set_code_bytes(build.code_bytes);
  message->set_scratch_bytes(build.scratch_bytes);
  message->set_packed_bytes(build.packed_bytes);
  message->set_build_ns(build.build_ns);
}

absl::StatusOr<BuildFacts> BuildFromProto(const v1::BuildFacts& message) {
  RETURN_IF_ERROR(CheckHash("artifact_sha256", message.artifact_sha256()));
  RETURN_IF_ERROR(CheckHash("lowered_sha256", message.lowered_sha256()));
  RETURN_IF_ERROR(CheckHash("code_sha256", message.code_sha256()));
  return BuildFacts{
      .llvm_version = message.llvm_version(),
      .codegen_epoch = message.codegen_epoch(),
      .artifact_sha256 = message.artifact_sha256(),
      .lowered_sha256 = message.lowered_sha256(),
      .code_sha256 = message.code_sha256(),
      .spill_count = message.spill_count(),
      .code_bytes = message.code_bytes(),
      .scratch_bytes = message.scratch_bytes(),
      .packed_bytes = message.packed_bytes(),
      .build_ns = message.build_ns(),
  };
}

absl::StatusOr<Latencies> LatenciesFromProto(const v1::Latencies& message) {
  if (message.processes().empty()) {
    return absl::InvalidArgumentError("measurement: latencies of no process, want at least one");
  }
  Latencies latencies;
  for (const v1::ProcessLatencies& process : message.processes()) {
    ASSIGN_OR_RETURN(latencies.processes.emplace_back(), ProcessFromProto(process));
  }
  return latencies;
}

}  // namespace

absl::string_view FailureKindName(FailureKind kind) {
  switch (kind) {
    case FailureKind::kBuildError:
      return "build error";
    case FailureKind::kBuildTimeout:
      return "build timeout";
    case FailureKind::kRunError:
      return "run error";
    case FailureKind::kRunTimeout:
      return "run timeout";
    case FailureKind::kCrashed:
      return "crashed";
    case FailureKind::kWrongResult:
      return "wrong result";
    case FailureKind::kOutOfMemory:
      return "out of memory";
    case FailureKind::kDeviceError:
      return "device error";
    case FailureKind::kWorkerLost:
      return "worker lost";
    case FailureKind::kCancelled:
      return "cancelled";
    case FailureKind::kPoisoned:
      return "poisoned";
    case FailureKind::kParked:
      return "parked";
  }
  return "unknown";
}

bool CountsAsTrial(FailureKind kind) {
  return kind != FailureKind::kWorkerLost && kind != FailureKind::kCancelled &&
         kind != FailureKind::kParked;
}

v1::Failure ToProto(const Failure& failure) {
  v1::Failure message;
  message.set_kind(static_cast<v1::Failure::Kind>(failure.kind));
  message.set_message(Utf8Prefix(failure.message, Failure::kMessageBytesMax));
  return message;
}

v1::Numerics ToProto(const Numerics& numerics) {
  v1::Numerics message;
  message.set_kind(static_cast<v1::Numerics::Kind>(numerics.kind));
  message.set_parameter(numerics.parameter);
  message.set_algorithm(numerics.algorithm);
  message.set_error(numerics.error);
  return message;
}

Numerics FromProto(const v1::Numerics& message) {
  Numerics numerics{.parameter = message.parameter(), .error = message.error()};
  if (v1::Numerics::Kind_IsValid(message.kind())) {
    numerics.kind = static_cast<NumericsClass>(message.kind());
  }
  if (numerics.kind != NumericsClass::kAlgorithm) return numerics;
  if (message.algorithm().size() > Numerics::kAlgorithmBytesMax) {
    numerics.kind = NumericsClass::kUnknown;
    return numerics;
  }
  numerics.algorithm = message.algorithm().empty() ? kUnnamedAlgorithm : message.algorithm();
  return numerics;
}

absl::StatusOr<Failure> FromProto(const v1::Failure& message) {
  if (message.kind() < 1 || message.kind() > kFailureKindCount) {
    return absl::InvalidArgumentError(
        absl::StrFormat("failure: got kind %d, want 1..%d", message.kind(), kFailureKindCount));
  }
  return Failure{.kind = static_cast<FailureKind>(message.kind()), .message = message.message()};
}

v1::Measurement ToProto(const Measurement& measurement) {
  v1::Measurement message;
  message.set_candidate_id(measurement.candidate_id);
  if (const Failure* failure = measurement.failure()) {
    *message.mutable_failure() = ToProto(*failure);
  } else {
    v1::Latencies* latencies = message.mutable_latencies();
    for (const ProcessLatencies& process : measurement.latencies()->processes) {
      ProcessToProto(process, latencies->add_processes());
    }
  }
  EnvironmentToProto(measurement.environment, message.mutable_environment());
  BuildToProto(measurement.build, message.mutable_build());
  *message.mutable_numerics() = ToProto(measurement.numerics);
  message.set_network_factor(measurement.network_factor);
  message.set_worker_address(measurement.worker_address);
  message.set_unconfirmed(measurement.unconfirmed);
  if (measurement.effort != Effort()) {
    v1::Effort* effort = message.mutable_effort();
    effort->set_check_ns(measurement.effort.check_ns);
    effort->set_wait_ns(measurement.effort.wait_ns);
    effort->set_run_ns(measurement.effort.run_ns);
  }
  return message;
}

absl::StatusOr<Measurement> FromProto(const v1::Measurement& message) {
  Measurement measurement;
  RETURN_IF_ERROR(CheckHash("candidate_id", message.candidate_id()));
  measurement.candidate_id = message.candidate_id();
  if (message.has_failure()) {
    ASSIGN_OR_RETURN(measurement.outcome, FromProto(message.failure()));
  } else if (message.has_latencies()) {
    ASSIGN_OR_RETURN(measurement.outcome, LatenciesFromProto(message.latencies()));
  } else {
    return absl::InvalidArgumentError("measurement: neither latencies nor a failure");
  }
  ASSIGN_OR_RETURN(measurement.environment, EnvironmentFromProto(message.environment()));
  ASSIGN_OR_RETURN(measurement.build, BuildFromProto(message.build()));
  if (message.has_numerics()) measurement.numerics = FromProto(message.numerics());
  measurement.network_factor = message.network_factor();
  measurement.worker_address = message.worker_address();
  measurement.unconfirmed = message.unconfirmed();
  // A worker that counts backwards has not counted.
  measurement.effort = {.check_ns = std::max<int64_t>(0, message.effort().check_ns()),
                        .wait_ns = std::max<int64_t>(0, message.effort().wait_ns()),
                        .run_ns = std::max<int64_t>(0, message.effort().run_ns())};
  return measurement;
}

}  // namespace burnish
