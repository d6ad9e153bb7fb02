// A model that was built with one set of weights and opened with another, against the interpreter
// on the model with the other.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cpu_info.h"
#include "base/status_matchers.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/bundle_testing.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/graph/constant.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/runtime/bundle.h"
#include "compiler/runtime/refit.h"
#include "compiler/target/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/builder_client.h"
#include "proto/measurement.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using Shape = std::vector<int64_t>;

// Of a 3x3 convolution with bias, channels last: tiles of 3 pixels by 8 channels, weights packed.
constexpr char kPackingTrace[] =
    "border@1 b4->b0\n"
    "fuse@1 (b3.i0,b3.i1,b3.i2)->m\n"
    "split@1 b3.i3->(op,oi) size=8\n"
    "split@1 m->(mt,mi) max=3\n"
    "reorder@1 (op,mt,b3.i4,b3.i5,b3.i6,mi,oi)\n"
    "stage@1 b3->acc inside=mt scope=register\n"
    "relayout@1 b1->Wp dims=(op,b3.i4,b3.i5,b3.i6,oi)\n"
    "precompute@1 Wp\n"
    "parallel@1 op\n"
    "unroll@1 mi\n"
    "vectorize@1 oi lanes=4\n";

class OneTrace : public ScheduleSource {
 public:
  explicit OneTrace(std::string trace) : trace_(std::move(trace)) {}
  absl::StatusOr<std::vector<KnownSchedule>> Find(const ExtractedTask& task,
                                                  const Target&) override {
    std::vector<KnownSchedule> found;
    if (!trace_.empty() && task.name == "conv+relu") {
      found.push_back({.trace = trace_,
                       .origin = ScheduleOrigin::kTuned,
                       .numerics = {.kind = NumericsClass::kReassociated}});
    }
    return found;
  }

 private:
  const std::string trace_;
};

absl::StatusOr<BuiltModel> Build(const Graph& graph, const std::string& trace, int opt_level) {
  static BuilderClient& builder = *new BuilderClient();
  OneTrace source(trace);
  return BuildModel(graph, source, builder,
                    {.target = *HostTarget(HostCpuInfo(), 2), .opt_level = opt_level});
}

// relu(x * w1 + b1) * w2, all weights from `seed`.
Graph Perceptron(uint64_t seed) {
  Graph graph;
  graph.name = "perceptron";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {4, 24}});
  const ValueId w1 = AddRandomConstant(graph, "w1", {24, 16}, seed);
  const ValueId b1 = AddRandomConstant(graph, "b1", {16}, seed + 100);
  const ValueId w2 = AddRandomConstant(graph, "w2", {16, 8}, seed + 200);
  const ValueId h = Op(graph, "relu", {Op(graph, "add", {Op(graph, "matmul", {x, w1}), b1})});
  const ValueId y = Op(graph, "matmul", {h, w2});
  graph.outputs = {y};
  graph.values[y].name = "y";
  return graph;
}

std::vector<Replacement> WeightsOf(const Graph& graph) {
  std::vector<Replacement> replacements;
  for (const GraphValue& value : graph.values) {
    if (value.data == nullptr) continue;
    const absl::Span<const uint8_t> bytes = value.data->bytes();
    replacements.push_back({.name = value.name,
                            .tensor = {.data = const_cast<uint8_t*>(bytes.data()),
                                       .type = ElementType::kF32,
                                       .size_bytes = bytes.size()}});
  }
  return replacements;
}

RefitInfo RefitOf(const BuiltModel& built) {
  const auto reader = BundleReader::FromBytes(
      {reinterpret_cast<const uint8_t*>(built.bundle.data()), built.bundle.size()});
  const RuntimeOr<std::vector<uint8_t>> bytes = reader->ReadRefit();
  return bytes->empty() ? RefitInfo() : *DecodeRefit(*bytes);
}

std::vector<std::string> ReplaceableOf(const BuiltModel& built) {
  std::vector<std::string> names;
  for (const TensorInfo& parameter : RefitOf(built).parameters) names.push_back(parameter.name);
  return names;
}

int PackedCount(const BuiltModel& built) {
  const std::vector<RefitRecipe> recipes = RefitOf(built).recipes;
  return static_cast<int>(std::count_if(recipes.begin(), recipes.end(),
                                        [](const RefitRecipe& r) { return r.pack >= 0; }));
}

TEST(RefitDriverTest, ABundleAnswersWithTheNewWeights) {
  const Graph old_graph = Perceptron(1), new_graph = Perceptron(2);
  const std::vector<TensorValue> inputs = RandomInputs(old_graph, 3);
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(new_graph, inputs));
  for (const int level : {0, 1, 3}) {
    SCOPED_TRACE(absl::StrCat("level ", level));
    ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(old_graph, "", level));
    EXPECT_THAT(ReplaceableOf(built), UnorderedElementsAre("w1", "b1", "w2"));
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                         RunBundle(built.bundle, old_graph, inputs, 2, WeightsOf(new_graph)));
    EXPECT_EQ(CompareOutputs(want, got, 1e-5), "");
  }
}

Graph Convolution(uint64_t seed) {
  Graph graph;
  graph.name = "convolution";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 3, 9, 7}});
  const ValueId w = AddRandomConstant(graph, "w", {16, 3, 3, 3}, seed);
  const ValueId b = AddRandomConstant(graph, "b", {16}, seed + 100);
  const ValueId y = Op(graph, "conv", {x, w, b},
                       {{"strides", Shape{1, 1}},
                        {"pads", Shape(4, 1)},
                        {"dilations", Shape{1, 1}},
                        {"group", int64_t{1}}});
  graph.outputs = {Op(graph, "relu", {y})};
  graph.values[graph.outputs[0]].name = "y";
  return graph;
}

// Its weights come in as channels first, and are turned and packed.
TEST(RefitDriverTest, NewWeightsArePackedAsTheOldOnesWere) {
  const Graph old_graph = Convolution(1), new_graph = Convolution(2);
  const std::vector<TensorValue> inputs = RandomInputs(old_graph, 3);
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(new_graph, inputs));
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(old_graph, kPackingTrace, 3));
  EXPECT_EQ(PackedCount(built), 1);
  EXPECT_THAT(ReplaceableOf(built), UnorderedElementsAre("w", "b"));
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                       RunBundle(built.bundle, old_graph, inputs, 2, WeightsOf(new_graph)));
  EXPECT_EQ(CompareOutputs(want, got, 1e-5), "");
}

// Neither use of a weight that is read twice is sure to be all that it became.
TEST(RefitDriverTest, WhatIsSharedEqualOrRewrittenCannotBeReplaced) {
  Graph graph = Perceptron(1);
  const ValueId x = graph.inputs[0];
  const ValueId tied = AddRandomConstant(graph, "tied", {24, 8}, 7);
  const ValueId twin = AddRandomConstant(graph, "twin", {24, 8}, 7);  // As `tied` is.
  const ValueId zeros = AddConstant(graph, "zeros", {DType::kF32, {8}},
                                    FromDoubles(DType::kF32, std::vector<double>(8, 0.0)));
  ValueId y = graph.outputs[0];
  y = Op(graph, "add", {y, Op(graph, "matmul", {x, tied})});
  y = Op(graph, "mul", {y, Op(graph, "matmul", {Op(graph, "relu", {x}), twin})});
  const ValueId once = AddRandomConstant(graph, "once", {8}, 8);
  const ValueId twice = AddRandomConstant(graph, "twice", {8}, 9);
  y = Op(graph, "add", {Op(graph, "mul", {Op(graph, "add", {y, zeros}), once}), twice});
  y = Op(graph, "add", {Op(graph, "relu", {y}), twice});
  graph.outputs = {y};
  graph.values[y].name = "y";
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, "", 3));
  EXPECT_THAT(ReplaceableOf(built), UnorderedElementsAre("w1", "b1", "w2", "once"));
  EXPECT_THAT(RunBundle(built.bundle, graph, RandomInputs(graph, 3), 1, {WeightsOf(graph)[3]})
                  .status()
                  .message(),
              HasSubstr("parameter \"tied\" cannot be replaced in this bundle"));
}

}  // namespace
}  // namespace burnish
