// What the generator owes: points of every derived sketch compute what the definition computes, in
// every element type, and few are refused.
#include "tuner/sketch/generator/derive.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/ir/lower.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/device_model.h"
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

// How many of the derived sketches have a nest for each of several blocks.
int BlockByBlockCount(const Program& workload, absl::string_view target_text) {
  const absl::StatusOr<Target> target = ParseTarget(target_text);
  CHECK_OK(target);
  int count = 0;
  for (const Sketch& sketch :
       GenerateSketches(workload, DeviceModelOf(*target), {.spaces = kGenerator})) {
    count += absl::StrContains(sketch.name, " nest");
  }
  return count;
}

Program SoftmaxOf(int64_t rows, int64_t columns) {
  return WorkloadOf({.name = "softmax",
                     .op = "softmax",
                     .inputs = {{rows, columns}},
                     .attributes = {{"axis", int64_t{1}}}});
}

TEST(GeneratorTest, NestsBlockByBlockWhereWorkersCannotShareOneOfTheWholeProgram) {
  EXPECT_EQ(BlockByBlockCount(SoftmaxOf(256, 160), "cpu:arch=znver4,threads=2"), 0);
  EXPECT_EQ(BlockByBlockCount(SoftmaxOf(1, 65536), "cpu:arch=znver4,threads=1"), 0);
  EXPECT_GT(BlockByBlockCount(SoftmaxOf(1, 65536), "cpu:arch=znver4,threads=2"), 0);
}

}  // namespace
}  // namespace burnish
