// Times the default schedule of every task of a zoo model, alone and with cold weights, beside the
// analytic model's word.
// usage: task_benchmark [MODEL] [THREADS] [avx2|host][+winograd][+bf16] [FILTER]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/check.h"
#include "base/cpu_info.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/graph/fuse_pass.h"
#include "compiler/ir/lower.h"
#include "compiler/schedule/trace.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "tests/bench/kernel_timing.h"
#include "tests/bench/zoo_tasks.h"
#include "tuner/cost_model/analytic_model.h"
#include "tuner/sketch/default_schedule.h"

namespace burnish {
namespace {

int Main(int argc, char** argv) {
  const std::string model = argc > 1 ? argv[1] : "resnet50";
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  const std::string mode = argc > 3 ? argv[3] : "host";
  const bool avx2 = mode.rfind("avx2", 0) == 0;
  const SketchOptions sketches{.algorithms = mode.find("+winograd") != std::string::npos};
  const std::string filter = argc > 4 ? argv[4] : "";
  const CpuInfo cpu = HostCpuInfo();
  const DeviceModel device = DeviceModelOf(BenchTarget(threads, avx2));
  const std::vector<ExtractedTask> tasks =
      MakeZooTasks(model, mode.find("+bf16") != std::string::npos ? DType::kBf16 : DType::kF32)
          .list.tasks;
  const double peak = FmaPeak(device.core.float_lanes(), threads);
  std::printf("%s, %d threads, FMA peak %.1f GFLOP/s, %s: %zu tasks\n", cpu.brand.c_str(), threads,
              peak, model.c_str(), tasks.size());
  double total = 0, chosen = 0;
  for (const ExtractedTask& task : tasks) {
    if (task.workload.find(filter) == std::string::npos) continue;
    const double before = Seconds();
    const Trace trace = DefaultSchedule(task.program, device, sketches);
    const double choose = Seconds() - before;
    chosen += choose;
    auto scheduled = ApplyTrace(trace, task.program);
    CHECK_OK(scheduled);
    auto lowered = Lower(*scheduled);
    CHECK_OK(lowered);
    const double start = Seconds();
    Compiled compiled = Compile(*lowered, avx2);
    const double compile = Seconds() - start;
    const double seconds = Time(compiled, threads);
    total += seconds * static_cast<double>(task.weight);
    const double rate = static_cast<double>(task.flop_count) / seconds * 1e-9;
    const Buffer* out = nullptr;
    for (const Buffer& buffer : task.program.buffers) {
      if (buffer.role == BufferRole::kOutput) out = &buffer;
    }
    std::string shape;
    for (int64_t extent : out->shape) shape += std::to_string(extent) + " ";
    std::printf(
        "%2d x %9.1f us %7.1f GFLOP/s %5.1f %%  model %9.1f us  spills %2d  choose %.2f s  "
        "compile %.0f ms  [%s] %s\n",
        static_cast<int>(task.weight), seconds * 1e6, rate, 100 * rate / peak,
        AnalyticSeconds(*lowered, device, threads) * 1e6,
        static_cast<int>(compiled.info.innermost_spill_count), choose, compile * 1e3, shape.c_str(),
        task.name.c_str());
    if (!filter.empty()) std::printf("%s\n%s", task.workload.c_str(), PrintTrace(trace).c_str());
    std::fflush(stdout);
  }
  std::printf("sum %.2f ms, schedules chosen in %.1f s\n", total * 1e3, chosen);
  return 0;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
