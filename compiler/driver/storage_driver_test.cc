// Models whose layers are stored in fewer bits, through the driver, the builder and the runtime.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/cpu_info.h"
#include "base/status_matchers.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/bundle_testing.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/quantize_graph.h"
#include "compiler/runtime/bundle.h"
#include "compiler/target/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/builder_client.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Shape = std::vector<int64_t>;

Target Host(int threads) { return *HostTarget(HostCpuInfo(), threads); }

Builder& SharedBuilder() {
  static BuilderClient& builder = *new BuilderClient();
  return builder;
}

// Filters that keep the size of what they read. Those of the third come in equal pairs, of which
// the fourth takes differences with large weights: its rounding costs more than that of all others.
ValueId Filters(Graph& graph, int number) {
  const Shape shape = {8, 8, 3, 3};
  const TensorType type{DType::kF32, shape};
  const ValueId random = AddRandomConstant(graph, "random", shape, 10 + number);
  std::vector<double> values = ToDoubles(type, *graph.value(random).data);
  const size_t filter = values.size() / 8;
  for (size_t k = 0; k < values.size(); ++k) {
    values[k] /= 6;  // Of 72 terms, half of which a ReLU took.
    if (number == 2 && k / filter % 2 == 1) values[k] = values[k - filter];
    if (number == 3) values[k] += k / 9 % 2 == 0 ? 8 : -8;
  }
  return AddConstant(graph, absl::StrCat("w", number), type, FromDoubles(DType::kF32, values));
}

// Six convolutions with residuals, and a dense end.
Graph DeepGraph() {
  Graph graph;
  graph.name = "deep";
  ValueId x = AddInput(graph, "x", {DType::kF32, {1, 8, 9, 7}});
  for (int i = 0; i < 6; ++i) {
    const ValueId w = Filters(graph, i);
    // Pairs of the third stay equal.
    const ValueId b = AddConstant(graph, absl::StrCat("b", i), {DType::kF32, {8}},
                                  FromDoubles(DType::kF32, std::vector<double>(8, 0.1)));
    const ValueId y = *AddOp(graph, "conv", {x, w, b},
                             MakeAttributes({{"strides", Shape{1, 1}},
                                             {"pads", Shape(4, 1)},
                                             {"dilations", Shape{1, 1}},
                                             {"group", int64_t{1}}}),
                             absl::StrCat("conv", i));
    x = Op(graph, "relu", {i % 2 == 1 ? Op(graph, "add", {y, x}) : y});
  }
  x = Op(graph, "reshape", {x}, {{"shape", Shape{1, 504}}});
  const ValueId w = AddRandomConstant(graph, "w", {10, 504}, 60);
  graph.outputs = {*AddOp(graph, "dense", {x, w}, {}, "end")};
  graph.values[graph.outputs[0]].name = "y";
  return graph;
}

// What its values hold on random inputs, by definition of the operators.
std::map<std::string, ValueRange> RangesOf(Graph graph) {
  EXPECT_THAT(PrepareToQuantize(graph), IsOk());
  const std::vector<ValueId> values = ValuesToObserve(graph);
  Graph observed = graph;
  observed.outputs = values;
  ValueRanges ranges;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const auto outputs = InterpretGraph(observed, RandomInputs(observed, seed));
    EXPECT_THAT(outputs, IsOk());
    for (size_t i = 0; outputs.ok() && i < values.size(); ++i) {
      for (const double value : (*outputs)[i].floats) {
        ranges[values[i]].least = std::min(ranges[values[i]].least, value);
        ranges[values[i]].greatest = std::max(ranges[values[i]].greatest, value);
      }
    }
  }
  return NamedRanges(graph, ranges);
}

BuildModelOptions Options(double budget, DType type = DType::kBf16) {
  return {.target = Host(2), .select = {.error_budget = budget}, .storage = {.type = type}};
}

absl::StatusOr<BuiltModel> Build(const Graph& graph, const BuildModelOptions& options) {
  DefaultScheduleSource source;
  return BuildModel(graph, source, SharedBuilder(), options);
}

int CountLayers(const BuiltModel& built, DType type) {
  return static_cast<int>(
      std::count_if(built.layers.begin(), built.layers.end(),
                    [&](const LayerReport& layer) { return layer.type == type; }));
}

BundleManifest ManifestOf(const BuiltModel& built) {
  return BundleReader::FromBytes(
             {reinterpret_cast<const uint8_t*>(built.bundle.data()), built.bundle.size()})
      ->manifest();
}

void ExpectRunsLikeTheGraph(const Graph& graph, const BuiltModel& built, double tolerance) {
  const std::vector<TensorValue> inputs = RandomInputs(graph, 7);
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(graph, inputs));
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                       RunBundle(built.bundle, graph, inputs, 2));
  EXPECT_EQ(CompareOutputs(want, got, tolerance), "");
}

TEST(StorageDriverTest, AllLayersAreNarrowWhereTheBudgetAllowsIt) {
  const Graph graph = DeepGraph();
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, Options(1)));
  EXPECT_THAT(built.layers, AllOf(SizeIs(7), Each(Field(&LayerReport::type, DType::kBf16))));
  ASSERT_TRUE(built.measured_error.has_value());
  EXPECT_GT(*built.measured_error, 1e-4);
  EXPECT_EQ(built.measured_on, "random inputs");
  const NumberNotes notes = ManifestOf(built).notes;
  EXPECT_EQ(notes.error, *built.measured_error);
  EXPECT_EQ(notes.measured_on, "random inputs");
  EXPECT_THAT(notes.step_types, Contains(ElementType::kBf16));
  ExpectRunsLikeTheGraph(graph, built, 2 * *built.measured_error + 0.02);
}

TEST(StorageDriverTest, LayersThatCostMostGoBackToF32) {
  const Graph graph = DeepGraph();
  ASSERT_OK_AND_ASSIGN(const BuiltModel all, Build(graph, Options(1)));
  ASSERT_TRUE(all.measured_error.has_value());
  const double budget = *all.measured_error / 2;
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, Options(budget)));
  ASSERT_TRUE(built.measured_error.has_value());
  EXPECT_LE(*built.measured_error, budget);
  const int wide = CountLayers(built, DType::kF32);
  EXPECT_GE(wide, 1);
  EXPECT_LE(wide, 4);
  for (const LayerReport& layer : built.layers) {
    if (layer.name == "conv3") EXPECT_EQ(layer.type, DType::kF32);
  }
  EXPECT_EQ(built.storage.layers.count("conv3"), 1u);
  // Built so without asking again, it is the same bundle.
  BuildModelOptions again = Options(budget);
  again.storage = built.storage;
  ASSERT_OK_AND_ASSIGN(const BuiltModel same, Build(graph, again));
  EXPECT_TRUE(same.bundle == built.bundle);
  ExpectRunsLikeTheGraph(graph, built, 2 * budget + 0.02);
}

TEST(StorageDriverTest, WithoutABudgetForItTheModelIsThatInF32) {
  const Graph graph = DeepGraph();
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, Options(1e-9)));
  EXPECT_EQ(CountLayers(built, DType::kBf16), 0);
  EXPECT_FALSE(built.storage.narrows());
  ASSERT_OK_AND_ASSIGN(const BuiltModel wide, Build(graph, Options(1e-9, DType::kF32)));
  EXPECT_TRUE(built.bundle == wide.bundle);
  EXPECT_THAT(wide.layers, IsEmpty());
  EXPECT_THAT(ManifestOf(wide).notes.step_types, IsEmpty());
}

// The choice alone, as a study makes it, stands when the model is built so.
TEST(StorageDriverTest, StorageIsChosenWithoutTheBuild) {
  const Graph graph = DeepGraph();
  DefaultScheduleSource source;
  ASSERT_OK_AND_ASSIGN(const BuiltModel all, Build(graph, Options(1)));
  const BuildModelOptions options = Options(*all.measured_error / 2);
  ASSERT_OK_AND_ASSIGN(const FloatStorage chosen,
                       ChooseStorage(graph, source, SharedBuilder(), options));
  EXPECT_TRUE(chosen.narrows());
  BuildModelOptions as_chosen = options;
  as_chosen.storage = chosen;
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, as_chosen));
  EXPECT_EQ(built.storage, chosen);
  EXPECT_LT(*built.measured_error, options.select.error_budget);
}

TEST(StorageDriverTest, ErrorsAreMeasuredOnTheExamples) {
  const Graph graph = DeepGraph();
  BuildModelOptions options = Options(1);
  options.examples.source = "2 examples of data";
  for (int e = 0; e < 2; ++e) {
    // Of one value: much of it is exact in bf16.
    const std::vector<float> values(8 * 9 * 7, 0.25f * static_cast<float>(e + 1));
    ExampleInputs::Array array{.shape = {1, 8, 9, 7}};
    array.dense.resize(values.size() * sizeof(float));
    std::memcpy(array.dense.data(), values.data(), array.dense.size());
    options.examples.examples.push_back({array});
  }
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, options));
  ASSERT_OK_AND_ASSIGN(const BuiltModel random, Build(graph, Options(1)));
  EXPECT_NE(*built.measured_error, *random.measured_error);
  EXPECT_EQ(ManifestOf(built).notes.measured_on, "2 examples of data");
  // Where the examples cannot be run nothing is promised.
  options.examples.examples[1][0].dense.resize(4);
  EXPECT_THAT(Build(graph, options),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("cannot be measured")));
}

TEST(StorageDriverTest, LayersAreQuantizedAsFarAsTheBudgetAllowsIt) {
  const Graph graph = DeepGraph();
  BuildModelOptions options = Options(1, DType::kI8);
  options.storage.ranges = RangesOf(graph);
  ASSERT_OK_AND_ASSIGN(const BuiltModel all, Build(graph, options));
  EXPECT_THAT(all.layers, AllOf(SizeIs(7), Each(Field(&LayerReport::type, DType::kI8))));
  ASSERT_TRUE(all.measured_error.has_value());
  EXPECT_GT(*all.measured_error, 1e-3);
  EXPECT_LT(*all.measured_error, 0.5);
  EXPECT_THAT(ManifestOf(all).notes.step_types, Contains(ElementType::kU8));
  ExpectRunsLikeTheGraph(graph, all, 2 * *all.measured_error);
  // A third of the error, with some of the layers.
  options.select.error_budget = *all.measured_error / 3;
  ASSERT_OK_AND_ASSIGN(const BuiltModel some, Build(graph, options));
  ASSERT_TRUE(some.measured_error.has_value());
  EXPECT_LE(*some.measured_error, options.select.error_budget);
  EXPECT_GE(CountLayers(some, DType::kI8), 1);
  EXPECT_GE(CountLayers(some, DType::kF32), 1);
  ExpectRunsLikeTheGraph(graph, some, 2 * options.select.error_budget);
  // Built so without asking again, it is the same bundle.
  options.storage = some.storage;
  ASSERT_OK_AND_ASSIGN(const BuiltModel same, Build(graph, options));
  EXPECT_TRUE(same.bundle == some.bundle);
  // None at all.
  options.select.error_budget = 1e-9;
  ASSERT_OK_AND_ASSIGN(const BuiltModel none, Build(graph, options));
  EXPECT_EQ(CountLayers(none, DType::kF32), 7);
}

// Says that narrow convolutions take half the time, and quantized ones a fifth.
class Estimates : public ScheduleSource {
 public:
  absl::StatusOr<std::vector<KnownSchedule>> Find(const ExtractedTask& task,
                                                  const Target& target) override {
    const bool is_bf16 = absl::StrContains(task.workload, "bf16");
    const bool is_f16 = absl::StrContains(task.workload, "f16") && !is_bf16;
    if (!absl::StrContains(task.name, "conv")) {
      return std::vector<KnownSchedule>{{.estimated_ns = 10}};
    }
    const bool is_i8 = absl::StrContains(task.workload, "i8");
    return std::vector<KnownSchedule>{{.estimated_ns = is_i8     ? 200.0
                                                       : is_bf16 ? 500.0
                                                       : is_f16  ? 900.0
                                                                 : 1000.0}};
  }
};

TEST(StorageDriverTest, TheFastestStorageIsChosen) {
  const Graph graph = DeepGraph();
  Estimates source;
  BuildModelOptions options = Options(0.5, DType::kF32);
  options.fastest_storage = true;
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, BuildModel(graph, source, SharedBuilder(), options));
  EXPECT_GE(CountLayers(built, DType::kBf16), 6);
  EXPECT_EQ(CountLayers(built, DType::kF16), 0);
  EXPECT_LE(*built.measured_error, 0.5);
  // Where nothing is known to be faster, all stays in f32.
  ASSERT_OK_AND_ASSIGN(const BuiltModel same, Build(graph, options));
  EXPECT_FALSE(same.storage.narrows());
}

// With ranges 8 bits are a choice, and what they cost too much for may be in 16 bits.
TEST(StorageDriverTest, TheFastestMixtureHasAllTypes) {
  const Graph graph = DeepGraph();
  Estimates source;
  BuildModelOptions options = Options(1, DType::kF32);
  options.fastest_storage = true;
  options.storage.ranges = RangesOf(graph);
  const auto build = [&] { return BuildModel(graph, source, SharedBuilder(), options); };
  ASSERT_OK_AND_ASSIGN(const BuiltModel all, build());
  EXPECT_GE(CountLayers(all, DType::kI8), 6);
  options.select.error_budget = *all.measured_error / 2;
  ASSERT_OK_AND_ASSIGN(const BuiltModel some, build());
  EXPECT_LE(*some.measured_error, options.select.error_budget);
  EXPECT_GE(CountLayers(some, DType::kI8), 1);
  EXPECT_GE(CountLayers(some, DType::kBf16), 1);
  ExpectRunsLikeTheGraph(graph, some, 2 * options.select.error_budget);
}

// Products gain in 8 bits alone, and all else more in bfloat16: no layer says so of itself.
class Bf16PaysBetweenProducts : public ScheduleSource {
 public:
  absl::StatusOr<std::vector<KnownSchedule>> Find(const ExtractedTask& task,
                                                  const Target& target) override {
    const bool is_product =
        absl::StrContains(task.name, "conv") || absl::StrContains(task.name, "dense");
    const bool is_bf16 = absl::StrContains(task.workload, "bf16");
    const double ns = is_product ? (absl::StrContains(task.workload, "i8") ? 500 : 1000)
                      : is_bf16  ? 10
                                 : 500;
    return std::vector<KnownSchedule>{{.estimated_ns = ns}};
  }
};

double NsOf(const Graph& graph, ScheduleSource& source, const BuildModelOptions& options) {
  const absl::StatusOr<TunedModel> model = ModelTasks(graph, source, options);
  EXPECT_THAT(model, IsOk());
  double ns = 0;
  for (const ExtractedTask& task : model->tasks) {
    ns += (*source.Find(task, options.target))[0].estimated_ns * static_cast<double>(task.weight);
  }
  return ns;
}

TEST(StorageDriverTest, NoPureFormWithinTheBudgetIsFasterThanTheFastest) {
  const Graph graph = DeepGraph();
  Bf16PaysBetweenProducts source;
  const std::map<std::string, ValueRange> ranges = RangesOf(graph);
  const auto build = [&](double budget, DType type, bool fastest) {
    BuildModelOptions options = Options(budget, type);
    options.fastest_storage = fastest;
    if (fastest || type == DType::kI8) options.storage.ranges = ranges;
    return BuildModel(graph, source, SharedBuilder(), options);
  };
  const auto ns_of = [&](const BuiltModel& built) {
    BuildModelOptions options = Options(1);
    options.storage = built.storage;
    return NsOf(graph, source, options);
  };
  ASSERT_OK_AND_ASSIGN(const BuiltModel in_bf16, build(1, DType::kBf16, false));
  for (const double share : {0.3, 1.05}) {
    const double budget = share * *in_bf16.measured_error;
    ASSERT_OK_AND_ASSIGN(const BuiltModel fastest, build(budget, DType::kF32, true));
    EXPECT_LE(*fastest.measured_error, budget);
    for (const DType type : {DType::kF32, DType::kBf16, DType::kF16, DType::kI8}) {
      ASSERT_OK_AND_ASSIGN(const BuiltModel pure, build(budget, type, false));
      EXPECT_LE(ns_of(fastest), ns_of(pure)) << DTypeName(type) << " within " << budget;
    }
  }
}

// f16 ends at 65504: a layer beyond has no finite error in it, and stays in f32 while others do
// not.
TEST(StorageDriverTest, WhatOverflowsItsTypeStaysInF32) {
  Graph graph;
  graph.name = "large";
  ValueId x = AddInput(graph, "x", {DType::kF32, {1, 8, 9, 7}});
  for (int i = 0; i < 3; ++i) {
    x = *AddOp(graph, "conv", {x, Filters(graph, i)},
               MakeAttributes({{"strides", Shape{1, 1}},
                               {"pads", Shape(4, 1)},
                               {"dilations", Shape{1, 1}},
                               {"group", int64_t{1}}}),
               absl::StrCat("conv", i));
    if (i == 2) continue;
    const ValueId factor = AddConstant(graph, absl::StrCat("f", i), {DType::kF32, {}},
                                       FromDoubles(DType::kF32, {i == 0 ? 1e6 : 1e-6}));
    x = Op(graph, "mul", {x, factor});
  }
  graph.outputs = {x};
  graph.values[x].name = "y";
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, Options(2e-2, DType::kF16)));
  EXPECT_GE(CountLayers(built, DType::kF16), 1);
  EXPECT_GE(CountLayers(built, DType::kF32), 1);
  ASSERT_TRUE(built.measured_error.has_value());
  EXPECT_LE(*built.measured_error, 2e-2);
}

TEST(StorageDriverTest, ModelsInF32SayNothingOfTypes) {
  const Graph graph = DeepGraph();
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, Options(1e-4, DType::kF32)));
  EXPECT_TRUE(ManifestOf(built).notes.empty());
  for (const TaskReport& task : built.tasks) EXPECT_EQ(task.works_in, DType::kF32);
}

}  // namespace
}  // namespace burnish
