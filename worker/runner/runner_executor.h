// Executes run jobs: gets the artifacts, runs each candidate in processes of its own, and says what
// came out of it.
#ifndef WORKER_RUNNER_RUNNER_EXECUTOR_H_
#define WORKER_RUNNER_RUNNER_EXECUTOR_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/cpu_info.h"
#include "compiler/target/target.h"
#include "proto/run_job.h"
#include "proto/synchronize.h"
#include "worker/agent/slot_executor.h"
#include "worker/runner/artifact_cache.h"
#include "worker/runner/run_bench.h"
#include "worker/runner/run_device.h"

namespace burnish {

struct RunnerExecutorOptions {
  RunDevice device = {};
  CpuInfo host_cpu = {};
  std::string host = "";    // For the record, like `worker`.
  std::string worker = "";  // Worker id.
  // The same for all processes of this host that measure; see measuring_lock.h.
  std::string lock_folder = "/tmp";
  std::shared_ptr<ArtifactCache> artifacts = nullptr;  // Never null.
  RunBenchOptions bench = {};
};

// The measuring method's version 3, of which this is the description: zeros of a MeasureMethod
// become 20 ms of warm-up and 5 repeats of at least 1 ms; constants are where a call in the whole
// model finds them, in the last cache or in memory (ColdArenaBytes); probe kernel and
// candidate 0 are timed before and after, in the window of the measuring lock. In a model's order
// (kernel_sequence.h) each pass is timed step by step, and the probe kernel around all of them.
// Version 2 had all constants in memory, also those of a model that the last cache holds.
// Version 1 left constants warm that are larger than half of the arena, which is the last cache,
// and gave up after any one repeat far above the incumbent.
class RunnerExecutor : public SlotExecutor {
 public:
  static constexpr int kMethodVersion = kMeasureMethodVersion;
  // Around the incumbent, where more repeats are worth their time.
  static constexpr double kNearRatio = 1.1;

  explicit RunnerExecutor(RunnerExecutorOptions options);
  ~RunnerExecutor() override;

  void TellWaiting(std::function<void(bool waiting)> tell) override;
  void Start(const JobSpec& job, const Lease& lease, Done done) override;
  void Cancel() override;

 private:
  struct Execution {
    std::string payload;
    Done done;
  };

  RunBenchOptions BenchOptions();
  void Loop();
  JobOutcome Execute(const std::string& payload);
  // Its target. Any error: this slot cannot do the job, and is not at fault.
  absl::StatusOr<Target> CheckJob(const RunJob& job) const;
  absl::Status CheckMemory(absl::string_view what, int64_t bytes) const;
  // OUT_OF_RANGE: as CheckJob. Other errors are this worker's.
  absl::StatusOr<RunResult> RunAll(const RunJob& job, const Target& target,
                                   ArtifactMissing& missing);
  absl::StatusOr<Measurement> RunOne(const RunCandidate& candidate, const RunJob& job,
                                     const Target& target, ArtifactMissing& missing);
  // Of a job with a model's order.
  absl::StatusOr<RunResult> RunNetwork(const RunJob& job, const ModelOrder& order,
                                       const Target& target, ArtifactMissing& missing);
  // The environment's part that does not depend on how the measurement went.
  void SetPlace(const Target& target, const RunCpus& used, Environment& environment) const;
  std::vector<std::string> LockPaths(const RunCpus& used) const;
  // nullptr: not in the store any more, and added to `missing`.
  absl::StatusOr<std::shared_ptr<const std::string>> GetArtifact(const std::string& sha256,
                                                                 ArtifactMissing& missing);

  const RunnerExecutorOptions options_;
  const Environment host_environment_;
  std::function<void(bool)> tell_waiting_;
  RunBench bench_;

  std::mutex mutex_;  // For all below.
  std::condition_variable changed_;
  std::optional<Execution> next_;
  bool executing_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

// What outputs of this class may be away from the oracle's, as tensor error.
double ErrorBound(const Numerics& numerics);

}  // namespace burnish

#endif  // WORKER_RUNNER_RUNNER_EXECUTOR_H_
