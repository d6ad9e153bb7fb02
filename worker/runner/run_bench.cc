#include "worker/runner/run_bench.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/measuring_files.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "worker/runner/claimed_times.h"
#include "worker/runner/cold_arena.h"
#include "worker/runner/tensor_data.h"

namespace burnish {
namespace {

// The runner shares its process with foreign machine code, so its answers are hostile bytes. The
// largest honest one holds eight bytes for each step of a network's passes: 4 MiB are half a
// million of them.
constexpr size_t kReplyBytesMax = 4 << 20;
// Exit code of base/burnish-launcher, as of a shell, where the program cannot be executed. That is
// this worker's fault and not the candidate's.
constexpr int kLauncherFailed = 127;
constexpr char kTimesThatCannotBe[] = "the runner reported times that cannot be";

std::span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

absl::StatusOr<UniqueFd> MakeMemoryFile(const char* name, unsigned int flags = 0) {
  // Memory with a descriptor: runner and checker see the same pages, nothing is copied through
  // pipes, and nothing is left behind whoever is killed.
  const int descriptor = memfd_create(name, MFD_CLOEXEC | flags);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, "memory file");
  return UniqueFd(descriptor);
}

// Random-normal floats: what cold constants read. Once for all candidates.
absl::StatusOr<UniqueFd> MakeArena(int64_t size_bytes) {
  ASSIGN_OR_RETURN(UniqueFd file, MakeMemoryFile("burnish-cold-constants", MFD_ALLOW_SEALING));
  const TensorSpec values{.type = ElementType::kF32, .shape = {size_bytes / 4}, .strides = {1}};
  // Values do not matter, but must be ordinary ones: zeros or denormals would change the time of an
  // instruction or of a branch on data.
  const std::vector<uint8_t> bytes = RandomTensor(values, /*seed=*/0, /*parameter=*/0);
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t count = write(file.get(), bytes.data() + at, bytes.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return absl::ErrnoToStatus(errno, "filling the arena of cold constants");
    at += count;
  }
  ColdArena::UseHugePages(file.get(), size_bytes);
  // All candidates read it: none of them may change what the next one is timed with. Maps of it
  // that only read stay possible, which F_SEAL_WRITE allows since Linux 6.7 alone.
  constexpr int kSeals = F_SEAL_FUTURE_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
    return absl::ErrnoToStatus(errno, "sealing the arena of cold constants");
  }
  return file;
}

ProcessLatencies ToLatencies(const RunnerTiming& timing) {
  return {.latency_ns = timing.latency_ns,
          .inner_count = static_cast<int32_t>(timing.inner_count),
          .warm_up_count = static_cast<int32_t>(timing.warm_up_count),
          .reference_before_ns = timing.reference_before_ns,
          .reference_after_ns = timing.reference_after_ns,
          .probe_before_ns = timing.probe_before_ns,
          .probe_after_ns = timing.probe_after_ns,
          .steal_ns = timing.steal_ns,
          .throttle_count = timing.throttle_count,
          .involuntary_switch_count = timing.involuntary_switch_count,
          .page_fault_count = timing.page_fault_count,
          .huge_page_bytes = timing.huge_page_bytes,
          .stopped_early = timing.stopped_early};
}

int64_t SteadyNs() { return absl::ToUnixNanos(Clock::Real().SteadyNow()); }

Failure RunError(absl::string_view message) {
  return {.kind = FailureKind::kRunError, .message = std::string(message)};
}

// Names code, and the question that the code has answered rightly: within a wider bound is another
// one. `request`: of a candidate alone, or a kernel of a network.
template <typename Request>
std::string KeyOf(const Request& request) {
  return Sha256Hex(absl::StrCat(request.artifact_id, "/", request.contract, "/", request.seed, "/",
                                absl::Hex(std::bit_cast<uint64_t>(request.bound)), "/",
                                request.workload));
}

// What the checker's answer means for whose outputs it has seen; nullopt: they are right.
std::optional<Failure> FailureOf(const CheckerReply& verdict) {
  if (verdict.verdict == CheckerVerdict::kOk) return std::nullopt;
  if (verdict.verdict != CheckerVerdict::kWrong) return RunError(verdict.message);
  return Failure{.kind = FailureKind::kWrongResult, .message = verdict.message};
}

}  // namespace

absl::StatusOr<BenchResult> RunBench::Run(const BenchRequest& request) {
  effort_ = {};
  const int64_t start_ns = SteadyNs();
  absl::StatusOr<BenchResult> result = RunProcesses(request);
  if (!result.ok()) return result;
  effort_.run_ns = SteadyNs() - start_ns - effort_.check_ns - effort_.wait_ns;
  result->effort = effort_;
  return result;
}

absl::StatusOr<BenchResult> RunBench::RunProcesses(const BenchRequest& request) {
  RETURN_IF_ERROR(PrepareFiles(request.cold_constants ? request.timing.arena_bytes : 0));
  Failure refused;
  BenchResult result{.error = Numerics::kErrorNotMeasured};
  ASSIGN_OR_RETURN(const RunnerRequest message, MakeRequest(request, &refused));
  if (!refused.message.empty()) {
    result.outcome = refused;
    return result;
  }
  Latencies latencies;
  for (int process = 0; process < request.process_count; ++process) {
    // A fresh process for each: where code and pages come to lie differs between processes, and
    // within one it never changes.
    auto outcome = RunProcess(request, message, result);
    EndChild(runner_);
    if (!outcome.ok()) return CancelledOr(outcome.status());
    if (const Failure* failure = std::get_if<Failure>(&*outcome)) {
      result.outcome = *failure;
      return result;
    }
    latencies.processes.push_back(std::get<ProcessLatencies>(*std::move(outcome)));
  }
  result.outcome = std::move(latencies);
  return result;
}

absl::Status RunBench::PrepareFiles(int64_t arena_bytes) {
  if (!outputs_.valid()) {
    ASSIGN_OR_RETURN(outputs_, MakeMemoryFile("burnish-outputs"));
  }
  // Kept from candidate to candidate: filling it writes all of its megabytes. Jobs of several
  // models want arenas of several sizes: each maps the beginning of the largest.
  if (arena_bytes <= arena_bytes_) return absl::OkStatus();
  ASSIGN_OR_RETURN(arena_, MakeArena(arena_bytes));
  arena_bytes_ = arena_bytes;
  return absl::OkStatus();
}

// `*refused` gets a message where the checker refuses the workload or the contract.
absl::StatusOr<KernelSpec> RunBench::PlanKernel(absl::string_view workload,
                                                absl::string_view artifact,
                                                absl::string_view contract, Failure* refused) {
  ASSIGN_OR_RETURN(CheckerReply reply, AskChecker({.call = CheckerCall::kPlan,
                                                   .workload = std::string(workload),
                                                   .contract = std::string(contract)}));
  // The checker has parsed the workload. What it refuses says something of the job and nothing of
  // this worker.
  if (reply.verdict != CheckerVerdict::kOk) *refused = RunError(reply.message);
  return KernelSpec{.artifact = std::string(artifact), .parameters = std::move(reply.parameters)};
}

absl::StatusOr<RunnerRequest> RunBench::MakeRequest(const BenchRequest& request, Failure* refused) {
  RunnerRequest message{.seed = request.seed,
                        .thread_count = request.thread_count,
                        .cpus = {request.cpus.begin(), request.cpus.end()},
                        .memory_bytes_max = options_.memory_bytes_max,
                        .timing = request.timing};
  if (!request.cold_constants) message.timing.arena_bytes = 0;
  ASSIGN_OR_RETURN(message.candidate,
                   PlanKernel(request.workload, request.artifact, request.contract, refused));
  if (!request.reference_artifact.empty()) {
    ASSIGN_OR_RETURN(message.reference.emplace_back(),
                     PlanKernel(request.workload, request.reference_artifact,
                                request.reference_contract, refused));
  }
  return message;
}

absl::StatusOr<NetworkBenchResult> RunBench::RunNetwork(const NetworkBenchRequest& request) {
  RETURN_IF_ERROR(PrepareFiles(request.timing.arena_bytes));
  RunnerRequest message{.seed = request.seed,
                        .thread_count = request.thread_count,
                        .cpus = {request.cpus.begin(), request.cpus.end()},
                        .memory_bytes_max = options_.memory_bytes_max,
                        .timing = request.timing,
                        .network = {.step_count = request.step_count,
                                    .warm_up_pass_count = request.warm_up_pass_count,
                                    .order = request.order}};
  Failure refused;
  for (const NetworkBenchRequest::Kernel& kernel : request.kernels) {
    ASSIGN_OR_RETURN(message.network.kernels.emplace_back(),
                     PlanKernel(kernel.workload, kernel.artifact, kernel.contract, &refused));
  }
  if (!refused.message.empty()) return NetworkBenchResult{.outcome = refused};
  for (size_t i = 0; i < request.kernels.size(); ++i) {
    ASSIGN_OR_RETURN(const std::optional<Failure> failure,
                     CheckAlone(request, i, message.network.kernels[i]));
    if (!failure.has_value()) continue;
    return NetworkBenchResult{.outcome = *failure, .failed_alone = static_cast<int>(i)};
  }
  absl::StatusOr<NetworkBenchResult> result = RunNetworkProcess(request, message);
  EndChild(runner_);
  if (!result.ok()) return CancelledOr(result.status());
  return result;
}

absl::StatusOr<std::optional<Failure>> RunBench::CheckAlone(const NetworkBenchRequest& request,
                                                            size_t index, const KernelSpec& spec) {
  const NetworkBenchRequest::Kernel& kernel = request.kernels[index];
  const std::string key = KeyOf(kernel);
  if (found_right_.contains(key)) return std::nullopt;
  const RunnerRequest alone{.candidate = spec,
                            .seed = kernel.seed,
                            .thread_count = request.thread_count,
                            .cpus = {request.cpus.begin(), request.cpus.end()},
                            .memory_bytes_max = options_.memory_bytes_max};
  const absl::StatusOr<std::variant<CheckerReply, Failure>> checked =
      StartChecked(alone,
                   {.call = CheckerCall::kCheck,
                    .workload = std::string(kernel.workload),
                    .contract = std::string(kernel.contract),
                    .seed = kernel.seed,
                    .bound = kernel.bound},
                   request.files, request.timeout);
  EndChild(runner_);
  if (!checked.ok()) return CancelledOr(checked.status());
  if (const Failure* failure = std::get_if<Failure>(&*checked)) return *failure;
  const std::optional<Failure> failure = FailureOf(std::get<CheckerReply>(*checked));
  if (!failure.has_value()) NoteRight(key);
  return failure;
}

void RunBench::NoteRight(const std::string& key) {
  // Of a few studies' tasks. Who is forgotten is checked again.
  constexpr size_t kKeptMax = 4096;
  if (found_right_.size() >= kKeptMax) found_right_.clear();
  found_right_.insert(key);
}

absl::StatusOr<NetworkBenchResult> RunBench::RunNetworkProcess(const NetworkBenchRequest& request,
                                                               const RunnerRequest& message) {
  const WallTime since_start;  // Where nothing is waited for, nothing later bounds the passes.
  ASSIGN_OR_RETURN(const Step loaded, StartRunner(message, request.files, request.timeout));
  if (const Failure* failure = std::get_if<Failure>(&loaded)) return NetworkBenchResult{*failure};
  ASSIGN_OR_RETURN(const Step locked, AwaitLock(request.files.lock_paths));
  if (const Failure* failure = std::get_if<Failure>(&locked)) return NetworkBenchResult{*failure};
  ASSIGN_OR_RETURN(const Step timed, ReadRunner(RunnerEvent::kTimed, request.timeout));
  if (const Failure* failure = std::get_if<Failure>(&timed)) return NetworkBenchResult{*failure};
  const RunnerReply& reply = std::get<RunnerReply>(timed);
  const size_t warm_up_steps = static_cast<size_t>(request.warm_up_pass_count) * request.step_count;
  // The counts are checked before anything is indexed by them.
  const bool is_sound = reply.step_ns.size() == request.order.size() - warm_up_steps &&
                        FitInto(reply.step_ns, 1, since_start.Ns());
  if (!is_sound) return NetworkBenchResult{RunError(kTimesThatCannotBe)};
  return NetworkBenchResult{.outcome = reply.step_ns,
                            .process = ToLatencies(reply.timing),
                            .vector_bytes = reply.timing.vector_bytes};
}

absl::StatusOr<std::variant<ProcessLatencies, Failure>> RunBench::RunProcess(
    const BenchRequest& request, const RunnerRequest& message, BenchResult& result) {
  CheckerRequest check{.call = CheckerCall::kCheck,
                       .workload = std::string(request.workload),
                       .contract = std::string(request.contract),
                       .seed = request.seed,
                       .reference_id = request.reference_id,
                       .is_reference = request.is_reference,
                       .bound = request.bound};
  std::variant<CheckerReply, Failure> checked;
  // Twice where the checker does not know candidate 0 yet: its run needs the file of the outputs.
  for (bool again = true; again;) {
    ASSIGN_OR_RETURN(checked, StartChecked(message, check, request.files, request.timeout));
    if (const Failure* failure = std::get_if<Failure>(&checked)) return *failure;
    again = std::get<CheckerReply>(checked).verdict == CheckerVerdict::kNeedReference;
    if (again) {
      ASSIGN_OR_RETURN(const auto reference, RunReference(request, message));
      if (const Failure* failure = std::get_if<Failure>(&reference)) return *failure;
    }
  }
  const auto& verdict = std::get<CheckerReply>(checked);
  if (verdict.verdict != CheckerVerdict::kRefused) result.error = verdict.error;
  // In this order: nothing is timed that is not right. A wrong candidate may be fast because it is
  // wrong, and its time would teach the model that.
  if (const std::optional<Failure> failure = FailureOf(verdict)) return *failure;
  NoteRight(KeyOf(request));
  // The runner waits for this word, so that checking and timing happen in the same process and with
  // the same loaded code.
  const WallTime since_told;
  if (const absl::Status told = runner_->WriteFrame("time", request.timeout); !told.ok()) {
    return HowItEnded();
  }
  const int64_t waiting_since_ns = SteadyNs();
  ASSIGN_OR_RETURN(const Step locked, AwaitLock(request.files.lock_paths));
  effort_.wait_ns += SteadyNs() - waiting_since_ns;
  if (const Failure* failure = std::get_if<Failure>(&locked)) return *failure;
  ASSIGN_OR_RETURN(const Step timed, ReadRunner(RunnerEvent::kTimed, request.timeout));
  if (const Failure* failure = std::get_if<Failure>(&timed)) return *failure;
  const RunnerTiming& timing = std::get<RunnerReply>(timed).timing;
  if (!CanBe(timing, since_told.Ns())) return RunError(kTimesThatCannotBe);
  result.cold_constants = timing.cold_constants;
  result.vector_bytes = timing.vector_bytes;
  return ToLatencies(timing);
}

absl::StatusOr<std::variant<std::monostate, Failure>> RunBench::RunReference(
    const BenchRequest& request, const RunnerRequest& message) {
  RunnerRequest alone = message;
  // Candidate 0 goes first through the same steps as any candidate, but is not timed: only its
  // outputs are wanted.
  alone.candidate = message.reference.at(0);
  alone.reference.clear();
  ASSIGN_OR_RETURN(const auto checked,
                   StartChecked(alone,
                                {.call = CheckerCall::kCheck,
                                 .workload = std::string(request.workload),
                                 .contract = std::string(request.reference_contract),
                                 .seed = request.seed,
                                 .reference_id = request.reference_id,
                                 .is_reference = true,
                                 .bound = request.bound},
                                request.files, request.timeout));
  // Whatever it is: not this candidate's doing, but it cannot be judged.
  const auto failed = [](absl::string_view what) {
    return RunError(absl::StrCat("candidate 0 does not work: ", what));
  };
  if (const Failure* failure = std::get_if<Failure>(&checked)) return failed(failure->message);
  const auto& verdict = std::get<CheckerReply>(checked);
  if (verdict.verdict != CheckerVerdict::kOk) return failed(verdict.message);
  return std::monostate();
}

absl::StatusOr<std::variant<CheckerReply, Failure>> RunBench::StartChecked(
    const RunnerRequest& message, CheckerRequest check, const HostFiles& files,
    absl::Duration timeout) {
  ASSIGN_OR_RETURN(const Step outputs, StartRunner(message, files, timeout));
  if (const Failure* failure = std::get_if<Failure>(&outputs)) return *failure;
  check.output_bases = std::get<RunnerReply>(outputs).output_bases;
  ASSIGN_OR_RETURN(CheckerReply verdict, AskChecker(check));
  return verdict;
}

absl::StatusOr<RunBench::Step> RunBench::StartRunner(RunnerRequest message, const HostFiles& files,
                                                     absl::Duration timeout) {
  EndChild(runner_);
  // Nothing of an earlier candidate's outputs may stay.
  if (ftruncate(outputs_.get(), 0) != 0) return absl::ErrnoToStatus(errno, "file of the outputs");
  std::vector<int> descriptors = {outputs_.get()};
  if (arena_.valid()) descriptors.push_back(arena_.get());
  // For this start alone: a lock is its runner's, and ends with the last copy of the descriptor.
  std::vector<UniqueFd> opened;
  const auto pass_on = [&](int descriptor) {
    opened.emplace_back(descriptor);
    descriptors.push_back(descriptor);
    return static_cast<int32_t>(kOutputsDescriptor + descriptors.size() - 1);
  };
  for (const std::string& path : files.lock_paths) {
    const int lock = OpenMeasuringFile(path);
    if (lock < 0) return absl::ErrnoToStatus(errno, absl::StrCat("measuring lock ", path));
    message.timing.lock_descriptors.push_back(pass_on(lock));
  }
  // Without it nobody knows of other work, as where there is no server.
  const int page =
      files.pace_path.empty() ? -1 : open(files.pace_path.c_str(), O_RDONLY | O_CLOEXEC);
  if (page >= 0) message.timing.pace_descriptor = pass_on(page);
  oom_kills_.emplace(options_.vmstat_path);
  ASSIGN_OR_RETURN(Child* const runner, StartChild({.program = options_.runner_program,
                                                    .inherited_fds = std::move(descriptors),
                                                    .empty_environment = true},
                                                   runner_));
  // That it does not read shows in how it ends.
  (void)runner->WriteFrame(EncodeFrame(message), timeout);
  return ReadRunner(RunnerEvent::kOutputs, timeout);
}

absl::StatusOr<RunBench::Step> RunBench::AwaitLock(const std::vector<std::string>& paths) {
  // A wait that is as short as another candidate's measurement is not worth a message.
  constexpr absl::Duration kShort = absl::Seconds(1);
  absl::StatusOr<Step> locked = ReadRunner(RunnerEvent::kLocked, kShort);
  if (absl::IsDeadlineExceeded(locked.status())) {
    if (options_.on_waiting != nullptr) options_.on_waiting(true);
    locked = ReadRunner(RunnerEvent::kLocked, options_.lock_timeout);
    if (options_.on_waiting != nullptr) options_.on_waiting(false);
  }
  if (absl::IsDeadlineExceeded(locked.status())) {
    return absl::AbortedError("others measure on these CPUs without an end");
  }
  // Here and not in the runner, which may open nothing any more. What it does first, a probe and a
  // warm-up of milliseconds, gives those who stand aside the time to do so.
  AnnounceMeasuring(paths);
  return locked;
}

absl::StatusOr<RunBench::Step> RunBench::ReadRunner(RunnerEvent want, absl::Duration timeout) {
  const absl::StatusOr<std::string> frame = runner_->ReadFrame(timeout, kReplyBytesMax);
  if (absl::IsDeadlineExceeded(frame.status())) {
    RETURN_IF_ERROR(CancelledOr(absl::OkStatus()));
    // Waiting for the lock is no time of the candidate's: another measurement holds the CPUs.
    if (want == RunnerEvent::kLocked) return frame.status();
    return Failure{.kind = FailureKind::kRunTimeout, .message = absl::FormatDuration(timeout)};
  }
  if (absl::IsUnavailable(frame.status())) {
    ASSIGN_OR_RETURN(Step ended, HowItEnded());
    return ended;
  }
  std::optional<RunnerReply> reply;
  if (frame.ok()) reply = DecodeRunnerReply(BytesOf(*frame));
  // Steps come in one order. An answer out of turn is damage.
  if (!reply.has_value() || (reply->event != want && reply->event != RunnerEvent::kFailed)) {
    return RunError("the runner's answer is damaged");
  }
  if (reply->event == RunnerEvent::kFailed) {
    const FailureKind kind =
        reply->failure == RunnerFailure::kWrongResult   ? FailureKind::kWrongResult
        : reply->failure == RunnerFailure::kOutOfMemory ? FailureKind::kOutOfMemory
                                                        : FailureKind::kRunError;
    return Failure{.kind = kind, .message = reply->message};
  }
  return *std::move(reply);
}

// Of a runner that ended by itself.
absl::StatusOr<Failure> RunBench::HowItEnded() {
  RETURN_IF_ERROR(CancelledOr(absl::OkStatus()));
  // It has closed its output, so it is about to end. Five seconds are for a core of a loaded
  // machine to tear down its memory; a guess.
  absl::StatusOr<ExitInfo> exit = runner_->Wait(absl::Seconds(5));
  if (absl::IsDeadlineExceeded(exit.status())) {
    return RunError("the runner closed its output and went on");
  }
  RETURN_IF_ERROR(exit.status());
  RETURN_IF_ERROR(CancelledOr(absl::OkStatus()));
  if (exit->exit_code == kLauncherFailed) return absl::InternalError(Describe(*exit));
  if (exit->signal == SIGSYS) {
    return Failure{
        .kind = FailureKind::kCrashed,
        .message = absl::StrCat("made a system call that no kernel may make: ", Describe(*exit))};
  }
  // We have not, and it has no limit that ends it so. It was the kernel, which leaves a trace, or
  // somebody else, which says nothing of the candidate.
  if (exit->signal == SIGKILL && !oom_kills_->SawAny()) {
    return absl::AbortedError("somebody killed the runner, and not for want of memory");
  }
  const FailureKind kind = exit->signal == SIGKILL ? FailureKind::kOutOfMemory
                           : exit->signal != 0     ? FailureKind::kCrashed
                                                   : FailureKind::kRunError;
  return Failure{.kind = kind, .message = Describe(*exit)};
}

absl::StatusOr<CheckerReply> RunBench::AskChecker(const CheckerRequest& request) {
  const int64_t start_ns = SteadyNs();
  const absl::Cleanup answered = [&] { effort_.check_ns += SteadyNs() - start_ns; };
  return AnswerOfChecker(request);
}

absl::StatusOr<CheckerReply> RunBench::AnswerOfChecker(const CheckerRequest& request) {
  if (checker_ == nullptr) {
    RETURN_IF_ERROR(StartChild({.program = options_.checker_program,
                                .inherited_fds = {outputs_.get()},
                                .empty_environment = true},
                               checker_)
                        .status());
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // Cancel kills the checker only while it works. An idle one keeps its samples and candidate 0's
    // outputs for the next candidate.
    asking_ = true;
  }
  const absl::Cleanup asked = [this] {
    const std::lock_guard<std::mutex> lock(mutex_);
    asking_ = false;
  };
  RETURN_IF_ERROR(CancelledOr(absl::OkStatus()));
  absl::Status status = checker_->WriteFrame(EncodeFrame(request), options_.check_timeout);
  if (status.ok()) {
    const absl::StatusOr<std::string> frame =
        checker_->ReadFrame(options_.check_timeout, kReplyBytesMax);
    status = frame.status();
    if (frame.ok()) {
      std::optional<CheckerReply> reply = DecodeCheckerReply(BytesOf(*frame));
      if (reply.has_value()) return *std::move(reply);
      status = absl::InternalError("damaged answer");
    }
  }
  // Whoever killed it: its memory is the definition's and candidate 0's, not this candidate's
  // doing.
  const absl::StatusOr<ExitInfo> exit = checker_->Wait(absl::Seconds(1));
  if (exit.ok() && exit->signal == SIGKILL) {
    status = absl::AbortedError("somebody killed it, or its memory ran out");
  }
  // The next request gets a new one.
  EndChild(checker_);
  return CancelledOr(absl::Status(status.code(), absl::StrCat("checker: ", status.message())));
}

absl::StatusOr<Child*> RunBench::StartChild(const ChildOptions& options,
                                            std::unique_ptr<Child>& slot) {
  RETURN_IF_ERROR(CancelledOr(absl::OkStatus()));
  ASSIGN_OR_RETURN(std::unique_ptr<Child> child, Child::Start(options));
  Child* const started = child.get();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    slot = std::move(child);
  }
  // A Cancel before this saw no child to kill.
  RETURN_IF_ERROR(CancelledOr(absl::OkStatus()));
  return started;
}

void RunBench::EndChild(std::unique_ptr<Child>& slot) {
  std::unique_ptr<Child> ended;
  const std::lock_guard<std::mutex> lock(mutex_);
  ended.swap(slot);
}

absl::Status RunBench::CancelledOr(const absl::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return cancelled_ ? absl::CancelledError("cancelled") : status;
}

void RunBench::Cancel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  if (runner_ != nullptr) runner_->Kill();
  // An idle one keeps what it knows.
  if (checker_ != nullptr && asking_) checker_->Kill();
}

void RunBench::Reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = false;
}

}  // namespace burnish
