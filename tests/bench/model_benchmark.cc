// Builds a model of the zoo with default schedules and runs it: how long does a build take, and how
// long does which step?
//   model_benchmark resnet50 [threads] [seconds] [opt level] [image size]
// Images of less than 100 pixels are also compared with the graph interpreter, which is slow.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "base/cpu_info.h"
#include "base/status_macros.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/bundle_testing.h"
#include "compiler/driver/to_status.h"
#include "compiler/frontend/zoo.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/ir/parser.h"
#include "compiler/runtime/benchmark.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/schedule/trace.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "proto/builder_client.h"
#include "tuner/sketch/default_schedule.h"

namespace burnish {
namespace {

class AnalyticDefaults : public ScheduleSource {
 public:
  absl::StatusOr<std::vector<KnownSchedule>> Find(const ExtractedTask& task,
                                                  const Target& target) override {
    ASSIGN_OR_RETURN(const Program workload, ParseProgram(task.workload));
    const absl::Time start = Clock::Real().SteadyNow();
    const Trace trace = DefaultSchedule(workload, DeviceModelOf(target));
    const absl::MutexLock lock(&mutex_);
    spent_ += Clock::Real().SteadyNow() - start;
    return std::vector<KnownSchedule>{
        {.trace = PrintTrace(trace), .numerics = {.kind = NumericsClass::kReassociated}}};
  }
  // Of all threads together.
  absl::Duration spent() const {
    const absl::MutexLock lock(&mutex_);
    return spent_;
  }

 private:
  mutable absl::Mutex mutex_;
  absl::Duration spent_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
};

// Times what the builder takes.
class TimedBuilder : public Builder {
 public:
  absl::StatusOr<CompileReply> Build(const CompileRequest& request) override {
    const absl::Time start = Clock::Real().SteadyNow();
    absl::StatusOr<CompileReply> reply = client_.Build(request);
    spent_ += Clock::Real().SteadyNow() - start;
    item_count_ += request.items.size();
    return reply;
  }
  absl::Duration spent() const { return spent_; }
  size_t item_count() const { return item_count_; }

 private:
  BuilderClient client_;
  absl::Duration spent_ = absl::ZeroDuration();
  size_t item_count_ = 0;
};

absl::Status Run(const std::string& bundle, int threads, double seconds) {
  auto model =
      Model::LoadBytes({reinterpret_cast<const uint8_t*>(bundle.data()), bundle.size()}, {});
  if (!model.ok()) return ToStatus(model.status());
  std::vector<int> cpus;
  for (int i = 0; i < threads; ++i) cpus.push_back(i);
  auto pool = ThreadPool::Create({.thread_count = threads, .cpus = cpus});
  if (!pool.ok()) return ToStatus(pool.status());
  auto session = Session::Create(*model, std::shared_ptr<ThreadPool>(std::move(*pool)));
  if (!session.ok()) return ToStatus(session.status());
  const auto summary = Benchmark(**session, seconds);
  if (!summary.ok()) return ToStatus(summary.status());
  const auto profile = ProfileSteps(**session, 9);
  if (!profile.ok()) return ToStatus(profile.status());
  for (size_t i = 0; i < profile->size(); ++i) {
    const ModelStep& step = (*model)->manifest().steps[i];
    std::printf("%4zu %9.1f us %7.1f GFLOP/s  %s\n", i, static_cast<double>((*profile)[i]) * 1e-3,
                static_cast<double>(step.flop_count) / static_cast<double>((*profile)[i]),
                step.name.c_str());
  }
  std::printf("%d runs: min %.2f ms, median %.2f ms, p90 %.2f ms\n",
              static_cast<int>(summary->run_count), static_cast<double>(summary->min_ns) * 1e-6,
              static_cast<double>(summary->median_ns) * 1e-6,
              static_cast<double>(summary->p90_ns) * 1e-6);
  return absl::OkStatus();
}

absl::Status Check(const Graph& graph, const std::string& bundle, int threads) {
  const std::vector<TensorValue> inputs = RandomInputs(graph, 1);
  ASSIGN_OR_RETURN(const std::vector<TensorValue> want, InterpretGraph(graph, inputs));
  ASSIGN_OR_RETURN(const std::vector<TensorValue> got, RunBundle(bundle, graph, inputs, threads));
  for (const double tolerance : {1e-3, 1e-4, 1e-5, 1e-6}) {
    const std::string difference = CompareOutputs(want, got, tolerance);
    std::printf("within %g of the interpreter: %s\n", tolerance,
                difference.empty() ? "yes" : difference.c_str());
  }
  return absl::OkStatus();
}

absl::Status Main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "resnet50";
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 3;
  ASSIGN_OR_RETURN(const Target target, HostTarget(HostCpuInfo(), threads));
  const absl::Time start = Clock::Real().SteadyNow();
  const int64_t image_size = argc > 5 ? std::atoi(argv[5]) : 224;
  ASSIGN_OR_RETURN(const Graph graph, BuildZooModel(name, {.image_size = image_size}));
  const absl::Time made = Clock::Real().SteadyNow();
  AnalyticDefaults source;
  TimedBuilder builder;
  ASSIGN_OR_RETURN(const BuiltModel built,
                   BuildModel(graph, source, builder,
                              {.target = target, .opt_level = argc > 4 ? std::atoi(argv[4]) : 3}));
  const absl::Duration whole = Clock::Real().SteadyNow() - made;
  std::printf(
      "%s\n",
      absl::StrFormat("weights of the zoo %s; build %s: schedules %s, builder %s for %d items; "
                      "%d steps, %d kernels, arena %.1f MB, weights %.1f MB, bundle %.1f MB",
                      absl::FormatDuration(made - start), absl::FormatDuration(whole),
                      absl::FormatDuration(source.spent()), absl::FormatDuration(builder.spent()),
                      builder.item_count(), built.step_count, built.kernel_count,
                      static_cast<double>(built.arena_bytes) * 1e-6,
                      static_cast<double>(built.weights_bytes) * 1e-6,
                      static_cast<double>(built.bundle.size()) * 1e-6)
          .c_str());
  for (const TaskReport& task : built.tasks) {
    std::printf("%3d x %8.1f MFLOP, %d spills, %6d bytes of code  %s\n",
                static_cast<int>(task.weight), static_cast<double>(task.flop_count) * 1e-6,
                task.build.spill_count, static_cast<int>(task.build.code_bytes), task.name.c_str());
    for (const std::string& reason : task.rejected) std::printf("      not: %s\n", reason.c_str());
  }
  if (image_size < 100) RETURN_IF_ERROR(Check(graph, built.bundle, threads));
  return Run(built.bundle, threads, seconds);
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) {
  const absl::Status status = burnish::Main(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
