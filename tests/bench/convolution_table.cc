// Each convolution shape of a model with its default schedule, direct algorithms only: time and the
// share of the FMA peak measured in the same run, as a Markdown table. Weights are cold (as many
// copies in turn as exceed the last-level cache), activations warm, as they are inside of a model.
// usage: convolution_table [MODEL] [THREADS] [avx2|host]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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
#include "tuner/sketch/default_schedule.h"

namespace burnish {
namespace {

// Layers of one shape may be several tasks: with a residual addition, without ReLU.
struct Shape {
  std::string name;
  std::vector<int> tasks = {};  // One for each layer; repeats.
  double seconds = 0;           // Mean over the layers.
  double flop_count = 0;        // Likewise.
};

// "56 64-256 1x1 s2": input height, channels, kernel, stride.
std::string ShapeName(const Graph& graph, const GraphNode& node) {
  const auto& input = graph.value(node.inputs[0]).type.shape;
  const auto& weight = graph.value(node.inputs[1]).type.shape;
  const bool last = node.attributes.Int("channels_last", 0) != 0;
  const int64_t group = node.attributes.Int("group", 1);
  const std::vector<int64_t> strides = node.attributes.Ints("strides", {1, 1});
  return absl::StrCat(input[last ? 1 : 2], " ", weight[1] * group, "-", weight[0], " ", weight[2],
                      "x", weight[3], strides[0] == 1 ? "" : absl::StrCat(" s", strides[0]),
                      group == 1 ? "" : absl::StrCat(" g", group));
}

// In the order of the model.
std::vector<Shape> FindShapes(const Graph& graph, const Fusion& fusion, const TaskList& tasks) {
  std::vector<Shape> shapes;
  for (size_t g = 0; g < fusion.groups.size(); ++g) {
    const GraphNodeId anchor = fusion.groups[g].anchor;
    if (anchor < 0 || graph.nodes[anchor].op != "conv" || tasks.calls[g].task < 0) continue;
    const std::string name = ShapeName(graph, graph.nodes[anchor]);
    auto found = std::find_if(shapes.begin(), shapes.end(),
                              [&](const Shape& shape) { return shape.name == name; });
    if (found == shapes.end()) found = shapes.insert(shapes.end(), {.name = name});
    found->tasks.push_back(tasks.calls[g].task);
  }
  return shapes;
}

double TimeTask(const ExtractedTask& task, const DeviceModel& device, int threads, bool avx2) {
  const Trace trace = DefaultSchedule(task.program, device);
  auto scheduled = ApplyTrace(trace, task.program);
  CHECK_OK(scheduled);
  auto lowered = Lower(*scheduled);
  CHECK_OK(lowered);
  Compiled compiled = Compile(*lowered, avx2);
  return Time(compiled, threads);
}

int Main(int argc, char** argv) {
  const std::string model = argc > 1 ? argv[1] : "resnet50";
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  const bool avx2 = argc > 3 && std::string(argv[3]) == "avx2";
  const CpuInfo cpu = HostCpuInfo();
  const DeviceModel device = DeviceModelOf(BenchTarget(threads, avx2));
  const ZooTasks zoo = MakeZooTasks(model);
  const std::vector<ExtractedTask>& tasks = zoo.list.tasks;

  std::vector<double> seconds(tasks.size());  // 0: not timed yet.
  std::vector<Shape> shapes = FindShapes(zoo.graph, zoo.fusion, zoo.list);
  double peak = 0;  // Of all tries: what the machine reached once, it can reach.
  for (Shape& shape : shapes) {
    peak = std::max(peak, FmaPeak(device.core.float_lanes(), threads));
    for (const int task : shape.tasks) {
      if (seconds[task] == 0) seconds[task] = TimeTask(tasks[task], device, threads, avx2);
      shape.seconds += seconds[task] / static_cast<double>(shape.tasks.size());
      shape.flop_count +=
          static_cast<double>(tasks[task].flop_count) / static_cast<double>(shape.tasks.size());
    }
    std::fprintf(stderr, "%s: %.1f us\n", shape.name.c_str(), shape.seconds * 1e6);
  }
  std::printf("%s, %d threads, %s, FMA peak %.1f GFLOP/s, %s, direct, cold weights\n\n",
              cpu.brand.c_str(), threads, avx2 ? "AVX2" : "all features", peak, model.c_str());
  std::printf(
      "| in, Ci-Co, k, s | layers | us | GFLOP/s | %% of the peak |\n|---|---|---|---|---|\n");
  double total = 0;
  for (const Shape& shape : shapes) {
    const double rate = shape.flop_count / shape.seconds * 1e-9;
    total += shape.seconds * static_cast<double>(shape.tasks.size());
    std::printf("| %s | %zu | %.0f | %.1f | %.1f |\n", shape.name.c_str(), shape.tasks.size(),
                shape.seconds * 1e6, rate, 100 * rate / peak);
  }
  std::printf("\n%zu shapes, all layers together %.2f ms\n", shapes.size(), total * 1e3);
  return 0;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
