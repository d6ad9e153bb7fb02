#include "worker/runner/runner_session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/pace_page.h"
#include "base/sandbox.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/runtime/time_kernel.h"
#include "worker/runner/bound_kernel.h"
#include "worker/runner/cold_arena.h"
#include "worker/runner/kernel_sequence.h"
#include "worker/runner/machine_counters.h"
#include "worker/runner/measuring_lock.h"
#include "worker/runner/probe_kernel.h"

namespace burnish {
namespace {

// A candidate's own part of the warm-up, at least: its code, its data, its predictors.
constexpr int64_t kOwnWarmUpNs = 5'000'000;

// Of address space: malloc reserves 64 MiB for each thread that allocates, on top of a stack of 8;
// twice that. The rest is the program, its libraries and code of candidates. Generous: this stops a
// process that takes the machine's memory, not one that takes a little too much.
constexpr int64_t kThreadReserveBytes = 144 << 20;
constexpr int64_t kOwnReserveBytes = int64_t{4} << 30;
constexpr uint64_t kMemoryLimitBytesMax = uint64_t{1} << 60;

RunnerReply Failed(RunnerFailure failure, const std::string& message) {
  return {.event = RunnerEvent::kFailed, .failure = failure, .message = message};
}

RunnerReply Failed(const RuntimeStatus& status) {
  return Failed(status.code() == RuntimeCode::kResourceExhausted ? RunnerFailure::kOutOfMemory
                                                                 : RunnerFailure::kRunError,
                status.message());
}

int64_t Median(std::vector<int64_t> values) {
  if (values.empty()) return 0;
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  return values[middle];
}

int32_t VectorBytes(const std::vector<std::string>& features) {
  const auto has = [&](const char* name) {
    return std::find(features.begin(), features.end(), name) != features.end();
  };
  return has("avx512f") ? 64 : has("avx") ? 32 : 16;
}

class Session {
 public:
  Session(const RunnerRequest& request, const RunnerPipes& pipes)
      : request_(request),
        timing_(request.timing),
        pipes_(pipes),
        files_(request.cpus),
        lock_({timing_.lock_descriptors.begin(), timing_.lock_descriptors.end()}) {}

  RunnerReply Run() {
    if (request_.thread_count < 1) return Failed(RunnerFailure::kRunError, "got no thread");
    if (const PacePage* page = MapPacePage(timing_.pace_descriptor, /*writes=*/false)) {
      pace_.emplace(page);
    }
    // First, and for both: packing, checking and timing run on the same pinned threads.
    auto pool = ThreadPool::Create({.thread_count = request_.thread_count, .cpus = request_.cpus});
    if (!pool.ok()) return Failed(pool.status());
    pool_ = std::move(*pool);
    // In this order, also with a network: what others wrote is read, then this process gives up
    // what it has, and only then anything of it becomes code.
    if (const RuntimeStatus status = ReadAll(); !status.ok()) return Failed(status);
    EnterSandbox(SandboxFor());
    if (const RuntimeStatus status = MapAll(); !status.ok()) return Failed(status);
    if (request_.network.has_value()) return RunNetwork();
    auto bound = BoundKernel::Create(request_.candidate, std::move(artifacts_[0]),
                                     {.seed = request_.seed,
                                      .memory_bytes_max = request_.memory_bytes_max,
                                      .outputs_descriptor = pipes_.outputs_descriptor},
                                     *pool_);
    if (!bound.ok()) return Failed(bound.status());
    candidate_ = std::move(*bound);
    if (const RuntimeStatus status = candidate_->RunGuarded(); !status.ok()) return Failed(status);
    // Before the outputs are judged: right outputs do not excuse a write between a buffer and its
    // guard page, which in a model is somebody else's tensor.
    if (const std::string what = candidate_->WhatWasOverwritten(); !what.empty()) {
      return Failed(RunnerFailure::kWrongResult, what);
    }
    // A copy, taken before the parent is told: it is compared with the outputs after timing.
    const std::vector<uint8_t> outputs = candidate_->OutputBytes();
    pipes_.answer({.event = RunnerEvent::kOutputs, .output_bases = candidate_->output_bases()});
    // The parent may have wanted the outputs alone.
    if (!pipes_.wait_for_verdict()) return Failed(RunnerFailure::kRunError, "no verdict");
    auto timing = PrepareAndTime();
    if (!timing.ok()) return Failed(timing.status());
    // Calls must not depend on how often or in which memory they ran.
    if (const RuntimeStatus status = candidate_->RunGuarded(); !status.ok()) return Failed(status);
    if (candidate_->OutputBytes() != outputs) {
      return Failed(RunnerFailure::kWrongResult, "two calls with equal inputs gave other outputs");
    }
    return {.event = RunnerEvent::kTimed, .timing = *std::move(timing)};
  }

 private:
  RuntimeStatus ReadAll() {
    const NetworkSpec& network = request_.network;
    for (const KernelSpec& spec : network.kernels) RUNTIME_RETURN_IF_ERROR(Read(spec));
    if (network.has_value()) return RuntimeStatus();
    RUNTIME_RETURN_IF_ERROR(Read(request_.candidate));
    RUNTIME_ASSIGN_OR_RETURN(outputs_bytes_, BoundKernel::OutputFileBytes(
                                                 sealed_[0].manifest(), request_.memory_bytes_max));
    // Now and for good. What was in it before was cut off by the parent.
    if (ftruncate(pipes_.outputs_descriptor, static_cast<off_t>(outputs_bytes_)) != 0) {
      return ErrnoStatus("sizing the file for outputs", errno);
    }
    // Kept for when it is needed: what is wrong with candidate 0 says nothing of the candidate.
    if (!request_.reference.empty()) reference_status_ = Read(request_.reference[0]);
    return RuntimeStatus();
  }

  RuntimeStatus Read(const KernelSpec& spec) {
    RUNTIME_ASSIGN_OR_RETURN(SealedArtifact sealed, BoundKernel::Read(spec));
    sealed_.push_back(std::move(sealed));
    return RuntimeStatus();
  }

  // Before any of them runs: what a candidate does to this process comes too late for another's
  // code.
  RuntimeStatus MapAll() {
    for (size_t i = 0; i < sealed_.size(); ++i) {
      auto artifact = Artifact::Map(std::move(sealed_[i]), CodeOrigin::kCandidate);
      const bool is_reference = !request_.network.has_value() && i == 1;
      if (is_reference) reference_status_ = artifact.status();
      if (!artifact.ok() && !is_reference) return artifact.status();
      artifacts_.push_back(artifact.ok() ? *std::move(artifact) : nullptr);
    }
    return RuntimeStatus();
  }

  SandboxOptions SandboxFor() const {
    const auto memory_bytes =
        static_cast<int64_t>(std::min<uint64_t>(request_.memory_bytes_max, kMemoryLimitBytesMax));
    return {.profile = SandboxOptions::Profile::kRun,
            // Twice what buffers may take (they are checked beforehand, so this is for whatever
            // else a candidate asks for), the arena, and what allocators reserve for each thread.
            .address_space_bytes = 2 * memory_bytes + timing_.arena_bytes +
                                   request_.thread_count * kThreadReserveBytes + kOwnReserveBytes,
            // The parent ends it by the wall clock long before.
            .cpu_time_seconds = int64_t{3600} * request_.thread_count,
            // 0 would be no limit; a network writes no file.
            .file_size_bytes = std::max<int64_t>(static_cast<int64_t>(outputs_bytes_), 1)};
  }

  RunnerReply RunNetwork() {
    RunnerReply reply{.event = RunnerEvent::kTimed};
    auto timing = PrepareAndTimeNetwork(reply.step_ns);
    if (!timing.ok()) return Failed(timing.status());
    reply.timing = *std::move(timing);
    return reply;
  }

  RuntimeOr<RunnerTiming> PrepareAndTimeNetwork(std::vector<int64_t>& step_ns) {
    RUNTIME_ASSIGN_OR_RETURN(const ColdArena arena,
                             ColdArena::Map(pipes_.arena_descriptor, timing_.arena_bytes));
    RUNTIME_ASSIGN_OR_RETURN(const std::unique_ptr<KernelSequence> sequence,
                             KernelSequence::Create(request_.network, std::move(artifacts_),
                                                    {.seed = request_.seed,
                                                     .memory_bytes_max = request_.memory_bytes_max,
                                                     .normals = arena.bytes()},
                                                    *pool_));
    pipes_.answer({.event = RunnerEvent::kOutputs});
    RUNTIME_RETURN_IF_ERROR(lock_.Wait());
    pipes_.answer({.event = RunnerEvent::kLocked});
    RunnerTiming timing;
    timing.vector_bytes = VectorBytes(sequence->features());
    // By construction: each step has constants of its own.
    timing.cold_constants = true;
    const MachineCounters before = files_.Read();
    RUNTIME_ASSIGN_OR_RETURN(timing.probe_before_ns, TimeProbe());
    RUNTIME_RETURN_IF_ERROR(TimePasses(*sequence, timing, step_ns));
    RUNTIME_ASSIGN_OR_RETURN(timing.probe_after_ns, TimeProbe());
    AddCounters(before, timing);
    return timing;
  }

  RuntimeStatus TimePasses(KernelSequence& sequence, RunnerTiming& timing,
                           std::vector<int64_t>& step_ns) {
    const int64_t warm_up_count = request_.network.warm_up_pass_count;
    std::vector<int64_t> pass_ns(sequence.step_count());
    const auto started_at = std::chrono::steady_clock::now();
    const auto is_warm = [&] {
      const std::chrono::nanoseconds warm = std::chrono::steady_clock::now() - started_at;
      return warm.count() >= timing_.warm_up_ns;
    };
    // Whole blocks of warm-up passes, at least one, and until the clock says enough: every
    // candidate has run, and the CPU is at its clock for wide vectors.
    do {
      for (int64_t pass = 0; pass < warm_up_count; ++pass) {
        RUNTIME_RETURN_IF_ERROR(sequence.RunPass(pass, pass_ns));
      }
      timing.warm_up_count += warm_up_count;
    } while (warm_up_count > 0 && !is_warm());
    timing.inner_count = 1;
    int again = 0;
    for (int64_t pass = warm_up_count; pass < sequence.pass_count(); ++pass) {
      const uint64_t mark = pace_ ? pace_->Now() : 0;
      RUNTIME_RETURN_IF_ERROR(sequence.RunPass(pass, pass_ns));
      if (pace_ && pace_->Now() != mark && again < sequence.pass_count()) {
        ++again;
        --pass;
        continue;
      }
      step_ns.insert(step_ns.end(), pass_ns.begin(), pass_ns.end());
    }
    return RuntimeStatus();
  }

  RuntimeOr<RunnerTiming> PrepareAndTime() {
    RUNTIME_ASSIGN_OR_RETURN(const ColdArena arena,
                             ColdArena::Map(pipes_.arena_descriptor, timing_.arena_bytes));
    RUNTIME_RETURN_IF_ERROR(candidate_->PrepareTiming(arena.bytes()));
    if (!request_.reference.empty()) {
      RUNTIME_RETURN_IF_ERROR(reference_status_);
      RUNTIME_ASSIGN_OR_RETURN(reference_,
                               BoundKernel::Create(request_.reference[0], std::move(artifacts_[1]),
                                                   {.seed = request_.seed,
                                                    .memory_bytes_max = request_.memory_bytes_max,
                                                    .timing_only = !arena.bytes().empty()},
                                                   *pool_));
      RUNTIME_RETURN_IF_ERROR(reference_->PrepareTiming(arena.bytes()));
    }
    RUNTIME_RETURN_IF_ERROR(lock_.Wait());
    pipes_.answer({.event = RunnerEvent::kLocked});
    return TimeAll();
  }

  RuntimeOr<RunnerTiming> TimeAll() {
    RunnerTiming timing;
    const auto started_at = std::chrono::steady_clock::now();
    timing.vector_bytes = VectorBytes(candidate_->manifest().features);
    const MachineCounters before = files_.Read();
    RUNTIME_ASSIGN_OR_RETURN(timing.probe_before_ns, TimeProbe());
    RUNTIME_ASSIGN_OR_RETURN(timing.reference_before_ns, TimeReference());
    // What the probe and the reference ran has warmed the CPU, at the same vector width.
    const std::chrono::nanoseconds warm = std::chrono::steady_clock::now() - started_at;
    const int64_t warm_up_ns = std::max(timing_.warm_up_ns - warm.count(), kOwnWarmUpNs);
    RUNTIME_RETURN_IF_ERROR(TimeCandidate(std::min(warm_up_ns, timing_.warm_up_ns), timing));
    // The same two before and after, inside out. If they differ the machine changed meanwhile, and
    // the time between them is not to be believed.
    RUNTIME_ASSIGN_OR_RETURN(timing.reference_after_ns, TimeReference());
    RUNTIME_ASSIGN_OR_RETURN(timing.probe_after_ns, TimeProbe());
    AddCounters(before, timing);
    return timing;
  }

  // What has happened to the machine since `before`.
  void AddCounters(const MachineCounters& before, RunnerTiming& timing) const {
    const MachineCounters after = files_.Read();
    // Some hypervisors set it back, and nothing was stolen then.
    timing.steal_ns = std::max<int64_t>(0, after.steal_ns - before.steal_ns);
    timing.throttle_count = after.throttle_count - before.throttle_count;
    timing.involuntary_switch_count =
        after.involuntary_switch_count - before.involuntary_switch_count;
    timing.page_fault_count = after.page_fault_count - before.page_fault_count;
    timing.huge_page_bytes = files_.HugePageBytes();
  }

  RuntimeOr<int64_t> TimeProbe() {
    RUNTIME_ASSIGN_OR_RETURN(
        const KernelTiming timing,
        TimeKernel(
            *pool_, &ProbeKernel, {BurnishKernelContext{}},
            // Under a millisecond in all, since it is paid twice in every measurement.
            // Choices; not tuned.
            {.warmup_ns = 200'000, .repeat_min_ns = 100'000, .repeat_count = 5, .mark = Mark()}));
    return Median(timing.latency_ns);
  }

  // 0: there is none. Short: a default schedule may be many times slower than the candidate.
  RuntimeOr<int64_t> TimeReference() {
    if (reference_ == nullptr) return 0;
    RUNTIME_ASSIGN_OR_RETURN(
        const KernelTiming timing,
        TimeKernel(
            *pool_, reference_->kernel(), reference_->timing_contexts(),
            // It tells a slow machine from a slow candidate and is no result: three repeats
            // do.
            {.warmup_ns = 1'000'000, .repeat_min_ns = 500'000, .repeat_count = 3, .mark = Mark()}));
    return Median(timing.latency_ns);
  }

  RuntimeStatus TimeCandidate(int64_t warm_up_ns, RunnerTiming& timing) {
    TimeKernelOptions options{.warmup_ns = warm_up_ns,
                              .repeat_min_ns = timing_.repeat_min_ns,
                              .repeat_count = timing_.repeat_count_min,
                              .stop_above_ns = timing_.stop_above_ns,
                              .mark = Mark()};
    RUNTIME_ASSIGN_OR_RETURN(
        KernelTiming first,
        TimeKernel(*pool_, candidate_->kernel(), candidate_->timing_contexts(), options));
    timing.latency_ns = std::move(first.latency_ns);
    timing.inner_count = first.inner_count;
    timing.warm_up_count = first.warmup_count;
    timing.stopped_early = first.stopped_early;
    timing.cold_constants = candidate_->constants_are_cold();
    const int more = timing_.repeat_count_max - timing_.repeat_count_min;
    // More repeats only where they may decide who is best. Far from the incumbent a rough time
    // serves as well.
    const bool is_near = timing_.near_ns <= 0 || Median(timing.latency_ns) <= timing_.near_ns;
    if (first.stopped_early || more <= 0 || !is_near) return RuntimeStatus();
    // It is warm, and the same number of calls a repeat makes the later repeats comparable with the
    // first.
    options.warmup_ns = 0;
    options.repeat_count = more;
    // No longer than those before.
    options.inner_count_max = first.inner_count;
    RUNTIME_ASSIGN_OR_RETURN(
        const KernelTiming second,
        TimeKernel(*pool_, candidate_->kernel(), candidate_->timing_contexts(), options));
    timing.latency_ns.insert(timing.latency_ns.end(), second.latency_ns.begin(),
                             second.latency_ns.end());
    return RuntimeStatus();
  }

  std::function<uint64_t()> Mark() {
    if (!pace_.has_value()) return nullptr;
    return [this] { return pace_->Now(); };
  }

  const RunnerRequest& request_;
  const TimingSpec& timing_;
  std::optional<PaceMark> pace_;
  const RunnerPipes& pipes_;
  const MachineFiles files_;
  MeasuringLock lock_;
  std::unique_ptr<ThreadPool> pool_;
  // The network's kernels; or the candidate, and candidate 0 where it could be read.
  std::vector<SealedArtifact> sealed_;                // Until they are mapped.
  std::vector<std::unique_ptr<Artifact>> artifacts_;  // Until they are bound.
  RuntimeStatus reference_status_;
  uint64_t outputs_bytes_ = 0;
  std::unique_ptr<BoundKernel> candidate_;
  std::unique_ptr<BoundKernel> reference_;
};

}  // namespace

void RunSession(const RunnerRequest& request, const RunnerPipes& pipes) {
  try {
    pipes.answer(Session(request, pipes).Run());
    // The runtime reports everything else by status. Where memory ends, the standard library
    // throws.
  } catch (const std::bad_alloc&) {
    pipes.answer(Failed(RunnerFailure::kOutOfMemory, "no memory"));
  }
}

}  // namespace burnish
