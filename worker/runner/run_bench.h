// Runs candidates for one slot: a fresh runner process for each, the checker beside them.
#ifndef WORKER_RUNNER_RUN_BENCH_H_
#define WORKER_RUNNER_RUN_BENCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/child.h"
#include "base/oom_kills.h"
#include "base/unique_fd.h"
#include "proto/measurement.h"
#include "worker/runner/runner_wire.h"

namespace burnish {

struct RunBenchOptions {
  std::string runner_program = "";  // Paths.
  std::string checker_program = "";
  uint64_t memory_bytes_max = 0;                     // Of one candidate's buffers.
  absl::Duration check_timeout = absl::Seconds(60);  // The oracle may have much to compute.
  absl::Duration lock_timeout = absl::Minutes(10);   // For others to finish their measurements.
  // Told by Run's thread: true when a candidate has waited for the lock for a second, false when
  // that is over. Null: nobody asks.
  std::function<void(bool waiting)> on_waiting = nullptr;
  std::string vmstat_path = "/proc/vmstat";  // See OomKillWatch.
};

// Files of this host that a runner needs. It gets them open: who it runs as may have no right to.
struct HostFiles {
  std::vector<std::string> lock_paths = {};  // See measuring_lock.h.
  std::string pace_path = "";                // See base/pace_page.h; empty: none.
};

// One candidate, ready to run. Views live as long as the call.
struct BenchRequest {
  absl::string_view workload;
  absl::string_view artifact;
  std::string artifact_id = "";  // Its hash.
  absl::string_view contract;
  // Candidate 0, unless this is it; empty: none. Outputs are compared with its outputs.
  absl::string_view reference_artifact;
  absl::string_view reference_contract;
  std::string reference_id;   // Its hash; empty: none.
  bool is_reference = false;  // This is candidate 0.
  uint64_t seed = 0;
  double bound = 0;  // Of the tensor error.
  int process_count = 1;
  int thread_count = 1;
  std::vector<int> cpus;
  absl::Duration timeout = absl::ZeroDuration();  // Of loading and checking; again of timing.
  bool cold_constants = false;
  TimingSpec timing = {};  // `arena_bytes`: of the arena for cold constants. No descriptors.
  HostFiles files = {};
};

// Candidates in a model's order, ready to run.
struct NetworkBenchRequest {
  struct Kernel {
    absl::string_view workload;
    absl::string_view artifact;
    std::string artifact_id = "";  // Its hash.
    absl::string_view contract;
    uint64_t seed = 0;  // Alone.
    double bound = 0;   // Of the tensor error.
  };
  std::vector<Kernel> kernels;
  int32_t step_count = 1;
  int32_t warm_up_pass_count = 0;
  std::vector<int32_t> order;  // [pass][step]: index into `kernels`.
  uint64_t seed = 0;
  int thread_count = 1;
  std::vector<int> cpus;
  absl::Duration timeout = absl::ZeroDuration();  // Of loading; again of timing.
  TimingSpec timing = {};                         // Its arena's values fill the memory.
  HostFiles files = {};
};

struct NetworkBenchResult {
  std::variant<std::vector<int64_t>, Failure> outcome = {};  // [timed pass][step] in nanoseconds.
  int failed_alone = -1;          // Whose failure it is, where nothing ran together; else -1.
  ProcessLatencies process = {};  // What is known beside latencies.
  int32_t vector_bytes = 0;
};

struct BenchResult {
  std::variant<Latencies, Failure> outcome = {};
  double error = 0;             // Against the oracle; Numerics::kErrorNotMeasured where not known.
  bool cold_constants = false;  // As it was.
  int32_t vector_bytes = 0;
  Effort effort = {};
};

// Run by one thread at a time; Cancel by any.
class RunBench {
 public:
  explicit RunBench(RunBenchOptions options) : options_(std::move(options)) {}

  // CANCELLED after a Cancel. ABORTED: interrupted from outside (somebody killed a process, others
  // hold the lock). Any other error is this worker's fault.
  absl::StatusOr<BenchResult> Run(const BenchRequest& request);

  // In one fresh process, after each kernel has run alone and its outputs were right: in a model
  // they cannot be judged. What this object has found right before does not run again. Errors as
  // above.
  absl::StatusOr<NetworkBenchResult> RunNetwork(const NetworkBenchRequest& request);

  // Ends the Run in progress and all later ones, until Reset.
  void Cancel();
  void Reset();

 private:
  // A runner process: what it said, or how its candidate failed.
  using Step = std::variant<RunnerReply, Failure>;

  // `arena_bytes` 0: no arena is needed.
  absl::Status PrepareFiles(int64_t arena_bytes);
  absl::StatusOr<RunnerRequest> MakeRequest(const BenchRequest& request, Failure* refused);
  absl::StatusOr<KernelSpec> PlanKernel(absl::string_view workload, absl::string_view artifact,
                                        absl::string_view contract, Failure* refused);
  // A Failure: it does not work alone, or its outputs are wrong.
  absl::StatusOr<std::optional<Failure>> CheckAlone(const NetworkBenchRequest& request,
                                                    size_t index, const KernelSpec& spec);
  void NoteRight(const std::string& key);
  absl::StatusOr<NetworkBenchResult> RunNetworkProcess(const NetworkBenchRequest& request,
                                                       const RunnerRequest& message);
  absl::StatusOr<std::variant<ProcessLatencies, Failure>> RunProcess(const BenchRequest& request,
                                                                     const RunnerRequest& message,
                                                                     BenchResult& result);
  // The processes of a Run.
  absl::StatusOr<BenchResult> RunProcesses(const BenchRequest& request);
  // Candidate 0 alone, untimed: the checker keeps its outputs. A Failure: it does not work.
  absl::StatusOr<std::variant<std::monostate, Failure>> RunReference(const BenchRequest& request,
                                                                     const RunnerRequest& message);

  // Starts a runner, which waits for a word when it has given its outputs, and has those judged.
  absl::StatusOr<std::variant<CheckerReply, Failure>> StartChecked(const RunnerRequest& message,
                                                                   CheckerRequest check,
                                                                   const HostFiles& files,
                                                                   absl::Duration timeout);
  absl::StatusOr<Step> StartRunner(RunnerRequest message, const HostFiles& files,
                                   absl::Duration timeout);
  absl::StatusOr<Step> ReadRunner(RunnerEvent want, absl::Duration timeout);
  absl::StatusOr<Step> AwaitLock(const std::vector<std::string>& paths);
  absl::StatusOr<Failure> HowItEnded();
  absl::StatusOr<CheckerReply> AskChecker(const CheckerRequest& request);
  // Starts the checker where there is none, and waits for its answer.
  absl::StatusOr<CheckerReply> AnswerOfChecker(const CheckerRequest& request);

  absl::StatusOr<Child*> StartChild(const ChildOptions& options, std::unique_ptr<Child>& slot);
  void EndChild(std::unique_ptr<Child>& slot);
  absl::Status CancelledOr(const absl::Status& status);

  const RunBenchOptions options_;
  UniqueFd outputs_, arena_;
  int64_t arena_bytes_ = 0;
  std::set<std::string> found_right_;      // KeyOf.
  Effort effort_;                          // Of the Run in progress, so far.
  std::optional<OomKillWatch> oom_kills_;  // Since the runner was started.

  std::mutex mutex_;  // For all below; Run's thread alone makes children go away.
  std::unique_ptr<Child> runner_, checker_;
  bool asking_ = false;  // The checker is at work.
  bool cancelled_ = false;
};

}  // namespace burnish

#endif  // WORKER_RUNNER_RUN_BENCH_H_
