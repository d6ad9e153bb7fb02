#include "compiler/graph/precision_pass.h"

#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/graph/graph_testing.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

// "op:type" of each node in order, with the type of its first output.
std::string Types(const Graph& graph) {
  std::string text;
  for (const GraphNode& node : graph.nodes) {
    text += (text.empty() ? "" : " ") + node.op + ":" +
            std::string(DTypeName(graph.value(node.outputs[0]).type.dtype));
  }
  return text;
}

TEST(PrecisionPassTest, ValuesBetweenOperatorsAreNarrowAndTheModelsOwnAreNot) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 6}});
  const ValueId w = AddRandomConstant(graph, "w", {5, 6}, 1);
  const ValueId b = AddRandomConstant(graph, "b", {5}, 2);
  const ValueId y = Op(graph, "relu", {Op(graph, "dense", {x, w, b})});
  graph.outputs = {Op(graph, "softmax", {y}, {{"axis", int64_t{1}}})};
  graph.values[graph.outputs[0]].name = "y";
  const Graph before = graph;
  ASSERT_THAT(StoreFloatsAs(graph, DType::kBf16), IsOk());
  EXPECT_EQ(Types(graph), "cast:bf16 dense:bf16 relu:bf16 softmax:bf16 cast:f32");
  const GraphNode& dense = graph.nodes[1];
  EXPECT_EQ(graph.value(dense.inputs[1]).type.dtype, DType::kBf16);  // Weights.
  EXPECT_EQ(graph.value(dense.inputs[2]).type.dtype, DType::kF32);   // The bias.
  EXPECT_EQ(graph.value(graph.outputs[0]).name, "y");
  // Of a softmax's input, at most some units, 2^-9 of each.
  EXPECT_EQ(Difference(before, graph, 0.05), "");
  EXPECT_NE(Difference(before, graph, 1e-4), "");
}

// A position above 256 is no bfloat16: what becomes an index is computed in f32 from the start.
TEST(PrecisionPassTest, WhatBecomesANumberStaysWide) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {3}});
  const ValueId table = AddRandomConstant(graph, "table", {2000, 4}, 1);
  const ValueId scaled = Op(graph, "floor", {Op(graph, "abs", {x})});
  const ValueId index = Op(graph, "cast", {scaled}, {{"to", std::string("i64")}});
  graph.outputs = {
      Op(graph, "relu", {Op(graph, "gather", {table, index}, {{"axis", int64_t{0}}})})};
  ASSERT_THAT(StoreFloatsAs(graph, DType::kBf16), IsOk());
  EXPECT_EQ(Types(graph), "abs:f32 floor:f32 cast:i64 gather:bf16 relu:bf16 cast:f32");
}

// The logits of an argmax come from a product, which reads narrow operands all the same.
TEST(PrecisionPassTest, ProductsReadNarrowOperandsWhateverTheyAreFor) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 6}});
  const ValueId w = AddRandomConstant(graph, "w", {5, 6}, 1);
  const ValueId logits = Op(graph, "dense", {Op(graph, "relu", {x}), w});
  graph.outputs = {Op(graph, "argmax", {logits}, {{"axis", int64_t{1}}})};
  ASSERT_THAT(StoreFloatsAs(graph, DType::kF16), IsOk());
  EXPECT_EQ(Types(graph), "cast:f16 relu:f16 dense:f16 cast:f32 argmax:i64");
}

TEST(PrecisionPassTest, RandomGraphsStayCloseAndValid) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Graph graph = RandomGraph(seed);
    const Graph before = graph;
    ASSERT_THAT(StoreFloatsAs(graph, DType::kF16), IsOk());
    EXPECT_EQ(Difference(before, graph, 0.02), "");
  }
}

}  // namespace
}  // namespace burnish
