// Sketches in every element type, the whole way to machine code: a point of each sketch of each
// typed task computes what the definition computes, for every instruction set that this host has.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/ir/lower.h"
#include "compiler/schedule/trace.h"
#include "compiler/target/device_model.h"
#include "gtest/gtest.h"
#include "tests/property/schedule_check.h"
#include "tuner/sketch/rules/rule_test_util.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

// Of a sketch, that are tried.
constexpr int64_t kPointsMax = 5000;

struct Lowered {
  std::string name;
  Program program;
};

// Of the generator's sketches of a task, for each target.
constexpr size_t kDerivedMax = 4;

// Those of templates, and some of the generator's.
std::vector<Sketch> SketchesOf(const Program& workload, const DeviceModel& device) {
  std::vector<Sketch> sketches = GenerateSketches(workload, device);
  std::vector<Sketch> derived = GenerateSketches(workload, device, {.spaces = kGenerator});
  derived.pop_back();  // The unscheduled program, which templates have too.
  Rng rng(RngStream{.seed = 6, .purpose = "derived"});
  for (size_t i = 0; i < kDerivedMax && i < derived.size(); ++i) {
    std::swap(derived[i], derived[i + rng.Below(derived.size() - i)]);
    sketches.push_back(derived[i]);
  }
  return sketches;
}

// A random point of each sketch for `target`.
std::vector<Lowered> PointsOf(const Program& workload, absl::string_view target_text) {
  std::vector<Lowered> points;
  const absl::StatusOr<Target> target = ParseTarget(target_text);
  EXPECT_THAT(target, IsOk());
  if (!target.ok()) return points;
  for (const Sketch& sketch : SketchesOf(workload, DeviceModelOf(*target))) {
    const std::vector<Point> valid = EnumeratePoints(sketch, kPointsMax);
    Rng rng(RngStream{.seed = 5, .purpose = sketch.name});
    const Trace trace = StepsAt(sketch.steps, valid[rng.Below(valid.size())]);
    const absl::StatusOr<Program> scheduled = ApplyTrace(trace, workload);
    // A prefetch may ask for more lines than there are slots.
    if (!scheduled.ok()) continue;
    absl::StatusOr<Program> lowered = Lower(*scheduled);
    EXPECT_THAT(lowered, IsOk()) << PrintTrace(trace);
    if (!lowered.ok()) continue;
    points.push_back({absl::StrCat(target_text, " ", sketch.name, "\n", PrintTrace(trace)),
                      *std::move(lowered)});
  }
  return points;
}

// Vectors of 16, 32 and 64 bytes, whatever the instruction set has.
void ExpectCompiledPointsCompute(const Program& workload) {
  RandomProgram defined{.program = workload, .arguments = ArgumentsOf(workload)};
  for (const Block& block : workload.blocks) {
    for (VarId axis : block.reduction) defined.term_count *= MaxExtent(workload, axis);
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, ExpectedResults(defined, workload));
  std::vector<Lowered> points;
  for (const char* arch : {"x86-64-v2", "znver3", "znver4"}) {
    for (Lowered& point : PointsOf(workload, absl::StrCat("cpu:arch=", arch, ",threads=2"))) {
      points.push_back(std::move(point));
    }
  }
  std::vector<CompiledCase> cases;
  for (const Lowered& point : points) cases.push_back({&defined, &want, &point.program});
  const bool of_bf16 =
      std::any_of(workload.buffers.begin(), workload.buffers.end(),
                  [](const Buffer& buffer) { return buffer.dtype == DType::kBf16; });
  for (const CodegenTarget& target : HostTargets(of_bf16)) {
    const std::vector<absl::Status> results = CheckCompiled(target, cases);
    for (size_t i = 0; i < results.size(); ++i) EXPECT_THAT(results[i], IsOk()) << points[i].name;
  }
}

class TypedSketchTest : public ::testing::TestWithParam<TaskCase> {};

TEST_P(TypedSketchTest, CompiledPointsComputeTheDefinition) {
  ExpectCompiledPointsCompute(WorkloadOf(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Tasks, TypedSketchTest, ::testing::ValuesIn(TypedTasks()),
                         [](const auto& info) { return info.param.name; });

TEST(TypedSketchTest, CompiledProductsOfBytesSumInWiderIntegers) {
  ExpectCompiledPointsCompute(WidenedProduct(9, 21, 35));
}

// By the instruction for pairs of products, of every width.
TEST(TypedSketchTest, CompiledPairsOfProductsOfBytesComputeTheDefinition) {
  ExpectCompiledPointsCompute(WidenedProduct(9, 28, 48));
}

TEST(TypedSketchTest, CompiledChainsOfBytesComputeTheDefinition) {
  ExpectCompiledPointsCompute(RowDistances(5, 130));
  ExpectCompiledPointsCompute(RowDistances(4, 192));
}

TEST(TypedSketchTest, CompiledAttentionOfDoublesComputesTheDefinition) {
  ExpectCompiledPointsCompute(AttentionWorkload(19, 33, 2, 13, DType::kF64));
}

}  // namespace
}  // namespace burnish
