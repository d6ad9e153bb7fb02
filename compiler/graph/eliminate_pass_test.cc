#include "base/status_matchers.h"
#include "compiler/graph/eliminate_common_pass.h"
#include "compiler/graph/eliminate_dead_pass.h"
#include "compiler/graph/graph_testing.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(EliminateDeadTest, UnusedNodesGoAndUnusedInputsStay) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2}});
  AddInput(graph, "unused", {DType::kF32, {2}});
  Op(graph, "exp", {Op(graph, "neg", {x})});
  graph.outputs = {Op(graph, "relu", {x})};
  EliminateDead(graph);
  EXPECT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.values.size(), 3u);
  EXPECT_EQ(graph.inputs.size(), 2u);
  EXPECT_THAT(VerifyGraph(graph), IsOk());
}

TEST(EliminateCommonTest, EqualNodesOverEqualConstantsMerge) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2}});
  const ValueId a = AddConstant(graph, "a", {DType::kF32, {2}}, MakeConstant<float>({1, 2}));
  const ValueId b = AddConstant(graph, "b", {DType::kF32, {2}}, MakeConstant<float>({1, 2}));
  const ValueId first = Op(graph, "exp", {Op(graph, "add", {x, a})});
  const ValueId second = Op(graph, "exp", {Op(graph, "add", {x, b})});
  graph.outputs = {Op(graph, "mul", {first, second})};
  const Graph before = graph;
  EliminateCommon(graph);
  EXPECT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(Difference(before, graph), "");
}

TEST(EliminateCommonTest, OtherAttributesOrTypesDoNotMerge) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2}});
  const ValueId f = AddConstant(graph, "f", {DType::kF32, {1}}, MakeConstant<float>({0}));
  const ValueId i = AddConstant(graph, "i", {DType::kI32, {1}}, MakeConstant<int32_t>({0}));
  const ValueId a = Op(graph, "leaky_relu", {x}, {{"alpha", 0.1}});
  const ValueId b = Op(graph, "leaky_relu", {x}, {{"alpha", 0.2}});
  const ValueId c = Op(graph, "cast", {i}, {{"to", std::string("f32")}});
  graph.outputs = {Op(graph, "add", {Op(graph, "add", {a, b}), Op(graph, "add", {f, c})})};
  const size_t count = graph.nodes.size();
  EliminateCommon(graph);
  EXPECT_EQ(graph.nodes.size(), count);
}

TEST(EliminateCommonTest, TwoOutputsStayTwo) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2}});
  graph.outputs = {Op(graph, "relu", {x}), Op(graph, "relu", {x})};
  graph.values[graph.outputs[0]].name = "a";
  graph.values[graph.outputs[1]].name = "b";
  const Graph before = graph;
  EliminateCommon(graph);
  EXPECT_EQ(Difference(before, graph), "");
}

}  // namespace
}  // namespace burnish
