// Results whose size is data, and inputs whose size the caller gives, through passes, driver and
// runtime, against the graph interpreter.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cpu_info.h"
#include "base/status_matchers.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/bundle_testing.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/graph/control.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/prepare.h"
#include "compiler/runtime/bundle.h"
#include "compiler/target/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/builder_client.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

Builder& SharedBuilder() {
  static BuilderClient& builder = *new BuilderClient();
  return builder;
}

absl::StatusOr<BuiltModel> Build(const Graph& graph, int opt_level) {
  DefaultScheduleSource source;
  return BuildModel(graph, source, SharedBuilder(),
                    {.target = *HostTarget(HostCpuInfo(), 2), .opt_level = opt_level});
}

// Rows of `table` where x is above 0, and their places; `total` is an output of fixed shape between
// them. The count is shown, too, under a name of its own.
Graph FoundRows() {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {12}});
  const ValueId table = AddInput(graph, "table", {DType::kF32, {12, 5}});
  const absl::StatusOr<GraphNodeId> found =
      AddNode(graph, "non_zero", {Op(graph, "relu", {x})}, {}, "found");
  const ValueId places = graph.nodes[*found].outputs[0], count = graph.nodes[*found].outputs[1];
  const ValueId flat = Op(graph, "reshape", {places}, {{"shape", Shape{12}}});
  const ValueId rows = Op(graph, "gather", {table, flat}, {{"axis", int64_t{0}}});
  const ValueId total = Op(graph, "reduce_sum", {table}, {{"axes", Shape{0, 1}}});
  graph.outputs = {Op(graph, "exp", {Op(graph, "neg", {rows})}), total,
                   Op(graph, "transpose", {places}, {{"perm", Shape{1, 0}}}),
                   Op(graph, "add", {count, count}), count};
  const char* names[] = {"rows", "total", "places", "twice", "count"};
  for (size_t i = 0; i < graph.outputs.size(); ++i) graph.values[graph.outputs[i]].name = names[i];
  graph.hidden_outputs = 1;
  graph.bounded_axes = {{.output = 0, .axis = 0, .extent = 4},
                        {.output = 2, .axis = 0, .extent = 4}};
  return graph;
}

TEST(SizesDriverTest, OutputsHaveTheShapeOfTheRun) {
  const Graph graph = FoundRows();
  ASSERT_THAT(VerifyGraph(graph), IsOk());
  std::vector<TensorValue> inputs = RandomInputs(graph, 3);
  for (const int level : {0, 2, 3}) {
    SCOPED_TRACE(absl::StrCat("level ", level));
    ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, level));
    for (const int found : {0, 1, 7, 12}) {
      for (int i = 0; i < 12; ++i) inputs[0].floats[i] = i * 5 % 12 < found ? 1.5 : -1.0;
      ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(graph, inputs));
      ASSERT_EQ(want.size(), 4u);
      EXPECT_EQ(want[0].shape, (Shape{found, 5}));
      EXPECT_EQ(want[2].shape, (Shape{found, 1}));
      ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                           RunBundle(built.bundle, graph, inputs, 2));
      EXPECT_EQ(CompareOutputs(want, got, 1e-5), "");
      EXPECT_EQ(got[3].integers[0], 2 * found);
    }
  }
}

TEST(SizesDriverTest, PassesKeepWhatBelongsTogether) {
  const Graph before = FoundRows();
  Graph after = before;
  ASSERT_THAT(PrepareGraph(after), IsOk());
  EXPECT_EQ(Difference(before, after), "");
  EXPECT_EQ(after.bounded_axes.size(), 2u);
}

// The number of iterations, which a node of control gives, lies in no memory of a step's.
TEST(SizesDriverTest, AnExtentMayComeOutOfALoop) {
  Graph body;
  const ValueId state = AddInput(body, "state", {DType::kI64, {}});
  const ValueId one = AddConstant(body, "one", {DType::kI64, {}}, FromInts(DType::kI64, {1}));
  body.outputs = {Op(body, "add", {state, one})};
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {4}});
  const ValueId zero = AddInput(graph, "zero", {DType::kI64, {}});
  GraphNode loop{.name = "loop", .op = OpId::kLoop, .attributes = {}};
  loop.attributes.Set("count", int64_t{3});
  loop.attributes.Set("states", int64_t{1});
  loop.attributes.Set("slices", int64_t{0});
  loop.attributes.Set("backwards", Shape{});
  loop.inputs = {zero};
  loop.bodies = {std::make_shared<const Graph>(std::move(body))};
  ASSERT_OK_AND_ASSIGN(const GraphNodeId id, AddControlNode(graph, std::move(loop)));
  graph.outputs = {Op(graph, "exp", {x}), graph.nodes[id].outputs[0]};
  graph.hidden_outputs = 1;
  graph.bounded_axes = {{.output = 0, .axis = 0, .extent = 1}};
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, 3));
  std::vector<TensorValue> inputs = RandomInputs(graph, 3);
  inputs[1].integers = {0};
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(graph, inputs));
  EXPECT_EQ(want[0].shape, (Shape{3}));
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                       RunBundle(built.bundle, graph, inputs, 2));
  EXPECT_EQ(CompareOutputs(want, got, 1e-5), "");
}

TEST(SizesDriverTest, AxesAndExtentsAreVerified) {
  const auto refusal = [](auto change) {
    Graph graph = FoundRows();
    change(graph);
    return VerifyGraph(graph);
  };
  EXPECT_THAT(refusal([](Graph&) {}), IsOk());
  for (const GraphBoundedAxis& axis :
       {GraphBoundedAxis{0, 2, 4}, {0, -1, 4}, {4, 0, 4}, {0, 0, 3}, {0, 0, 5}, {-1, 0, 4}}) {
    EXPECT_FALSE(refusal([&](Graph& graph) { graph.bounded_axes[0] = axis; }).ok());
  }
  EXPECT_FALSE(refusal([](Graph& graph) { graph.hidden_outputs = 9; }).ok());
}

// Rows of x, as many as the caller gives, times their number; and a sum of other things.
Graph GivenRows() {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {12, 5}});
  const ValueId mask = AddInput(graph, "mask", {DType::kF32, {13}});
  const ValueId n = AddInput(graph, "n", {DType::kI64, {}});
  const ValueId number = Op(graph, "cast", {n}, {{"to", std::string("f32")}});
  const ValueId rows = Op(graph, "mul", {Op(graph, "exp", {x}), number});
  graph.outputs = {rows, Op(graph, "neg", {mask}), number, Op(graph, "add", {n, n}), n};
  const char* names[] = {"rows", "turned", "number", "twice"};
  for (size_t i = 0; i < 4; ++i) graph.values[graph.outputs[i]].name = names[i];
  graph.hidden_outputs = 1;
  graph.bounded_axes = {{.output = 0, .axis = 0, .extent = 4}};
  graph.sizes = {{.name = "n", .least = 0, .greatest = 12}};
  graph.input_axes = {{.input = 0, .axis = 0, .parts = {{.size = 0}}},
                      {.input = 1, .axis = 0, .constant = 1, .parts = {{.size = 0}}}};
  return graph;
}

TEST(SizesDriverTest, InputsHaveTheShapeThatTheCallerGives) {
  const Graph graph = GivenRows();
  ASSERT_THAT(VerifyGraph(graph), IsOk());
  for (const int level : {0, 2, 3}) {
    SCOPED_TRACE(absl::StrCat("level ", level));
    ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, level));
    for (const int64_t rows : {0, 1, 7, 12}) {
      const std::vector<TensorValue> inputs = {RandomValue({DType::kF32, {rows, 5}}, 3),
                                               RandomValue({DType::kF32, {rows + 1}}, 4)};
      ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(graph, inputs));
      ASSERT_EQ(want.size(), 4u);
      EXPECT_EQ(want[0].shape, (Shape{rows, 5}));
      ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                           RunBundle(built.bundle, graph, inputs, 2));
      EXPECT_EQ(got[0].shape, (Shape{rows, 5}));
      for (int64_t i = 0; i < 5 * rows; ++i) {
        EXPECT_NEAR(got[0].floats[i], std::exp(inputs[0].floats[i]) * rows, 1e-4 * rows);
      }
      EXPECT_EQ(got[2].floats[0], rows);
      EXPECT_EQ(got[3].integers[0], 2 * rows);
    }
    for (const auto& [rows, mask] : {std::pair(13, 14), std::pair(5, 5)}) {
      EXPECT_FALSE(
          RunBundle(
              built.bundle, graph,
              {RandomValue({DType::kF32, {rows, 5}}, 3), RandomValue({DType::kF32, {mask}}, 4)}, 2)
              .ok());
    }
  }
}

// Heads and rows change places: of x, [batch, heads, rows, width], a run sizes the first and the
// third. `bias` has one size for all, and ends with it.
Graph TurnedRows() {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 3, 9, 16}});
  const ValueId bias = AddInput(graph, "bias", {DType::kF32, {2, 9}});
  const ValueId batch = AddInput(graph, "batch", {DType::kI64, {}});
  const ValueId rows = AddInput(graph, "rows", {DType::kI64, {}});
  graph.outputs = {Op(graph, "transpose", {x}, {{"perm", Shape{0, 2, 1, 3}}}),
                   Op(graph, "neg", {bias}), batch, rows};
  graph.values[graph.outputs[0]].name = "turned";
  graph.values[graph.outputs[1]].name = "negative";
  graph.hidden_outputs = 2;
  graph.bounded_axes = {{0, 0, 2}, {0, 1, 3}, {1, 0, 2}, {1, 1, 3}};
  graph.sizes = {{.name = "batch", .least = 0, .greatest = 2},
                 {.name = "rows", .least = 0, .greatest = 9}};
  graph.input_axes = {{.input = 0, .axis = 0, .parts = {{.size = 0}}},
                      {.input = 0, .axis = 2, .parts = {{.size = 1}}},
                      {.input = 1, .axis = 0, .parts = {{.size = 0}}},
                      {.input = 1, .axis = 1, .parts = {{.size = 1}}}};
  return graph;
}

TEST(SizesDriverTest, RowsAreReadWhereCallersHaveThem) {
  const Graph graph = TurnedRows();
  ASSERT_THAT(VerifyGraph(graph), IsOk());
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, 3));
  const auto reader = BundleReader::FromBytes(
      {reinterpret_cast<const uint8_t*>(built.bundle.data()), built.bundle.size()});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  const std::vector<InputStrides>& strides = reader->manifest().input_strides;
  ASSERT_EQ(strides.size(), 1u) << "what ends with a size has no rows";
  EXPECT_EQ(strides[0].input, 0u);
  EXPECT_TRUE(strides[0].in_place);
  for (const auto& [batch, rows] : std::vector<std::pair<int64_t, int64_t>>{
           {2, 9}, {1, 9}, {2, 1}, {1, 4}, {2, 7}, {0, 3}, {2, 0}}) {
    SCOPED_TRACE(absl::StrCat(batch, " of ", rows));
    const std::vector<TensorValue> inputs = {RandomValue({DType::kF32, {batch, 3, rows, 16}}, 3),
                                             RandomValue({DType::kF32, {batch, rows}}, 4)};
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(graph, inputs));
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                         RunBundle(built.bundle, graph, inputs, 2));
    EXPECT_EQ(got[0].shape, (Shape{batch, rows, 3, 16}));
    EXPECT_EQ(got[0].floats, want[0].floats);
    EXPECT_EQ(got[1].floats, want[1].floats);
  }
}

// As a decoder's past of one sentence.
TEST(SizesDriverTest, AnAxisOfOneIsNoReasonToCopyRows) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 3, 9, 16}});
  const ValueId rows = AddInput(graph, "rows", {DType::kI64, {}});
  graph.outputs = {Op(graph, "transpose", {x}, {{"perm", Shape{0, 2, 1, 3}}}), rows};
  graph.values[graph.outputs[0]].name = "turned";
  graph.hidden_outputs = 1;
  graph.bounded_axes = {{0, 1, 1}};
  graph.sizes = {{.name = "rows", .least = 1, .greatest = 9}};
  graph.input_axes = {{.input = 0, .axis = 2, .parts = {{.size = 0}}}};
  ASSERT_THAT(VerifyGraph(graph), IsOk());
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, 3));
  const auto reader = BundleReader::FromBytes(
      {reinterpret_cast<const uint8_t*>(built.bundle.data()), built.bundle.size()});
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  ASSERT_EQ(reader->manifest().input_strides.size(), 1u);
  EXPECT_TRUE(reader->manifest().input_strides[0].in_place);
  for (const int64_t count : {1, 4, 9}) {
    const std::vector<TensorValue> inputs = {RandomValue({DType::kF32, {1, 3, count, 16}}, 3)};
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(graph, inputs));
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                         RunBundle(built.bundle, graph, inputs, 2));
    EXPECT_EQ(got[0].floats, want[0].floats);
  }
}

TEST(SizesDriverTest, TheVerifierRefusesSizesThatDoNotFit) {
  const auto refusal = [](auto change) {
    Graph graph = GivenRows();
    change(graph);
    return VerifyGraph(graph);
  };
  EXPECT_FALSE(refusal([](Graph& g) { g.sizes[0].greatest = 13; }).ok());
  EXPECT_FALSE(refusal([](Graph& g) { g.sizes[0].least = 13; }).ok());
  EXPECT_FALSE(refusal([](Graph& g) { g.sizes.resize(9); }).ok());
  EXPECT_FALSE(refusal([](Graph& g) { g.sizes.push_back(g.sizes[0]); }).ok());
  EXPECT_FALSE(refusal([](Graph& g) { g.input_axes[0].input = 2; }).ok());
  EXPECT_FALSE(refusal([](Graph& g) { g.input_axes[0].axis = 2; }).ok());
  EXPECT_FALSE(refusal([](Graph& g) { g.input_axes[0].parts[0].size = 1; }).ok());
  EXPECT_FALSE(refusal([](Graph& g) { g.input_axes[0].parts[0].factor = 0; }).ok());
  EXPECT_FALSE(refusal([](Graph& g) { g.input_axes[0].parts.clear(); }).ok());
  EXPECT_FALSE(refusal([](Graph& g) { g.input_axes[1].constant = 2; }).ok());
}

}  // namespace
}  // namespace burnish
