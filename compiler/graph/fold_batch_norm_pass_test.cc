#include "compiler/graph/fold_batch_norm_pass.h"

#include <limits>
#include <utility>

#include "base/status_matchers.h"
#include "compiler/graph/graph_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

std::vector<ValueId> WithNormParameters(Graph& graph, ValueId x, int64_t channels) {
  std::vector<ValueId> inputs = {x};
  for (int i = 0; i < 3; ++i) inputs.push_back(AddRandomConstant(graph, "p", {channels}, 10 + i));
  inputs.push_back(AddConstant(graph, "variance", {DType::kF32, {channels}},
                               MakeConstant(std::vector<float>(channels, 0.7f))));
  return inputs;
}

ValueId Norm(Graph& graph, ValueId x, int64_t channels) {
  return Op(graph, "batch_norm", WithNormParameters(graph, x, channels), {{"epsilon", 1e-5}});
}

void ExpectOneNode(Graph graph, const std::string& op) {
  const Graph before = graph;
  ASSERT_THAT(FoldBatchNorm(graph), IsOk());
  EXPECT_EQ(graph.nodes.size(), 1u) << PrintGraph(graph);
  EXPECT_EQ(graph.nodes[0].op, op);
  EXPECT_EQ(Difference(before, graph), "");
}

TEST(FoldBatchNormTest, GoesIntoAGroupedConvolution) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 4, 5, 5}});
  const ValueId w = AddRandomConstant(graph, "w", {6, 2, 3, 3}, 1);
  const ValueId y = Op(graph, "conv", {x, w}, {{"group", int64_t{2}}, {"pads", Shape{1, 1, 1, 1}}});
  graph.outputs = {Norm(graph, y, 6)};
  ExpectOneNode(graph, "conv");
}

// Weights stay 16 bits and are rounded once more; what is added to the sum is not.
TEST(FoldBatchNormTest, GoesIntoWeightsOf16Bits) {
  for (const auto& [dtype, unit] : {std::pair(DType::kBf16, 0x1p-8), {DType::kF16, 0x1p-11}}) {
    SCOPED_TRACE(DTypeName(dtype));
    for (const bool has_parameters_of_16_bits : {false, true}) {
      Graph graph;
      const ValueId x = AddInput(graph, "x", {dtype, {1, 4, 5, 5}});
      const TensorType weights = {dtype, {6, 2, 3, 3}};
      const ValueId w = AddConstant(graph, "w", weights, FromTensorValue(RandomValue(weights, 1)));
      std::vector<ValueId> inputs = WithNormParameters(
          graph, Op(graph, "conv", {x, w}, {{"group", int64_t{2}}, {"pads", Shape{1, 1, 1, 1}}}),
          6);
      for (size_t i = 1; i < inputs.size() && has_parameters_of_16_bits; ++i) {
        GraphValue& parameter = graph.values[inputs[i]];
        parameter.data = FromDoubles(dtype, ToDoubles(parameter.type, *parameter.data));
        parameter.type.dtype = dtype;
      }
      graph.outputs = {Op(graph, "batch_norm", inputs, {{"epsilon", 1e-5}})};
      const Graph before = graph;
      ASSERT_THAT(FoldBatchNorm(graph), IsOk());
      ASSERT_EQ(graph.nodes.size(), 1u) << PrintGraph(graph);
      EXPECT_EQ(graph.value(graph.nodes[0].inputs[1]).type, weights);
      EXPECT_EQ(graph.value(graph.nodes[0].inputs[2]).type.dtype, DType::kF32);
      // Of the largest element: the result's own rounding, before and after, and the weights'.
      EXPECT_EQ(Difference(before, graph, 3 * unit), "");
    }
  }
}

TEST(FoldBatchNormTest, GoesIntoAGroupedTransposedConvolution) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 4, 3, 3}});
  const ValueId w = AddRandomConstant(graph, "w", {4, 3, 2, 2}, 1);
  const ValueId b = AddRandomConstant(graph, "b", {6}, 2);
  const ValueId y = Op(graph, "conv_transpose", {x, w, b}, {{"group", int64_t{2}}});
  graph.outputs = {Norm(graph, y, 6)};
  ExpectOneNode(graph, "conv_transpose");
}

TEST(FoldBatchNormTest, ScaleAndShiftInSeparateNodesFoldOneByOne) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 2, 3, 3}});
  const ValueId w = AddRandomConstant(graph, "w", {4, 2, 1, 1}, 1);
  const ValueId norm = Norm(graph, Op(graph, "conv", {x, w}), 4);
  const ValueId scaled = Op(graph, "mul", {norm, AddRandomConstant(graph, "s", {4, 1, 1}, 3)});
  graph.outputs = {Op(graph, "add", {AddRandomConstant(graph, "t", {1, 4, 1, 1}, 4), scaled})};
  ExpectOneNode(graph, "conv");
}

TEST(FoldBatchNormTest, GoesIntoGemmOfEitherForm) {
  for (int64_t trans_b : {0, 1}) {
    Graph graph;
    const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 3}});
    const ValueId w = AddRandomConstant(graph, "w", trans_b ? Shape{5, 3} : Shape{3, 5}, 1);
    const ValueId y = Op(graph, "gemm", {x, w}, {{"trans_b", trans_b}, {"alpha", 0.5}});
    graph.outputs = {Norm(graph, y, 5)};
    ExpectOneNode(graph, "gemm");
  }
}

// C has a factor, may be there or not, and may be of a row, of an element, or of what is no
// channel.
TEST(FoldBatchNormTest, WhatGemmAddsKeepsItsFactor) {
  const std::vector<std::pair<Shape, bool>> shapes = {
      {{}, true}, {{3}, true}, {{1, 3}, true}, {{1}, true}, {{3, 1}, false}, {{3, 3}, false}};
  for (const double beta : {0.0, 1.0, 2.5}) {
    for (const auto& [shape, folds] : shapes) {
      for (const bool has_c : {false, true}) {
        SCOPED_TRACE(testing::Message() << beta << " " << has_c << " " << shape.size());
        Graph graph;
        std::vector<ValueId> inputs = {AddInput(graph, "x", {DType::kF32, {3, 4}}),
                                       AddRandomConstant(graph, "w", {4, 3}, 1)};
        if (has_c) inputs.push_back(AddRandomConstant(graph, "c", shape, 2));
        const ValueId y = Op(graph, "gemm", inputs, {{"alpha", 0.5}, {"beta", beta}});
        const ValueId t = AddRandomConstant(graph, "t", {3}, 4);
        graph.outputs = {Op(graph, "add", {Norm(graph, y, 3), t})};
        const Graph before = graph;
        ASSERT_THAT(FoldBatchNorm(graph), IsOk());
        EXPECT_EQ(Difference(before, graph), "");
        EXPECT_EQ(graph.nodes.size() == 1, folds || !has_c || beta == 0) << PrintGraph(graph);
      }
    }
  }
}

// No bias would be 0 times infinity, and no weight more than its type holds, or less.
TEST(FoldBatchNormTest, AScaleThatTheWeightsDoNotHoldStays) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::pair<double, bool> scales[] = {{infinity, false}, {-infinity, false},
                                            {1e38, false},     {0, true},
                                            {1e-37, true},     {1.5e-38, false}};
  for (const auto& [scale, folds] : scales) {
    SCOPED_TRACE(scale);
    Graph graph;
    const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 2}});
    const ValueId w =
        AddConstant(graph, "w", {DType::kF32, {1, 2}}, MakeConstant<float>({0.5f, 0.25f}));
    const ValueId s =
        AddConstant(graph, "s", {DType::kF32, {1}}, FromDoubles(DType::kF32, {scale}));
    graph.outputs = {Op(graph, "mul", {Op(graph, "dense", {x, w}), s})};
    ASSERT_THAT(FoldBatchNorm(graph), IsOk());
    EXPECT_EQ(CountNodes(graph, "mul"), folds ? 0 : 1);
  }
}

// (x - mean) / 0 is an infinity; x / 0 - mean / 0 would be none.
TEST(FoldBatchNormTest, ANormOverNoVarianceIsComputedAsItIsWritten) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 1, 2}});
  const auto number = [&](float value) {
    return AddConstant(graph, "p", {DType::kF32, {1}}, MakeConstant<float>({value}));
  };
  graph.outputs = {
      Op(graph, "batch_norm", {x, number(1), number(3), number(2), number(0)}, {{"epsilon", 0.0}})};
  ASSERT_THAT(FoldBatchNorm(graph), IsOk());
  EXPECT_EQ(CountNodes(graph, "sub"), 1) << PrintGraph(graph);
  EXPECT_EQ(CountNodes(graph, "div"), 1);
}

TEST(FoldBatchNormTest, AddAfterMatrixProductBecomesItsBias) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2, 2, 3}});
  const ValueId w = AddRandomConstant(graph, "w", {5, 3}, 1);
  graph.outputs = {
      Op(graph, "add", {Op(graph, "dense", {x, w}), AddRandomConstant(graph, "b", {5}, 2)})};
  ExpectOneNode(graph, "dense");
}

TEST(FoldBatchNormTest, AResultThatOthersReadIsNotTouched) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 2, 3, 3}});
  const ValueId y = Op(graph, "conv", {x, AddRandomConstant(graph, "w", {4, 2, 1, 1}, 1)});
  graph.outputs = {Norm(graph, y, 4), y};
  const Graph before = graph;
  ASSERT_THAT(FoldBatchNorm(graph), IsOk());
  EXPECT_EQ(CountNodes(graph, "batch_norm"), 0);
  EXPECT_EQ(CountNodes(graph, "mul"), 1);
  EXPECT_EQ(Difference(before, graph), "");
}

TEST(FoldBatchNormTest, AShiftOverAnotherDimensionStays) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 2, 4, 4}});
  const ValueId y = Op(graph, "conv", {x, AddRandomConstant(graph, "w", {4, 2, 1, 1}, 1)});
  graph.outputs = {Op(graph, "add", {y, AddRandomConstant(graph, "rows", {4, 1}, 2)})};
  ASSERT_THAT(FoldBatchNorm(graph), IsOk());
  EXPECT_EQ(CountNodes(graph, "add"), 1);
}

}  // namespace
}  // namespace burnish
