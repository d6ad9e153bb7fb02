// Every sketch of every kind of task: points apply, lower, and compute what the definition
// computes.
#include "tuner/sketch/sketch.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/ir/lower.h"
#include "compiler/schedule/primitive.h"
#include "compiler/target/device_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/default_schedule.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

std::vector<TaskCase> Cases() {
  const std::pair<std::string, AttributeValue> last = {"channels_last", int64_t{1}};
  return {
      {"conv3x3",
       "conv",
       {{1, 7, 5, 6}, {19, 6, 3, 3}, {19}},
       {last, {"pads", Ints{1, 1, 1, 1}}},
       true},
      {"conv3x3_s2",
       "conv",
       {{1, 9, 7, 5}, {37, 5, 3, 3}, {37}},
       {last, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}},
       true},
      {"conv1x1", "conv", {{2, 5, 5, 17}, {33, 17, 1, 1}}, {last}, false},
      {"conv1x1_even_shares", "conv", {{1, 5, 3, 9}, {96, 9, 1, 1}, {96}}, {last}, true},
      {"conv_dilated",
       "conv",
       {{1, 9, 9, 4}, {8, 4, 3, 3}},
       {last, {"pads", Ints{2, 2, 2, 2}}, {"dilations", Ints{2, 2}}},
       false},
      {"conv_grouped",
       "conv",
       {{1, 6, 6, 8}, {16, 4, 3, 3}},
       {last, {"pads", Ints{1, 1, 1, 1}}, {"group", int64_t{2}}},
       false},
      // Groups that are no whole vectors, of the output and of the input; one that is, without
      // rows.
      {"conv_grouped_vectors",
       "conv",
       {{1, 7, 6, 6}, {32, 3, 3, 3}, {32}},
       {last, {"pads", Ints{1, 1, 1, 1}}, {"group", int64_t{2}}},
       true},
      {"conv_grouped_narrow",
       "conv",
       {{1, 5, 7, 20}, {68, 5, 1, 1}, {68}},
       {last, {"group", int64_t{4}}},
       true},
      {"conv_grouped_strided",
       "conv",
       {{2, 7, 5, 9}, {57, 3, 3, 3}, {57}},
       {last, {"pads", Ints{1, 0, 2, 1}}, {"strides", Ints{2, 1}}, {"group", int64_t{3}}},
       true},
      {"conv_grouped_few_rows",
       "conv",
       {{1, 2, 3, 15}, {57, 5, 3, 3}, {57}},
       {last, {"pads", Ints{1, 1, 1, 1}}, {"group", int64_t{3}}},
       true},
      {"conv_grouped_pixel",
       "conv",
       {{1, 1, 1, 12}, {64, 6, 1, 1}},
       {last, {"group", int64_t{2}}},
       false},
      {"depthwise_multiplied",
       "conv",
       {{1, 6, 5, 7}, {21, 1, 3, 3}, {21}},
       {last, {"pads", Ints{1, 1, 1, 1}}, {"group", int64_t{7}}},
       true},
      {"conv_nchw", "conv", {{1, 5, 8, 9}, {6, 5, 3, 3}}, {{"pads", Ints{1, 1, 1, 1}}}, false},
      {"depthwise",
       "conv",
       {{1, 8, 7, 20}, {20, 1, 3, 3}, {20}},
       {last, {"pads", Ints{1, 1, 1, 1}}, {"group", int64_t{20}}},
       true},
      {"stem",
       "conv",
       {{1, 15, 13, 3}, {40, 3, 7, 7}, {40}},
       {last, {"pads", Ints{3, 3, 3, 3}}, {"strides", Ints{2, 2}}},
       true},
      {"dense", "dense", {{1, 300}, {70, 300}, {70}}, {}, true},
      {"dense_batch", "dense", {{5, 33}, {70, 33}}, {}, false},
      {"matmul", "matmul", {{9, 21}, {21, 35}}, {}, false, true},
      {"batch_matmul", "matmul", {{3, 9, 12}, {3, 12, 20}}, {}, false, true},
      {"batch_matmul_t",
       "matmul",
       {{2, 3, 9, 12}, {2, 3, 20, 12}},
       {{"trans_b", int64_t{1}}},
       false,
       true},
      {"max_pool",
       "max_pool",
       {{1, 9, 9, 20}},
       {last, {"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"average_pool",
       "average_pool",
       {{1, 8, 8, 20}},
       {last, {"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}},
      {"lrn", "lrn", {{1, 4, 3, 23}}, {last, {"size", int64_t{5}}, {"alpha", 0.5}, {"bias", 2.0}}},
      {"softmax", "softmax", {{5, 64}}, {{"axis", int64_t{1}}}},
      {"layer_norm",
       "layer_norm",
       {{6, 48}, {48}, {48}},
       {{"axis", int64_t{-1}}, {"epsilon", 1e-5}}},
      {"global_mean",
       "reduce_mean",
       {{1, 7, 7, 40}},
       {{"axes", Ints{1, 2}}, {"keepdims", int64_t{1}}}},
      {"add", "add", {{4, 50}, {4, 50}}, {}, true, true},
      {"gelu", "gelu", {{3, 100}}, {}},
      {"transpose", "transpose", {{3, 17, 20}}, {{"perm", Ints{0, 2, 1}}}},
      {"to_channels_last", "transpose", {{1, 3, 11, 37}}, {{"perm", Ints{0, 2, 3, 1}}}, true},
      {"channel_shuffle", "transpose", {{5, 4, 34}}, {{"perm", Ints{0, 2, 1}}}},
      {"interleave_two", "transpose", {{2, 21}}, {{"perm", Ints{1, 0}}}},
      {"columns", "transpose", {{2, 5, 7, 21}}, {{"perm", Ints{0, 3, 1, 2}}}},
      {"columns_wide", "transpose", {{3, 150}}, {{"perm", Ints{1, 0}}}},
      {"columns_between", "transpose", {{4, 3, 33}}, {{"perm", Ints{2, 0, 1}}}},
      {"columns_of_heads", "transpose", {{1, 9, 3, 24}}, {{"perm", Ints{0, 2, 3, 1}}}},
      {"concat", "concat", {{2, 5, 8}, {2, 7, 8}}, {{"axis", int64_t{1}}}, false, true},
  };
}

// ---- Questions to a trace.

bool HasStep(const Trace& trace, absl::string_view primitive) {
  return std::any_of(trace.begin(), trace.end(),
                     [&](const Step& step) { return step.primitive->name == primitive; });
}

// The step that makes a loop; null: none, the loop is an axis of the definition.
const Step* MakerOf(const Trace& trace, const std::string& loop) {
  for (const Step& step : trace) {
    if (absl::c_linear_search(step.outputs, loop)) return &step;
  }
  return nullptr;
}

// The axes of the definition that a loop is a part of.
std::set<std::string> AxesOf(const Trace& trace, const std::string& loop) {
  const Step* maker = MakerOf(trace, loop);
  if (maker == nullptr) return {loop};
  std::set<std::string> axes;
  for (const std::string& from : maker->inputs) axes.merge(AxesOf(trace, from));
  return axes;
}

// How the only parallel loop of a trace came to be: the split into parts.
const Step& DealingSplit(const Trace& trace) {
  const Step* split = nullptr;
  for (const Step& step : trace) {
    if (absl::string_view(step.primitive->name) != "parallel") continue;
    CHECK(split == nullptr) << PrintTrace(trace);
    split = MakerOf(trace, step.inputs[0]);
    CHECK(split != nullptr && split->Has("parts")) << PrintTrace(trace);
  }
  CHECK(split != nullptr) << PrintTrace(trace);
  return *split;
}

class SketchTest : public ::testing::TestWithParam<TaskCase> {};

void ExpectPointsOfEverySketchCompute(const Program& workload) {
  for (const char* features : {"cpu:arch=znver3,threads=2", "cpu:arch=znver4,threads=2"}) {
    ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget(features));
    int applied = 0, tried = 0;
    for (const Sketch& sketch :
         GenerateSketches(workload, DeviceModelOf(target), {.algorithms = true})) {
      const std::vector<Point> points = EnumeratePoints(sketch, 5000);
      ASSERT_FALSE(points.empty()) << sketch.name;
      Rng rng(RngStream{.seed = 1, .purpose = sketch.name});
      for (int i = 0; i < 4; ++i) {
        const Point& point = points[i == 0 ? 0 : rng.Below(points.size())];
        ASSERT_OK_AND_ASSIGN(const Trace trace, Bind(sketch, point));
        ++tried;
        const absl::StatusOr<Program> scheduled = ApplyTrace(trace, workload);
        // A prefetch may ask for more lines than there are slots, or few tiles have many sizes.
        if (!scheduled.ok() || !Lower(*scheduled).ok()) continue;
        ++applied;
        ExpectComputes(workload, trace, absl::StrCat(features, " ", sketch.name));
      }
    }
    EXPECT_GE(applied * 10, tried * 6) << features;
  }
}

TEST_P(SketchTest, PointsOfEverySketchComputeTheDefinition) {
  ExpectPointsOfEverySketchCompute(WorkloadOf(GetParam()));
}

TEST_P(SketchTest, DefaultScheduleComputesTheDefinition) {
  const Program workload = WorkloadOf(GetParam());
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver3,threads=2"));
  const Trace trace = DefaultSchedule(workload, DeviceModelOf(target));
  ExpectComputes(workload, trace, "default");
}

// Primes, which share two dimensions badly; and more workers than a small task has work for.
TEST_P(SketchTest, AnyNumberOfWorkersHasSketchesAndADefault) {
  const Program workload = WorkloadOf(GetParam());
  for (const char* arch : {"znver3", "sapphirerapids"}) {
    for (const int threads : {1, 3, 7, 12, 61, 1024}) {
      SCOPED_TRACE(absl::StrCat(arch, ", threads ", threads));
      ASSERT_OK_AND_ASSIGN(const Target target,
                           ParseTarget(absl::StrCat("cpu:arch=", arch, ",threads=", threads)));
      const DeviceModel device = DeviceModelOf(target);
      EXPECT_TRUE(
          absl::c_any_of(GenerateSketches(workload, device, {.algorithms = true}),
                         [](const Sketch& sketch) { return !EnumeratePoints(sketch, 1).empty(); }));
      if (threads != 7) continue;  // The model weighs all points.
      ASSERT_OK_AND_ASSIGN(const Program scheduled,
                           ApplyTrace(DefaultSchedule(workload, device), workload));
      EXPECT_THAT(Lower(scheduled), IsOk());
    }
  }
}

TEST_P(SketchTest, EveryDefaultThatAlgorithmsAllowComputesTheDefinition) {
  const Program workload = WorkloadOf(GetParam());
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver3,threads=2"));
  const std::vector<DefaultChoice> choices =
      DefaultSchedules(workload, DeviceModelOf(target), {.algorithms = true});
  ASSERT_FALSE(choices.empty());
  std::set<std::pair<std::string, int>> algorithms;
  for (size_t i = 0; i < choices.size(); ++i) {
    const Numerics& numerics = choices[i].numerics;
    EXPECT_TRUE(algorithms.insert({numerics.algorithm, numerics.parameter}).second);
    if (i > 0) EXPECT_GE(choices[i].seconds, choices[i - 1].seconds);
    ExpectComputes(workload, choices[i].trace,
                   absl::StrCat(numerics.algorithm, " ", numerics.parameter));
  }
  EXPECT_TRUE(algorithms.contains({"", 0}));
}

INSTANTIATE_TEST_SUITE_P(Tasks, SketchTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(TypedTasks, SketchTest, ::testing::ValuesIn(TypedTasks()),
                         [](const auto& info) { return info.param.name; });

// Every typed task gets more than the definition's own nest.
TEST(SketchTest, NoElementTypeIsLeftUnscheduled) {
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver3,threads=2"));
  for (const TaskCase& task : TypedTasks()) {
    const std::vector<Sketch> sketches = GenerateSketches(WorkloadOf(task), DeviceModelOf(target));
    EXPECT_TRUE(absl::c_any_of(sketches, [](const Sketch& sketch) {
      return absl::c_any_of(sketch.steps, [](const OpenStep& open) {
        return absl::string_view(open.step.primitive->name) == "vectorize";
      });
    })) << task.name;
  }
}

TEST(SketchTest, ProductsOfBytesSumInWiderIntegers) {
  ExpectPointsOfEverySketchCompute(WidenedProduct(9, 21, 35));
  ExpectPointsOfEverySketchCompute(WidenedProduct(5, 300, 70));
}

TEST(SketchTest, ChainsOfBytesComputeTheDefinition) {
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver4,threads=2"));
  // Of the longer row the sums would be twice as many as vectorize@1 takes.
  for (const int64_t columns : {130, 17000}) {
    const Program workload = RowDistances(3, columns);
    EXPECT_EQ(GenerateSketches(workload, DeviceModelOf(target)).front().name, "row_chain");
    ExpectPointsOfEverySketchCompute(workload);
  }
}

// Nobody named bytes: the rule asks the device's units, and the model knows their rates.
TEST(SketchTest, DefaultOfAProductOfBytesTakesTheInstructionForPairs) {
  for (const char* text : {"cpu:arch=znver4,threads=2", "cpu:arch=znver3,threads=2",
                           "cpu:arch=graniterapids,threads=2", "cpu:arch=x86-64-v2,threads=1"}) {
    ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget(text));
    const Trace trace = DefaultSchedule(WidenedProduct(49, 256, 96), DeviceModelOf(target));
    EXPECT_TRUE(HasStep(trace, "tensorize")) << text << "\n" << PrintTrace(trace);
  }
}

// Other workers read what one wrote; one alone has it in its cache.
TEST(SketchTest, ChainsOverRowsWritePastTheCachesForSeveralWorkers) {
  for (const auto& task : Cases()) {
    if (task.name != "softmax" && task.name != "layer_norm") continue;
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(absl::StrCat(task.name, " threads=", threads));
      ASSERT_OK_AND_ASSIGN(const Target target,
                           ParseTarget(absl::StrCat("cpu:arch=znver4,threads=", threads)));
      const Trace trace = DefaultSchedule(WorkloadOf(task), DeviceModelOf(target));
      EXPECT_EQ(HasStep(trace, "stream"), threads > 1) << PrintTrace(trace);
    }
  }
}

// Weights that every worker reads whole come from memory for each: products with many weights go
// by panels, those with many rows by rows.
TEST(SketchTest, ProductsWithManyWeightsAreDealtOutByPanels) {
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver4,threads=2"));
  const auto goes_by_rows = [&](int64_t rows, int64_t depth, int64_t columns) {
    const Program workload = WorkloadOf({"dense", "dense", {{rows, depth}, {columns, depth}}, {}});
    const Trace trace = DefaultSchedule(workload, DeviceModelOf(target));
    const std::string row_axis = workload.vars[workload.blocks.back().spatial[0]].name;
    return AxesOf(trace, DealingSplit(trace).inputs[0]).contains(row_axis);
  };
  EXPECT_FALSE(goes_by_rows(128, 768, 768));
  EXPECT_FALSE(goes_by_rows(128, 768, 3072));
  EXPECT_FALSE(goes_by_rows(128, 3072, 768));
  EXPECT_TRUE(goes_by_rows(4096, 64, 64));
}

TEST(SketchTest, AttentionGoesTheWholeWayByBlocksOfRows) {
  // Rows that no tile divides; one head, whose rows are split; many; heads that are no vectors;
  // keys that are no vectors, fewer than one of some target's, of one row, more than are written
  // out.
  for (const Ints& shape :
       {Ints{19, 32, 4, 16}, Ints{40, 64, 1, 24}, Ints{7, 48, 6, 8}, Ints{9, 32, 2, 13},
        Ints{37, 37, 2, 16}, Ints{5, 77, 1, 20}, Ints{6, 9, 3, 8}, Ints{1, 50, 4, 8},
        Ints{1, 33, 1, 8}, Ints{3, 1030, 1, 4}, Ints{2, 4101, 1, 4}}) {
    SCOPED_TRACE(testing::PrintToString(shape));
    const Program workload = AttentionWorkload(shape[0], shape[1], shape[2], shape[3]);
    for (const char* text : {"cpu:arch=znver3,threads=2", "cpu:arch=znver4,threads=2",
                             "cpu:arch=znver3,threads=1", "cpu:arch=x86-64-v2,threads=2"}) {
      ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget(text));
      const DeviceModel device = DeviceModelOf(target);
      const std::vector<Sketch> sketches = GenerateSketches(workload, device);
      EXPECT_THAT(sketches.front().name, ::testing::StartsWith("contraction_chain")) << text;
      for (const Sketch& sketch : sketches) {
        const std::vector<Point> points = EnumeratePoints(sketch, 5000);
        Rng rng(RngStream{.seed = 2, .purpose = sketch.name});
        for (int i = 0; i < 3; ++i) {
          ASSERT_OK_AND_ASSIGN(const Trace trace,
                               Bind(sketch, points[i == 0 ? 0 : rng.Below(points.size())]));
          ExpectComputes(workload, trace, absl::StrCat(text, " ", sketch.name));
        }
      }
    }
  }
}

TEST(SketchTest, AttentionOfDoublesComputesTheDefinition) {
  const Program workload = AttentionWorkload(19, 33, 2, 13, DType::kF64);
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver3,threads=2"));
  EXPECT_THAT(GenerateSketches(workload, DeviceModelOf(target)).front().name,
              ::testing::StartsWith("contraction_chain"));
  ExpectPointsOfEverySketchCompute(workload);
}

// Groups are an axis of their own, whatever their number: not a gather for each lane.
TEST(SketchTest, GroupedConvolutionsGetRegisterTilesOfOneGroup) {
  for (const int64_t group : {2, 3, 4}) {
    const Program workload = WorkloadOf(
        {.name = "grouped",
         .op = "conv",
         .inputs = {{1, 9, 9, 24 * group}, {17 * group, 24, 3, 3}},
         .attributes = {
             {"channels_last", int64_t{1}}, {"pads", Ints{1, 1, 1, 1}}, {"group", group}}});
    ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver4,threads=2"));
    const DeviceModel device = DeviceModelOf(target);
    for (const Sketch& sketch : GenerateSketches(workload, device)) {
      if (sketch.name == "unscheduled") continue;
      EXPECT_THAT(sketch.name, ::testing::StartsWith("border contraction/"));
    }
    // Per group as fast as one group alone, or nearly so: 17 channels are one vector and a bit.
    const Program alone =
        WorkloadOf({.name = "alone",
                    .op = "conv",
                    .inputs = {{1, 9, 9, 24}, {17, 24, 3, 3}},
                    .attributes = {{"channels_last", int64_t{1}}, {"pads", Ints{1, 1, 1, 1}}}});
    EXPECT_LT(DefaultSchedules(workload, device).front().seconds,
              1.2 * static_cast<double>(group) * DefaultSchedules(alone, device).front().seconds);
  }
}

TEST(SketchTest, FewRowsThatAreInterleavedDefaultToVectors) {
  // To channels last, and a shuffle of channels.
  for (const auto& [shape, perm] : std::vector<std::pair<Ints, Ints>>{
           {{1, 3, 96, 96}, {0, 2, 3, 1}}, {{1, 14, 14, 4, 34}, {0, 1, 2, 4, 3}}}) {
    const Program workload = WorkloadOf(
        {.name = "turn", .op = "transpose", .inputs = {shape}, .attributes = {{"perm", perm}}});
    ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver4,threads=2"));
    const Trace trace = DefaultSchedule(workload, DeviceModelOf(target));
    EXPECT_TRUE(HasStep(trace, "parallel")) << PrintTrace(trace);
    const auto vector = absl::c_find_if(trace, [](const Step& step) {
      return absl::string_view(step.primitive->name) == "vectorize";
    });
    ASSERT_NE(vector, trace.end()) << PrintTrace(trace);
    EXPECT_THAT(vector->GetInt("lanes"), IsOkAndHolds(16));
  }
}

// The default of a 1x1 convolution, and its axes by name: n, y, x, o.
struct PointwiseDefault {
  Trace trace;
  std::vector<std::string> axes;
};

PointwiseDefault DefaultFor(const Ints& input, const Ints& weight) {
  const Program workload = WorkloadOf({.name = "conv1x1",
                                       .op = "conv",
                                       .inputs = {input, weight},
                                       .attributes = {{"channels_last", int64_t{1}}}});
  const absl::StatusOr<Target> target = ParseTarget("cpu:arch=znver4,threads=2");
  CHECK_OK(target);
  PointwiseDefault found{.trace = DefaultSchedule(workload, DeviceModelOf(*target))};
  for (VarId axis : workload.blocks.back().spatial) found.axes.push_back(workload.vars[axis].name);
  return found;
}

// With a small L2, so that a small convolution has more rows than fit into it.
TEST(SketchTest, RowsInChunksThatStayInL2ComputeTheDefinition) {
  for (const int64_t kernel : {1, 3}) {
    const Program workload =
        WorkloadOf({"chunks",
                    "conv",
                    {{1, 9, 11, 20}, {40, 20, kernel, kernel}, {40}},
                    {{"channels_last", int64_t{1}},
                     {"pads", Ints{kernel / 2, kernel / 2, kernel / 2, kernel / 2}}},
                    true});
    ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver4,threads=2"));
    DeviceModel device = DeviceModelOf(target);
    device.core.l2.size_bytes = 4096;
    std::set<int64_t> chunks;
    for (const Sketch& sketch : GenerateSketches(workload, device)) {
      if (!absl::EndsWith(sketch.name, "rows/chunks")) continue;
      for (const Point& point : EnumeratePoints(sketch, 5000)) {
        if (!chunks.insert(point.back()).second) continue;
        ASSERT_OK_AND_ASSIGN(const Trace trace, Bind(sketch, point));
        ExpectComputes(workload, trace, sketch.name);
      }
    }
    EXPECT_THAT(chunks, ElementsAre(2, 4, 8));
  }
}

// Shares of a ragged 99 rows and 40 channels, a vector and a half or less.
TEST(SketchTest, ManyWorkersShareRowsAndChannels) {
  const Program workload = WorkloadOf({"grid",
                                       "conv",
                                       {{1, 9, 11, 5}, {40, 5, 3, 3}, {40}},
                                       {{"channels_last", int64_t{1}}, {"pads", Ints{1, 1, 1, 1}}},
                                       true});
  for (const int threads : {2, 4, 6, 8}) {
    ASSERT_OK_AND_ASSIGN(const Target target,
                         ParseTarget(absl::StrCat("cpu:arch=znver3,threads=", threads)));
    std::set<int64_t> row_parts;
    for (const Sketch& sketch : GenerateSketches(workload, DeviceModelOf(target))) {
      if (!absl::EndsWith(sketch.name, "contraction/grid")) continue;
      for (const Point& point : EnumeratePoints(sketch, 5000)) {
        if (!row_parts.insert(point[point.size() - 2]).second) continue;
        ASSERT_OK_AND_ASSIGN(const Trace trace, Bind(sketch, point));
        ExpectComputes(workload, trace, sketch.name);
      }
    }
    EXPECT_EQ(row_parts, threads == 8   ? std::set<int64_t>({2, 4})
                         : threads == 6 ? std::set<int64_t>({2, 3})
                                        : std::set<int64_t>());
  }
}

// 96 channels are three panels of 32: two workers with whole panels would have 64 and 32.
TEST(SketchTest, WorkersShareVectorsAndNotWholePanels) {
  const PointwiseDefault found = DefaultFor({1, 4, 4, 512}, {96, 512, 1, 1});
  const Step& split = DealingSplit(found.trace);
  // The axis itself, before it is cut into panels.
  EXPECT_THAT(split.inputs, ElementsAre(found.axes[3])) << PrintTrace(found.trace);
  EXPECT_THAT(split.GetInt("parts"), IsOkAndHolds(2));
}

// An input that every worker reads whole was another worker's for the most part.
TEST(SketchTest, WorkersShareRowsOfALargeInputAndChannelsOfManyWeights) {
  const auto dealt = [](const PointwiseDefault& found) {
    const Step& split = DealingSplit(found.trace);
    EXPECT_THAT(split.GetInt("parts"), IsOkAndHolds(2));
    return AxesOf(found.trace, split.inputs[0]);
  };
  const PointwiseDefault large_input = DefaultFor({1, 56, 56, 256}, {128, 256, 1, 1});
  EXPECT_THAT(dealt(large_input),
              UnorderedElementsAre(large_input.axes[0], large_input.axes[1], large_input.axes[2]));
  const PointwiseDefault many_weights = DefaultFor({1, 7, 7, 512}, {2048, 512, 1, 1});
  EXPECT_THAT(dealt(many_weights), UnorderedElementsAre(many_weights.axes[3]));
}

TEST(SketchTest, DeepThreeByThreeConvolutionsDefaultToWinogradWhereItIsAllowed) {
  const Program workload =
      WorkloadOf({.name = "deep",
                  .op = "conv",
                  .inputs = {{1, 28, 28, 128}, {128, 128, 3, 3}},
                  .attributes = {{"channels_last", int64_t{1}}, {"pads", Ints{1, 1, 1, 1}}}});
  for (const char* text : {"cpu:arch=znver3,threads=2", "cpu:arch=znver4,threads=1"}) {
    ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget(text));
    const DeviceModel device = DeviceModelOf(target);
    const auto choices = DefaultSchedules(workload, device, {.algorithms = true});
    EXPECT_GT(choices.front().numerics.parameter, 0) << text;
    EXPECT_LT(choices.front().seconds, 0.7 * DefaultSchedules(workload, device).front().seconds);
  }
}

// Shapes of tests fit into a cache, where no block is asked for: here they are.
TEST(SketchTest, WinogradBlockByBlockComputesTheDefinition) {
  for (const int64_t stride : {1, 2}) {
    const Program workload = WorkloadOf({.name = "blocks",
                                         .op = "conv",
                                         .inputs = {{1, 11, 15, 3}, {8, 3, 3, 3}},
                                         .attributes = {{"channels_last", int64_t{1}},
                                                        {"strides", Ints{stride, stride}},
                                                        {"pads", Ints{1, 1, 1, 1}}}});
    ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver3,threads=2"));
    int tested = 0;
    for (const Sketch& sketch :
         GenerateSketches(workload, DeviceModelOf(target), {.algorithms = true})) {
      if (!absl::StrContains(sketch.name, "winograd/tiles")) continue;
      for (const int64_t blocks : {2, 4}) {
        Point point;
        for (const Decision& decision : sketch.decisions) {
          point.push_back(decision.name == "blocks" ? blocks : decision.values.front());
        }
        ASSERT_OK_AND_ASSIGN(const Trace trace, Bind(sketch, point));
        ExpectComputes(workload, trace, absl::StrCat("stride ", stride, ", ", blocks, " blocks"));
        ++tested;
      }
    }
    EXPECT_EQ(tested, 2);
  }
}

}  // namespace
}  // namespace burnish
