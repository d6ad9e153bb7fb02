#include "tuner/measure/result_check.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

constexpr int64_t kHourNs = 3'600'000'000'000;
constexpr int64_t kDayNs = 24 * kHourNs;
constexpr int64_t kTebibyte = int64_t{1} << 40;

// One row a number: what it may be, and why. `low` and `high` are both allowed.
template <typename Owner>
struct NumberBound {
  const char* name;
  int64_t (*value)(const Owner&);
  int64_t low, high;
  const char* unit;
  const char* reason;
};

constexpr NumberBound<ProcessLatencies> kProcessBounds[] = {
    {"inner_count", [](const ProcessLatencies& p) -> int64_t { return p.inner_count; }, 1,
     1'000'000'000, "calls", "a repeat lasts milliseconds, a call not under a nanosecond"},
    {"warm_up_count", [](const ProcessLatencies& p) -> int64_t { return p.warm_up_count; }, 0,
     2'000'000'000, "calls", "as inner_count, over a warm-up of a second"},
    {"reference_before_ns", [](const ProcessLatencies& p) { return p.reference_before_ns; }, 0,
     kHourNs, "ns", "as a latency; 0: not taken"},
    {"reference_after_ns", [](const ProcessLatencies& p) { return p.reference_after_ns; }, 0,
     kHourNs, "ns", "as a latency; 0: not taken"},
    {"probe_before_ns", [](const ProcessLatencies& p) { return p.probe_before_ns; }, 0, kHourNs,
     "ns", "as a latency; 0: not taken"},
    {"probe_after_ns", [](const ProcessLatencies& p) { return p.probe_after_ns; }, 0, kHourNs, "ns",
     "as a latency; 0: not taken"},
    {"steal_ns", [](const ProcessLatencies& p) { return p.steal_ns; }, 0, 4096 * kHourNs, "ns",
     "4096 CPUs within an hour"},
    {"throttle_count", [](const ProcessLatencies& p) { return p.throttle_count; }, 0,
     1'000'000'000'000, "events",
     "counted, so not negative; above it no counter counts in an hour"},
    {"involuntary_switch_count",
     [](const ProcessLatencies& p) { return p.involuntary_switch_count; }, 0, 1'000'000'000'000,
     "events", "counted, so not negative; above it no counter counts in an hour"},
    {"page_fault_count", [](const ProcessLatencies& p) { return p.page_fault_count; }, 0,
     1'000'000'000'000, "events",
     "counted, so not negative; above it no counter counts in an hour"},
    {"huge_page_bytes", [](const ProcessLatencies& p) { return p.huge_page_bytes; }, 0,
     64 * kTebibyte, "bytes", "no host has more memory"},
};

constexpr NumberBound<Environment> kEnvironmentBounds[] = {
    {"arena_bytes", [](const Environment& e) { return e.arena_bytes; }, 0, kTebibyte, "bytes",
     "twice the largest last cache, and far more"},
    {"vector_bytes", [](const Environment& e) -> int64_t { return e.vector_bytes; }, 0, 256,
     "bytes", "the widest registers that an architecture allows"},
};

constexpr NumberBound<Effort> kEffortBounds[] = {
    {"check_ns", [](const Effort& e) { return e.check_ns; }, 0, kDayNs, "ns",
     "a job's lease is an hour at most"},
    {"wait_ns", [](const Effort& e) { return e.wait_ns; }, 0, kDayNs, "ns",
     "a job's lease is an hour at most"},
    {"run_ns", [](const Effort& e) { return e.run_ns; }, 0, kDayNs, "ns",
     "a job's lease is an hour at most"},
};

constexpr NumberBound<BuildFacts> kBuildBounds[] = {
    {"spill_count", [](const BuildFacts& b) -> int64_t { return b.spill_count; }, 0, 1'000'000'000,
     "spills", "counted in code, which is at most 64 MiB"},
    {"code_bytes", [](const BuildFacts& b) { return b.code_bytes; }, 0, 64 << 20, "bytes",
     "an artifact has at most 64 MiB"},
    {"scratch_bytes", [](const BuildFacts& b) { return b.scratch_bytes; }, 0, 64 * kTebibyte,
     "bytes", "no host has more memory"},
    {"packed_bytes", [](const BuildFacts& b) { return b.packed_bytes; }, 0, 64 * kTebibyte, "bytes",
     "no host has more memory"},
    {"build_ns", [](const BuildFacts& b) { return b.build_ns; }, 0, kDayNs, "ns",
     "a job's lease is an hour at most"},
};

template <typename Owner>
struct TextBound {
  const char* name;
  std::string Owner::* text;
  size_t bytes_max;
};

// Stored with every measurement, and shown to people. What the kernel and CPUs say is shorter than
// half of these.
constexpr TextBound<Environment> kEnvironmentTexts[] = {
    {"cpu_model", &Environment::cpu_model, 256},
    {"microcode", &Environment::microcode, 64},
    {"hypervisor", &Environment::hypervisor, 64},
    {"kernel_release", &Environment::kernel_release, 256},
    {"device", &Environment::device, 256},
    {"host", &Environment::host, 256},
    {"worker", &Environment::worker, 128},
    {"distribution", &Environment::distribution, 64},
};

constexpr TextBound<BuildFacts> kBuildTexts[] = {{"llvm_version", &BuildFacts::llvm_version, 128}};

// A CPU's number; Linux has at most 8192 of them.
constexpr int64_t kCpusMax = 8192;
// Of one repeat or pass. A runner's limit for a candidate's child is ten minutes, so that nothing
// honest is near an hour; sums of these over any job stay within 63 bits.
constexpr NumberBound<int64_t> kLatencyBound = {
    "latency_ns", [](const int64_t& ns) { return ns; },     1, kHourNs,
    "ns",         "a runner ends a candidate after minutes"};

absl::Status Refused(absl::string_view what, absl::string_view got, absl::string_view want) {
  return absl::InvalidArgumentError(absl::StrCat("got ", what, " ", got, ", want ", want));
}

template <typename Owner>
absl::Status CheckNumber(const NumberBound<Owner>& bound, const Owner& owner) {
  const int64_t value = bound.value(owner);
  if (value >= bound.low && value <= bound.high) return absl::OkStatus();
  return Refused(bound.name, absl::StrCat(value, " ", bound.unit),
                 absl::StrCat(bound.low, " to ", bound.high, " (", bound.reason, ")"));
}

template <typename Owner, size_t count>
absl::Status CheckNumbers(const NumberBound<Owner> (&bounds)[count], const Owner& owner) {
  for (const NumberBound<Owner>& bound : bounds) RETURN_IF_ERROR(CheckNumber(bound, owner));
  return absl::OkStatus();
}

template <typename Owner, size_t count>
absl::Status CheckTexts(const TextBound<Owner> (&bounds)[count], const Owner& owner) {
  for (const TextBound<Owner>& bound : bounds) {
    if ((owner.*bound.text).size() <= bound.bytes_max) continue;
    return Refused(bound.name, absl::StrCat("of ", (owner.*bound.text).size(), " bytes"),
                   absl::StrCat("at most ", bound.bytes_max));
  }
  return absl::OkStatus();
}

absl::Status CheckCpus(absl::string_view name, const std::vector<int32_t>& cpus) {
  if (cpus.size() > kCpusMax) {
    return Refused(name, absl::StrCat("of ", cpus.size()), absl::StrCat("at most ", kCpusMax));
  }
  for (const int32_t cpu : cpus) {
    if (cpu >= 0 && cpu < kCpusMax) continue;
    return Refused(name, absl::StrCat("with CPU ", cpu), absl::StrCat("0 to ", kCpusMax - 1));
  }
  return absl::OkStatus();
}

absl::Status CheckLatencies(const Latencies& latencies, const RunClaim& claim) {
  const auto process_count = static_cast<int64_t>(latencies.processes.size());
  if (process_count < 1 || process_count > claim.process_count) {
    return Refused("latencies of", absl::StrCat(process_count, " processes"),
                   absl::StrCat("1 to ", claim.process_count));
  }
  for (const ProcessLatencies& process : latencies.processes) {
    const auto count = static_cast<int64_t>(process.latency_ns.size());
    if (count < 1 || count > claim.latency_count) {
      return Refused("a process of", absl::StrCat(count, " latencies"),
                     absl::StrCat("1 to ", claim.latency_count));
    }
    for (const int64_t& ns : process.latency_ns) RETURN_IF_ERROR(CheckNumber(kLatencyBound, ns));
    RETURN_IF_ERROR(CheckNumbers(kProcessBounds, process));
  }
  return absl::OkStatus();
}

absl::Status CheckEnvironment(const Environment& environment, const RunClaim& claim) {
  RETURN_IF_ERROR(CheckNumbers(kEnvironmentBounds, environment));
  RETURN_IF_ERROR(CheckTexts(kEnvironmentTexts, environment));
  RETURN_IF_ERROR(CheckCpus("cpus", environment.cpus));
  RETURN_IF_ERROR(CheckCpus("siblings", environment.siblings));
  // A worker speaks for itself. Under another's name it would have that one paused.
  if (!environment.worker.empty() && !claim.worker_id.empty() &&
      environment.worker != claim.worker_id) {
    return Refused("worker", environment.worker, claim.worker_id);
  }
  // Times of different modes, methods, threads or inputs do not compare.
  if (environment.mode != MeasureMode::kUnknown && environment.mode != claim.mode) {
    return Refused("mode", absl::StrCat(static_cast<int>(environment.mode)),
                   absl::StrCat(static_cast<int>(claim.mode)));
  }
  if (environment.method_version != 0 && environment.method_version != claim.method_version) {
    return Refused("method_version", absl::StrCat(environment.method_version),
                   absl::StrCat(claim.method_version));
  }
  if (environment.threads != 0 && environment.threads != claim.threads) {
    return Refused("threads", absl::StrCat(environment.threads), absl::StrCat(claim.threads));
  }
  if (environment.seed != 0 && environment.seed != claim.seed) {
    return Refused("seed", absl::StrCat(environment.seed), absl::StrCat(claim.seed));
  }
  return absl::OkStatus();
}

absl::Status CheckNumerics(const Numerics& numerics, const RunClaim& claim) {
  // The class decides which accuracy limits a candidate passes. The builder knows it from the
  // trace; a runner repeats it or leaves it open.
  const Numerics& built = claim.numerics;
  const bool is_open = numerics.kind == NumericsClass::kUnknown;
  if (!is_open && (numerics.kind != built.kind || numerics.algorithm != built.algorithm ||
                   numerics.parameter != built.parameter)) {
    return Refused("numerics", absl::StrCat("of class ", static_cast<int>(numerics.kind)),
                   absl::StrCat("the built one's, ", static_cast<int>(built.kind)));
  }
  // Infinite is allowed: outputs that hold a NaN have that error.
  if (numerics.error >= 0 || numerics.error == Numerics::kErrorNotMeasured) return absl::OkStatus();
  return Refused("numerics.error", absl::StrCat(numerics.error), ">= 0, or -1 for not measured");
}

absl::Status CheckFailure(const Failure& failure) {
  if (failure.message.size() > Failure::kMessageBytesMax) {
    return Refused("a failure's message of", absl::StrCat(failure.message.size(), " bytes"),
                   absl::StrCat("at most ", Failure::kMessageBytesMax));
  }
  // No default: a new kind needs an answer here.
  switch (failure.kind) {
    case FailureKind::kBuildError:
    case FailureKind::kBuildTimeout:
    case FailureKind::kRunError:
    case FailureKind::kRunTimeout:
    case FailureKind::kCrashed:
    case FailureKind::kWrongResult:
    case FailureKind::kOutOfMemory:
    case FailureKind::kDeviceError:
      return absl::OkStatus();
    // Tracker and tuner count losses and cancel; a worker meets a candidate once. By these words it
    // could condemn a candidate, stop a study, or have a trial done again for nothing.
    case FailureKind::kWorkerLost:
    case FailureKind::kCancelled:
    case FailureKind::kPoisoned:
    case FailureKind::kParked:
      break;
  }
  return Refused("failure", FailureKindName(failure.kind), "what one worker can see");
}

absl::Status CheckCandidateId(absl::string_view got, absl::string_view want) {
  if (got == want) return absl::OkStatus();
  return absl::InvalidArgumentError("got another candidate's result");
}

}  // namespace

absl::Status CheckRunResult(const Measurement& measurement, const RunClaim& claim) {
  RETURN_IF_ERROR(CheckCandidateId(measurement.candidate_id, claim.candidate_id));
  RETURN_IF_ERROR(CheckEnvironment(measurement.environment, claim));
  RETURN_IF_ERROR(CheckNumbers(kEffortBounds, measurement.effort));
  // The tuner alone judges inside a model; a factor would scale the record's rank.
  if (measurement.network_factor != 0) {
    return Refused("network_factor", absl::StrCat(measurement.network_factor), "none");
  }
  // Whose word a time is, the tracker knows.
  if (!measurement.worker_address.empty() || measurement.unconfirmed) {
    return Refused("worker_address or unconfirmed", "a worker's word", "the tracker's");
  }
  if (const Failure* failure = measurement.failure()) return CheckFailure(*failure);
  RETURN_IF_ERROR(CheckNumerics(measurement.numerics, claim));
  return CheckLatencies(*measurement.latencies(), claim);
}

absl::Status CheckBuildResult(const BuildResult& result, absl::string_view candidate_id,
                              int32_t codegen_epoch) {
  RETURN_IF_ERROR(CheckCandidateId(result.candidate_id, candidate_id));
  if (const Failure* failure = std::get_if<Failure>(&result.outcome)) return CheckFailure(*failure);
  const BuiltArtifact& built = std::get<BuiltArtifact>(result.outcome);
  RETURN_IF_ERROR(CheckNumbers(kBuildBounds, built.build));
  RETURN_IF_ERROR(CheckTexts(kBuildTexts, built.build));
  // A candidate's id names the epoch. Code of another one would be measured under its name.
  if (built.build.codegen_epoch != codegen_epoch) {
    return Refused("codegen_epoch", absl::StrCat(built.build.codegen_epoch),
                   absl::StrCat(codegen_epoch));
  }
  if (built.numerics.parameter < 0 || built.numerics.parameter >= kAlgorithmParameterLimit) {
    return Refused("numerics.parameter", absl::StrCat(built.numerics.parameter),
                   absl::StrCat("0 to ", kAlgorithmParameterLimit - 1));
  }
  return absl::OkStatus();
}

Failure MalformedResult(absl::string_view worker_id, const absl::Status& status) {
  return {FailureKind::kWorkerLost,
          absl::StrCat("worker ", worker_id, " sent a result that cannot be: ", status.message())};
}

}  // namespace burnish
