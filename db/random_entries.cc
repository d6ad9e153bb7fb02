#include "db/random_entries.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/numerics.h"

namespace burnish {
namespace {

int Index(Rng& rng, int count) { return static_cast<int>(rng.Below(count)); }

// 32 bytes that depend on `value` only.
std::string HashOf(absl::string_view kind, uint64_t value) {
  return Sha256Bytes(absl::StrCat(kind, value));
}

std::string RandomTrace(Rng& rng, const RandomEntryOptions& options, int sketch) {
  std::string trace = "fuse@1 (Y.n,Y.y,Y.x)->m\n";
  for (int i = 0; i < sketch; ++i) absl::StrAppend(&trace, "unroll@1 l", i, "\n");
  for (int i = 0; i < 4; ++i) {
    const uint64_t size = uint64_t{1} << rng.Below(options.decision_count);
    absl::StrAppend(&trace, "split@1 m", i, "->(a", i, ",m", i + 1, ") size=", size, "\n");
  }
  absl::StrAppend(&trace, "vectorize@1 m4 by=8\nparallel@1 a0\n");
  return trace;
}

Measurement RandomMeasurement(Rng& rng, const RandomEntryOptions& options) {
  Measurement measurement;
  measurement.build = {.llvm_version = "19.1.7",
                       .codegen_epoch = 1,
                       .artifact_sha256 = HashOf("artifact", rng.Next()),
                       .lowered_sha256 = HashOf("lowered", rng.Below(500)),
                       .code_sha256 = HashOf("code", rng.Below(500)),
                       .code_bytes = rng.Between(100, 10000),
                       .scratch_bytes = rng.Between(0, 4) * 1024};
  measurement.environment = {.mode = MeasureMode::kIsolated,
                             .cold_policy = ColdPolicy::kRotatedArena,
                             .arena_bytes = 1 << 26,
                             .threads = 2,
                             .cpus = {0, 1},
                             .flush_denormals = true,
                             .vector_bytes = 32,
                             .cpu_model = "AMD EPYC 7B13 64-Core Processor",
                             .microcode = "0xa001173",
                             .hypervisor = "KVMKVMKVM",
                             .kernel_release = "6.1.0-18-amd64",
                             .device = "cpu:0-1",
                             .host = absl::StrCat("host", rng.Below(3)),
                             .worker = "worker-1",
                             .seed = 7,
                             .distribution = "normal",
                             .method_version = static_cast<int32_t>(1 + rng.Below(2))};
  measurement.numerics = {
      .kind = static_cast<NumericsClass>(1 + rng.Below(4)),
      .error = rng.Below(4) == 0 ? Numerics::kErrorNotMeasured : rng.Uniform() * 2e-4};
  if (measurement.numerics.kind == NumericsClass::kAlgorithm) {
    // The only one that every schema version can hold.
    measurement.numerics.algorithm = kUnnamedAlgorithm;
    measurement.numerics.parameter = 4;
  }
  if (rng.Uniform() < options.failure_share) {
    constexpr std::array kKinds = {FailureKind::kBuildError, FailureKind::kCrashed,
                                   FailureKind::kWrongResult, FailureKind::kOutOfMemory};
    measurement.outcome = Failure{.kind = kKinds[rng.Below(kKinds.size())], .message = "made up"};
    return measurement;
  }
  Latencies latencies;
  for (uint64_t processes = 1 + rng.Below(2); processes > 0; --processes) {
    ProcessLatencies process = {.inner_count = 10,
                                .warm_up_count = 3,
                                .reference_before_ns = 500000,
                                .reference_after_ns = 501000,
                                .probe_before_ns = 1000,
                                .probe_after_ns = 1001};
    const int64_t base_ns = rng.Between(100000, 2000000);
    for (int i = 0; i < 5; ++i) process.latency_ns.push_back(base_ns + rng.Between(0, 9999));
    latencies.processes.push_back(process);
  }
  measurement.outcome = latencies;
  return measurement;
}

}  // namespace

Workload RandomEntryWorkload(int index) {
  const std::string anchor = absl::StrCat("block Y(n,h,w,o;c) step += X*W shape ", index / 2);
  const absl::StatusOr<Workload> workload =
      MakeWorkload(absl::StrCat(anchor, index % 2 == 0 ? "" : " finish max(.,0)"), anchor);
  CHECK_OK(workload);
  return *workload;
}

Target RandomEntryTarget(int index) {
  // Haswell and Broadwell differ in name only, the threads of the others in everything.
  const absl::StatusOr<Target> target =
      ParseTarget(index == 0   ? std::string("cpu:arch=haswell,threads=2")
                  : index == 1 ? std::string("cpu:arch=broadwell,threads=2")
                               : absl::StrCat("cpu:arch=znver3,threads=", index));
  CHECK_OK(target);
  return *target;
}

MeasurementEntry RandomEntry(Rng& rng, const RandomEntryOptions& options) {
  MeasurementEntry entry = {
      .study_id = absl::StrCat("study-", rng.Below(2)),
      .trial_id = absl::StrCat("study/", rng.Below(options.trial_count)),
      .purpose = options.only_trials ? Purpose::kTrial : static_cast<Purpose>(1 + rng.Below(4)),
      .recorded_ns = rng.Between(1, 1000000),
      .candidate = {.workload = RandomEntryWorkload(Index(rng, options.workload_count)),
                    .target = RandomEntryTarget(Index(rng, options.target_count)),
                    .contract = absl::StrCat("nhwc border=", rng.Below(options.contract_count)),
                    .trace = RandomTrace(rng, options, Index(rng, options.sketch_count)),
                    .codegen_epoch = static_cast<int32_t>(1 + rng.Below(2))},
      .measurement = RandomMeasurement(rng, options),
  };
  if (entry.purpose != Purpose::kTrial) entry.number = Index(rng, 3);
  if (entry.purpose == Purpose::kRefine && entry.measurement.latencies() != nullptr) {
    entry.measurement.network_factor = 0.9 + 0.2 * rng.Uniform();
  }
  entry.measurement.candidate_id = entry.candidate.Id();
  return entry;
}

}  // namespace burnish
