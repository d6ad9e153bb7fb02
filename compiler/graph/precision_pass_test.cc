#include "compiler/graph/precision_pass.h"

#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/graph/graph_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

// "op:type" of each node in order, with the type of its first output.
std::string Types(const Graph& graph) {
  std::string text;
  for (const GraphNode& node : graph.nodes) {
    text += (text.empty() ? "" : " ") + std::string(OpName(node.op)) + ":" +
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
  ASSERT_THAT(StoreFloatsAs(graph, {DType::kBf16}), IsOk());
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
  ASSERT_THAT(StoreFloatsAs(graph, {DType::kBf16}), IsOk());
  EXPECT_EQ(Types(graph), "abs:f32 floor:f32 cast:i64 gather:bf16 relu:bf16 cast:f32");
}

// The logits of an argmax come from a product, which reads narrow operands all the same.
TEST(PrecisionPassTest, ProductsReadNarrowOperandsWhateverTheyAreFor) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 6}});
  const ValueId w = AddRandomConstant(graph, "w", {5, 6}, 1);
  const ValueId logits = Op(graph, "dense", {Op(graph, "relu", {x}), w});
  graph.outputs = {Op(graph, "argmax", {logits}, {{"axis", int64_t{1}}})};
  ASSERT_THAT(StoreFloatsAs(graph, {DType::kF16}), IsOk());
  EXPECT_EQ(Types(graph), "cast:f16 relu:f16 dense:f16 cast:f32 argmax:i64");
}

// Products of bfloat16 are done in pairs: colours get a plane of zeros beside them, before they are
// interleaved. Weights of 0 change no sum.
TEST(PrecisionPassTest, ConvolutionsOfColoursReadAnEvenNumberOfChannels) {
  const auto colours = [](bool channels_last, int64_t channels, int64_t width = 3) {
    Graph graph;
    ValueId x = AddInput(graph, "x", {DType::kF32, {1, channels, 6, 7}});
    const ValueId w = AddRandomConstant(graph, "w", {5, channels, 3, width}, 1);
    const ValueId b = AddRandomConstant(graph, "b", {5}, 2);
    if (channels_last) {
      x = Op(graph, "transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
    }
    graph.outputs = {Op(
        graph, "conv", {x, w, b},
        {{"channels_last", int64_t{channels_last}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}})};
    return graph;
  };
  for (const bool channels_last : {false, true}) {
    Graph graph = colours(channels_last, 3);
    const Graph before = graph;
    ASSERT_THAT(StoreFloatsAs(graph, {DType::kBf16}), IsOk());
    EXPECT_EQ(Types(graph), channels_last ? "cast:bf16 pad:bf16 transpose:bf16 conv:bf16 cast:f32"
                                          : "cast:bf16 pad:bf16 conv:bf16 cast:f32");
    const GraphNode& conv = graph.nodes[graph.nodes.size() - 2];
    EXPECT_EQ(graph.value(conv.inputs[1]).type.shape, (Shape{5, 4, 3, 3}));
    EXPECT_EQ(Difference(before, graph, 0.02), "");
    // f16 is storage alone, and one channel would be twice the work.
    graph = before;
    ASSERT_THAT(StoreFloatsAs(graph, {DType::kF16}), IsOk());
    EXPECT_THAT(Types(graph), testing::Not(testing::HasSubstr("pad")));
    for (const int64_t channels : {1, 4}) {
      graph = colours(channels_last, channels);
      ASSERT_THAT(StoreFloatsAs(graph, {DType::kBf16}), IsOk());
      EXPECT_THAT(Types(graph), testing::Not(testing::HasSubstr("pad")));
    }
    // Pixels side by side make up pairs.
    graph = colours(channels_last, 3, 2);
    ASSERT_THAT(StoreFloatsAs(graph, {DType::kBf16}), IsOk());
    EXPECT_THAT(Types(graph), testing::Not(testing::HasSubstr("pad")));
  }
}

// 197 keys of attention: instructions do 2 to 32 products at once, and 197 is a prime.
TEST(PrecisionPassTest, ProductsOfActivationsHaveADepthThatInstructionsTake) {
  const auto product = [](int64_t depth) {
    Graph graph;
    const ValueId p = AddInput(graph, "p", {DType::kF32, {2, 3, depth}});
    const ValueId v = AddInput(graph, "v", {DType::kF32, {2, depth, 4}});
    graph.outputs = {Op(graph, "matmul", {p, v})};
    return graph;
  };
  const auto depth_of = [&](int64_t depth, DType type = DType::kBf16) {
    Graph graph = product(depth);
    const Graph before = graph;
    EXPECT_THAT(StoreFloatsAs(graph, {type}), IsOk());
    EXPECT_EQ(Difference(before, graph, 0.05), "") << depth;
    const GraphNode& matmul = graph.nodes[graph.nodes.size() - 2];
    EXPECT_EQ(graph.value(matmul.inputs[1]).type.shape[1],
              graph.value(matmul.inputs[0]).type.shape[2]);
    return graph.value(matmul.inputs[0]).type.shape.back();
  };
  EXPECT_EQ(depth_of(197), 224);
  EXPECT_EQ(depth_of(577), 608);
  EXPECT_EQ(depth_of(194), 224);  // 2 * 97.
  EXPECT_EQ(depth_of(55), 64);
  EXPECT_EQ(depth_of(43), 48);  // 64 would be half as many again.
  // What a run of 8 to 32 divides, or what would nearly double, stays; so does f16.
  EXPECT_EQ(depth_of(128), 128);
  EXPECT_EQ(depth_of(50), 50);
  EXPECT_EQ(depth_of(9), 9);
  EXPECT_EQ(depth_of(197, DType::kF16), 197);
}

// Three dense layers with a transpose and its inverse between the first two.
Graph Layers() {
  Graph graph;
  ValueId x = AddInput(graph, "x", {DType::kF32, {6, 6}});
  for (const char* name : {"first", "second", "third"}) {
    const ValueId w = AddRandomConstant(graph, "w", {6, 6}, 1);
    x = *AddOp(graph, "dense", {x, w}, {}, name);
    if (graph.nodes.size() > 1) continue;
    Attributes swap;
    swap.Set("perm", std::vector<int64_t>{1, 0});
    x = *AddOp(graph, "transpose", {x}, swap, "moved");
  }
  graph.outputs = {x};
  return graph;
}

TEST(PrecisionPassTest, LayersAreStoredAsTheirNameSays) {
  Graph graph = Layers();
  ASSERT_THAT(StoreFloatsAs(graph, {DType::kBf16, {{"second", DType::kF32}}}), IsOk());
  EXPECT_EQ(Types(graph),
            "cast:bf16 dense:bf16 transpose:bf16 cast:f32 dense:f32 cast:bf16 dense:bf16 cast:f32");
  graph = Layers();
  ASSERT_THAT(
      StoreFloatsAs(graph, {DType::kF32, {{"second", DType::kF16}, {"third", DType::kBf16}}}),
      IsOk());
  EXPECT_EQ(Types(graph),
            "dense:f32 transpose:f32 cast:f16 dense:f16 cast:bf16 dense:bf16 cast:f32");
}

TEST(PrecisionPassTest, NodesOfOneNameAreLayersOfTheirOwn) {
  Graph graph;
  ValueId x = AddInput(graph, "x", {DType::kF32, {4}});
  for (const char* name : {"", "relu#2", "", "first"}) x = *AddOp(graph, "relu", {x}, {}, name);
  graph.outputs = {x};
  NameLayers(graph);
  std::vector<std::string> layers;
  for (const GraphNode& node : graph.nodes) layers.push_back(node.layer);
  EXPECT_EQ(layers, (std::vector<std::string>{"relu", "relu#2", "relu#3", "first"}));
  NameLayers(graph);
  EXPECT_EQ(graph.nodes[2].layer, "relu#3");
  ASSERT_THAT(StoreFloatsAs(graph, {DType::kBf16, {{"relu#3", DType::kF32}}}), IsOk());
  EXPECT_EQ(Types(graph),
            "cast:bf16 relu:bf16 relu:bf16 cast:f32 relu:f32 cast:bf16 relu:bf16 "
            "cast:f32");
}

// What is moved between two layers in f32 is never rounded.
TEST(PrecisionPassTest, MovedElementsKeepTheTypeOfTheirLayer) {
  Graph graph = Layers();
  ASSERT_THAT(
      StoreFloatsAs(graph, {DType::kBf16, {{"first", DType::kF32}, {"second", DType::kF32}}}),
      IsOk());
  EXPECT_EQ(Types(graph), "dense:f32 transpose:f32 dense:f32 cast:bf16 dense:bf16 cast:f32");
}

TEST(PrecisionPassTest, NothingChangesWhereEachLayerIsInF32) {
  Graph graph = Layers();
  const std::string before = PrintGraph(graph);
  const FloatStorage storage{DType::kF32, {{"first", DType::kF32}}};
  EXPECT_FALSE(storage.narrows());
  ASSERT_THAT(StoreFloatsAs(graph, storage), IsOk());
  EXPECT_EQ(PrintGraph(graph), before);
}

TEST(PrecisionPassTest, RandomGraphsStayCloseAndValid) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Graph graph = RandomGraph(seed);
    const Graph before = graph;
    ASSERT_THAT(StoreFloatsAs(graph, {DType::kF16}), IsOk());
    EXPECT_EQ(Difference(before, graph, 0.02), "");
  }
}

}  // namespace
}  // namespace burnish
