// What the generator owes: points of every derived sketch compute what the definition computes, in
// every element type, and few are refused.
#include "tuner/sketch/generator/derive.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/ir/lower.h"
#include "compiler/target/device_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

constexpr int64_t kPointsMax = 2000;
constexpr int kPointsPerSketch = 3;

void ExpectDerivedPointsCompute(const Program& workload, absl::string_view target_text) {
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget(target_text));
  int applied = 0, tried = 0;
  std::string refused;
  const std::vector<Sketch> sketches =
      GenerateSketches(workload, DeviceModelOf(target), {.spaces = kGenerator});
  for (const Sketch& sketch : sketches) {
    const std::vector<Point> points = EnumeratePoints(sketch, kPointsMax);
    ASSERT_FALSE(points.empty()) << sketch.name;
    Rng rng(RngStream{.seed = 7, .purpose = sketch.name});
    for (int i = 0; i < kPointsPerSketch; ++i) {
      const Point& point = points[rng.Below(points.size())];
      ASSERT_OK_AND_ASSIGN(const Trace trace, Bind(sketch, point));
      ++tried;
      const absl::StatusOr<Program> scheduled = ApplyTrace(trace, workload);
      const absl::Status lowered = scheduled.ok() ? Lower(*scheduled).status() : scheduled.status();
      if (!lowered.ok()) {
        absl::StrAppend(&refused, sketch.name, ": ", lowered.message(), "\n");
        continue;
      }
      ++applied;
      ExpectComputes(workload, trace, absl::StrCat(target_text, " ", sketch.name));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GE(applied * 10, tried * 9) << refused;
}

class DerivedTest : public ::testing::TestWithParam<TaskCase> {};

TEST_P(DerivedTest, PointsComputeTheDefinition) {
  const Program workload = WorkloadOf(GetParam());
  ExpectDerivedPointsCompute(workload, "cpu:arch=znver3,threads=2");
  ExpectDerivedPointsCompute(workload, "cpu:arch=znver4,threads=3");
}

INSTANTIATE_TEST_SUITE_P(Tasks, DerivedTest, ::testing::ValuesIn(TypedTasks()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace burnish
