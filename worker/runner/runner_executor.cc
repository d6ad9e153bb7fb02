#include "worker/runner/runner_executor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/numerics.h"
#include "base/pace_page.h"
#include "base/status_macros.h"
#include "compiler/target/target.h"
#include "worker/runner/measuring_lock.h"

namespace burnish {
namespace {

// Method of version kMethodVersion, for whatever the job leaves open. Five repeats of a
// millisecond: the rank is a low quantile of them, so that one disturbed repeat does no harm. 20 ms
// of warm-up are for the CPU to reach the clock that it keeps under wide vectors. Chosen, not
// tuned; a change needs a new version, since latencies would not compare.
constexpr int kRepeatCountDefault = 5;
// Bounds of what a job may ask for: one job must not hold a farm's CPUs for hours.
constexpr int kRepeatCountMax = 10'000;
constexpr int kProcessCountMax = 16;
constexpr absl::Duration kRepeatDurationDefault = absl::Milliseconds(1);
constexpr absl::Duration kWarmUpDefault = absl::Milliseconds(20);
constexpr absl::Duration kTimeoutMax = absl::Minutes(10);

// Why this worker cannot do the job as it is asked to.
absl::Status CheckMethod(const MeasureMethod& method) {
  // No attempt to imitate: a time under a method's number must be of that method, or records stop
  // comparing.
  if (method.version != RunnerExecutor::kMethodVersion) {
    return absl::UnimplementedError(absl::StrCat("got measuring method ", method.version,
                                                 ", this worker has ",
                                                 RunnerExecutor::kMethodVersion));
  }
  if (!method.distribution.empty() && method.distribution != "normal") {
    return absl::UnimplementedError(
        absl::StrCat("got distribution ", method.distribution, ", this worker has normal"));
  }
  return absl::OkStatus();
}

// More than a sequence takes values from (kernel_sequence.cc), less than anybody waits for.
constexpr int64_t kNetworkArenaBytes = 1 << 20;

absl::Status CheckTarget(const Target& target, const RunDevice& device, const CpuInfo& host) {
  if (target.threads > static_cast<int>(device.cpus.size())) {
    return absl::FailedPreconditionError(absl::StrCat("the target has ", target.threads,
                                                      " threads, device ", device.name, " has ",
                                                      device.cpus.size(), " CPUs"));
  }
  std::vector<std::string> missing;
  // Of the host, not of the target's name: a hypervisor may hide what the named microarchitecture
  // has. An illegal instruction would show as a crash of the candidate and be stored as one.
  for (const std::string& feature : target.features) {
    if (!host.Has(feature)) missing.push_back(feature);
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this host lacks ", absl::StrJoin(missing, ", "), " of the target"));
}

// Of a farm behind a server, whose programs all have it in their environment; empty: it is none.
std::string PacePath() {
  const char* path = std::getenv(kPaceVariable);
  return path == nullptr ? "" : path;
}

TimingSpec TimingOf(const MeasureMethod& method, int64_t incumbent_ns) {
  const auto or_default = [](absl::Duration duration, absl::Duration otherwise) {
    return absl::ToInt64Nanoseconds(duration > absl::ZeroDuration() ? duration : otherwise);
  };
  TimingSpec timing{
      .warm_up_ns = or_default(method.warm_up_min, kWarmUpDefault),
      .repeat_min_ns = or_default(method.repeat_duration_min, kRepeatDurationDefault)};
  timing.repeat_count_min = std::min(
      method.repeat_count_min > 0 ? method.repeat_count_min : kRepeatCountDefault, kRepeatCountMax);
  timing.repeat_count_max =
      std::clamp(method.repeat_count_max, timing.repeat_count_min, kRepeatCountMax);
  if (incumbent_ns > 0) {
    timing.near_ns = static_cast<int64_t>(incumbent_ns * RunnerExecutor::kNearRatio);
    timing.stop_above_ns =
        static_cast<int64_t>(incumbent_ns * std::max(method.early_stop_ratio, 0.0));
  }
  return timing;
}

// Of one candidate: a latency for each timed pass that it takes part in, the mean over its steps.
std::variant<Latencies, Failure> NetworkLatencies(const ModelOrder& order, int candidate,
                                                  const NetworkBenchResult& result) {
  if (const Failure* failure = std::get_if<Failure>(&result.outcome)) return *failure;
  const std::vector<int64_t>& step_ns = std::get<std::vector<int64_t>>(result.outcome);
  const size_t step_count = order.step_count;
  const size_t first = order.warm_up_pass_count * step_count;
  ProcessLatencies process = result.process;
  for (size_t pass = 0; pass < step_ns.size(); pass += step_count) {
    int64_t sum_ns = 0, count = 0;
    for (size_t i = pass; i < pass + step_count; ++i) {
      if (order.candidates[first + i] != candidate) continue;
      sum_ns += step_ns[i];
      ++count;
    }
    if (count == 0) continue;
    // At least 1: a latency of 0 means a failure.
    process.latency_ns.push_back(std::max<int64_t>(1, sum_ns / count));
    process.inner_count = static_cast<int32_t>(count);
  }
  if (process.latency_ns.empty()) {
    return Failure{FailureKind::kRunError, "the order has no timed pass with it"};
  }
  return Latencies{{std::move(process)}};
}

}  // namespace

double ErrorBound(const Numerics& numerics) {
  // Of the tensor error (docs/contracts.md). Kernels round and add in another order than the
  // oracle, which is some 1e-6 in whole models (docs/performance.md); a wrong index or a lost term
  // is far above 1e-4.
  constexpr double kBound = 1e-4;
  switch (numerics.kind) {
    case NumericsClass::kAlgorithm: {
      const Algorithm* algorithm = FindAlgorithm(numerics.algorithm);
      // One that is not known here is held to what sums in another order are held to.
      return algorithm != nullptr ? algorithm->difference_max(numerics.parameter) : kBound;
    }
    // Room for bf16 and int8, which nothing builds yet; a guess.
    case NumericsClass::kLowPrecision:
      return 5e-2;
    default:
      return kBound;
  }
}

RunnerExecutor::RunnerExecutor(RunnerExecutorOptions options)
    : options_(std::move(options)),
      host_environment_(HostEnvironment(options_.host_cpu)),
      bench_(BenchOptions()) {
  CHECK(options_.artifacts != nullptr);
  thread_ = std::thread([this] { Loop(); });
}

RunBenchOptions RunnerExecutor::BenchOptions() {
  RunBenchOptions bench = options_.bench;
  bench.on_waiting = [this](bool waiting) {
    if (tell_waiting_ != nullptr) tell_waiting_(waiting);
  };
  return bench;
}

void RunnerExecutor::TellWaiting(std::function<void(bool)> tell) {
  tell_waiting_ = std::move(tell);
}

RunnerExecutor::~RunnerExecutor() {
  bench_.Cancel();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RunnerExecutor::Start(const JobSpec& job, const Lease& lease, Done done) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    CHECK(!next_.has_value() && !executing_) << "one job at a time";
    // With the lock held, and not in Loop: a Cancel that comes right after Start must find what it
    // cancels.
    bench_.Reset();
    next_ = Execution{.payload = job.payload, .done = std::move(done)};
  }
  changed_.notify_all();
}

void RunnerExecutor::Cancel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (next_.has_value() || executing_) bench_.Cancel();
}

void RunnerExecutor::Loop() {
  while (true) {
    Execution execution;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return next_.has_value() || stopping_; });
      if (stopping_) return;
      execution = *std::move(next_);
      next_.reset();
      executing_ = true;
    }
    // Outside of the lock: it takes seconds, and Cancel must get in.
    JobOutcome outcome = Execute(execution.payload);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      executing_ = false;
      if (stopping_) return;  // Nobody wants to hear it.
    }
    // Last, when this is idle again: the callback may lead to the next Start.
    execution.done(std::move(outcome));
  }
}

JobOutcome RunnerExecutor::Execute(const std::string& payload) {
  const auto refuse = [](const absl::Status& status) {
    return WorkerFault{.message = std::string(status.message()), .refused = true};
  };
  const absl::StatusOr<RunJob> job = DecodeRunJob(payload);
  if (!job.ok()) return refuse(job.status());
  const absl::StatusOr<Target> target = CheckJob(*job);
  if (!target.ok()) return refuse(target.status());
  ArtifactMissing missing;
  const absl::StatusOr<RunResult> result = RunAll(*job, *target, missing);
  // First, since RunAll ends with an error in that case too. Missing artifacts are nobody's fault:
  // the tuner has them built again.
  if (!missing.sha256.empty()) return missing;
  if (!result.ok()) {
    return WorkerFault{.message = std::string(result.status().message()),
                       .interrupted = absl::IsAborted(result.status()),
                       .refused = absl::IsOutOfRange(result.status())};
  }
  return Encode(*result);
}

// Whether this slot can do the job at all, before anything is allocated for it.
absl::StatusOr<Target> RunnerExecutor::CheckJob(const RunJob& job) const {
  RETURN_IF_ERROR(CheckMethod(job.method));
  ASSIGN_OR_RETURN(Target target, ParseTarget(job.target));
  RETURN_IF_ERROR(CheckTarget(target, options_.device, options_.host_cpu));
  RETURN_IF_ERROR(CheckMemory("an arena", job.method.arena_bytes));
  return target;
}

absl::Status RunnerExecutor::CheckMemory(absl::string_view what, int64_t bytes) const {
  if (static_cast<uint64_t>(bytes) <= options_.bench.memory_bytes_max) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("the job wants ", what, " of ", bytes >> 20,
                                            " MiB, this slot may have ",
                                            options_.bench.memory_bytes_max >> 20, " MiB"));
}

absl::StatusOr<RunResult> RunnerExecutor::RunAll(const RunJob& job, const Target& target,
                                                 ArtifactMissing& missing) {
  // All that is missing at once, before anything runs.
  for (const RunCandidate& candidate : job.candidates) {
    RETURN_IF_ERROR(GetArtifact(candidate.artifact_sha256, missing).status());
    if (candidate.reference_artifact_sha256.empty()) continue;
    RETURN_IF_ERROR(GetArtifact(candidate.reference_artifact_sha256, missing).status());
  }
  if (!missing.sha256.empty()) return absl::NotFoundError("artifacts");
  if (job.model_order.has_value()) return RunNetwork(job, *job.model_order, target, missing);
  RunResult result;
  for (const RunCandidate& candidate : job.candidates) {
    ASSIGN_OR_RETURN(result.measurements.emplace_back(), RunOne(candidate, job, target, missing));
  }
  return result;
}

absl::StatusOr<Measurement> RunnerExecutor::RunOne(const RunCandidate& candidate, const RunJob& job,
                                                   const Target& target, ArtifactMissing& missing) {
  ASSIGN_OR_RETURN(const auto artifact, GetArtifact(candidate.artifact_sha256, missing));
  const bool is_reference = candidate.reference_artifact_sha256 == candidate.artifact_sha256;
  std::shared_ptr<const std::string> reference;
  if (!is_reference && !candidate.reference_artifact_sha256.empty()) {
    ASSIGN_OR_RETURN(reference, GetArtifact(candidate.reference_artifact_sha256, missing));
  }
  // The bounded cache may have let go of one in between.
  if (!missing.sha256.empty()) return absl::NotFoundError("artifacts");

  const RunCpus used = CpusFor(options_.device, options_.host_cpu, target.threads);
  BenchRequest request{.workload = candidate.workload,
                       .artifact = *artifact,
                       .artifact_id = candidate.artifact_sha256,
                       .contract = candidate.contract,
                       .reference_contract = candidate.reference_contract,
                       .reference_id = candidate.reference_artifact_sha256,
                       .is_reference = is_reference,
                       .seed = candidate.seed,
                       .bound = ErrorBound(candidate.numerics),
                       .process_count = std::clamp(job.method.process_count, 1, kProcessCountMax),
                       .thread_count = target.threads,
                       .cpus = used.cpus,
                       .timeout = std::min(job.method.timeout, kTimeoutMax),
                       .cold_constants = job.method.cold_policy != ColdPolicy::kWarm,
                       .timing = TimingOf(job.method, candidate.incumbent_ns)};
  if (reference != nullptr) request.reference_artifact = *reference;
  request.timing.arena_bytes =
      job.method.arena_bytes > 0
          ? job.method.arena_bytes
          : ColdArenaBytes(options_.host_cpu, target.threads, job.method.model_constant_bytes);
  request.files = {.lock_paths = LockPaths(used), .pace_path = PacePath()};
  ASSIGN_OR_RETURN(BenchResult result, bench_.Run(request));

  Measurement measurement{.candidate_id = candidate.candidate_id,
                          .outcome = std::move(result.outcome),
                          .environment = host_environment_,
                          .numerics = candidate.numerics,
                          .effort = result.effort};
  // NaN would compare with nothing, and is not an error that anybody may accept.
  measurement.numerics.error = std::isfinite(result.error) ? result.error : HUGE_VAL;
  Environment& environment = measurement.environment;
  SetPlace(target, used, environment);
  environment.mode = MeasureMode::kIsolated;
  environment.cold_policy = result.cold_constants ? ColdPolicy::kRotatedArena : ColdPolicy::kWarm;
  environment.arena_bytes = result.cold_constants ? request.timing.arena_bytes : 0;
  environment.vector_bytes = result.vector_bytes;
  environment.seed = candidate.seed;
  return measurement;
}

absl::StatusOr<RunResult> RunnerExecutor::RunNetwork(const RunJob& job, const ModelOrder& order,
                                                     const Target& target,
                                                     ArtifactMissing& missing) {
  const RunCpus used = CpusFor(options_.device, options_.host_cpu, target.threads);
  std::vector<std::shared_ptr<const std::string>> artifacts;
  NetworkBenchRequest request{.step_count = order.step_count,
                              .warm_up_pass_count = order.warm_up_pass_count,
                              .order = order.candidates,
                              .seed = job.candidates[0].seed,
                              .thread_count = target.threads,
                              .cpus = used.cpus,
                              .timeout = std::min(job.method.timeout, kTimeoutMax),
                              .timing = TimingOf(job.method, /*incumbent_ns=*/0)};
  int64_t artifact_bytes = 0;
  for (const RunCandidate& candidate : job.candidates) {
    ASSIGN_OR_RETURN(artifacts.emplace_back(), GetArtifact(candidate.artifact_sha256, missing));
    if (artifacts.back() == nullptr) return absl::NotFoundError("artifacts");
    // The message to the runner has all of them, each as often as it is named.
    artifact_bytes += static_cast<int64_t>(artifacts.back()->size());
    RETURN_IF_ERROR(CheckMemory("artifacts", artifact_bytes));
    request.kernels.push_back({.workload = candidate.workload,
                               .artifact = *artifacts.back(),
                               .artifact_id = candidate.artifact_sha256,
                               .contract = candidate.contract,
                               .seed = candidate.seed,
                               .bound = ErrorBound(candidate.numerics)});
  }
  // Memory is filled from its beginning; what evicts constants is the model's other steps.
  request.timing.arena_bytes = kNetworkArenaBytes;
  request.files = {.lock_paths = LockPaths(used), .pace_path = PacePath()};
  ASSIGN_OR_RETURN(const NetworkBenchResult bench, bench_.RunNetwork(request));

  RunResult result;
  for (size_t i = 0; i < job.candidates.size(); ++i) {
    Measurement& measurement = result.measurements.emplace_back();
    measurement.candidate_id = job.candidates[i].candidate_id;
    const bool is_alone = bench.failed_alone == static_cast<int>(i);
    if (is_alone || bench.failed_alone < 0) {
      measurement.outcome = NetworkLatencies(order, static_cast<int>(i), bench);
    } else {
      measurement.outcome = Failure{FailureKind::kDeviceError, "another kernel failed alone"};
    }
    measurement.numerics = job.candidates[i].numerics;
    measurement.environment = host_environment_;
    Environment& environment = measurement.environment;
    SetPlace(target, used, environment);
    environment.mode = is_alone ? MeasureMode::kIsolated : MeasureMode::kInNetwork;
    if (!is_alone) environment.model_sha256 = job.model_sha256;
    environment.cold_policy = ColdPolicy::kModelOrder;
    environment.vector_bytes = bench.vector_bytes;
    environment.seed = is_alone ? job.candidates[i].seed : job.candidates[0].seed;
  }
  return result;
}

void RunnerExecutor::SetPlace(const Target& target, const RunCpus& used,
                              Environment& environment) const {
  environment.threads = target.threads;
  environment.cpus.assign(used.cpus.begin(), used.cpus.end());
  environment.siblings.assign(used.siblings.begin(), used.siblings.end());
  // The thread pool sets it on every thread (compiler/runtime/float_mode.h).
  environment.flush_denormals = true;
  environment.device = options_.device.name;
  environment.host = options_.host;
  environment.worker = options_.worker;
  environment.distribution = "normal";
  environment.method_version = kMethodVersion;
}

std::vector<std::string> RunnerExecutor::LockPaths(const RunCpus& used) const {
  std::vector<int> locked = used.cpus;
  // Siblings too: another measurement on the second thread of a core would share its units and
  // caches with this one.
  locked.insert(locked.end(), used.siblings.begin(), used.siblings.end());
  return MeasuringLockPaths(options_.lock_folder, locked);
}

absl::StatusOr<std::shared_ptr<const std::string>> RunnerExecutor::GetArtifact(
    const std::string& sha256, ArtifactMissing& missing) {
  auto artifact = options_.artifacts->Get(sha256);
  if (!absl::IsNotFound(artifact.status())) return artifact;
  if (std::find(missing.sha256.begin(), missing.sha256.end(), sha256) == missing.sha256.end()) {
    missing.sha256.push_back(sha256);
  }
  return std::shared_ptr<const std::string>();
}

}  // namespace burnish
