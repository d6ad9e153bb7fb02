// What a run job costs beside the timing itself: a candidate of 12 KB and few microseconds, with a
// method that hardly times, again and again.
//   bazel run //worker/runner:run_job_benchmark [COUNT]
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/self_path.h"
#include "proto/artifact_codec.h"
#include "worker/runner/runner_executor.h"
#include "worker/runner/test_candidates.h"

namespace burnish {
namespace {

void Report(const char* name, RunnerExecutor& executor, const RunJob& job, int count) {
  std::vector<double> milliseconds;
  for (int i = 0; i < count; ++i) {
    std::promise<JobOutcome> promise;
    const absl::Time start = Clock::Real().SteadyNow();
    executor.Start(ToSpec(job), {},
                   [&](JobOutcome outcome) { promise.set_value(std::move(outcome)); });
    const JobOutcome outcome = promise.get_future().get();
    milliseconds.push_back(absl::ToDoubleMilliseconds(Clock::Real().SteadyNow() - start));
    CHECK(std::holds_alternative<std::string>(outcome));
    const absl::StatusOr<RunResult> result = DecodeRunResult(std::get<std::string>(outcome));
    CHECK(result.ok() && result->measurements[0].latencies() != nullptr) << name;
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  std::printf("%-40s n=%d  median %.2f ms  p10 %.2f  p90 %.2f\n", name, count,
              milliseconds[count / 2], milliseconds[count / 10], milliseconds[count * 9 / 10]);
}

int Main(int count) {
  const absl::StatusOr<TempDir> folder = TempDir::Create("run-job-benchmark");
  CHECK(folder.ok());
  std::map<std::string, std::string> store;
  for (const char* kernel : {"RIGHT", "REVERSED"}) {
    store[ArtifactSha256(VectorArtifact(kernel))] = VectorArtifact(kernel);
  }
  RunnerExecutorOptions options{.host_cpu = HostCpuInfo(), .lock_folder = folder->path()};
  options.device = *ParseRunDevice("cpu", options.host_cpu);
  options.artifacts = std::make_shared<ArtifactCache>(
      [&](const std::string& sha256) -> absl::StatusOr<std::string> { return store.at(sha256); },
      1 << 20);
  options.bench = {.runner_program = *FindProgram("worker/runner/runner"),
                   .checker_program = *FindProgram("worker/runner/checker"),
                   .memory_bytes_max = 1 << 30};
  RunnerExecutor executor(options);

  RunJob job = VectorJob("RIGHT");
  job.method.repeat_count_min = 1;
  job.method.repeat_duration_min = absl::Nanoseconds(1);
  job.method.warm_up_min = absl::Nanoseconds(1);
  job.method.cold_policy = ColdPolicy::kWarm;
  Report("candidate 0 alone, warm", executor, job, count);
  job.candidates[0].artifact_sha256 = ArtifactSha256(VectorArtifact("REVERSED"));
  Report("beside candidate 0, warm", executor, job, count);
  job.method.cold_policy = ColdPolicy::kRotatedArena;
  job.method.arena_bytes = 0;
  Report("beside candidate 0, cold constants", executor, job, count);
  job.method = VectorJob("RIGHT").method;
  job.method.repeat_count_min = 0;
  job.method.repeat_duration_min = job.method.warm_up_min = absl::ZeroDuration();
  Report("the same with the default method", executor, job, count);
  return 0;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc > 1 ? std::atoi(argv[1]) : 100); }
