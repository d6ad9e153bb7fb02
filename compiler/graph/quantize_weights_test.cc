// Products by weights of 8 bits: what becomes of float matrices, and which forms of quantized ones
// stay what they are.
#include "compiler/graph/quantize_weights.h"

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/keep_weights_pass.h"
#include "compiler/graph/prepare.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;
using Shape = std::vector<int64_t>;

std::string Ops(const Graph& graph) {
  std::string ops;
  for (const GraphNode& node : graph.nodes)
    absl::StrAppend(&ops, ops.empty() ? "" : " ", OpName(node.op));
  return ops;
}

ValueId X(Graph& graph) { return AddInput(graph, "x", {DType::kF32, {2, 3, 64}}); }

ValueId Numbers(Graph& graph, DType type, const Shape& shape, int64_t least) {
  std::vector<int64_t> values(ElementCount(shape));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = least + static_cast<int64_t>(i * 37 % 251);
  }
  return AddConstant(graph, "w", {type, shape}, FromInts(type, values));
}

ValueId Scales(Graph& graph, const Shape& shape) {
  std::vector<double> values(ElementCount(shape));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.001 * static_cast<double>(i % 7 + 1);
  return AddConstant(graph, "s", {DType::kF32, shape}, FromDoubles(DType::kF32, values));
}

ValueId Zero(Graph& graph, DType type, int64_t value) {
  return AddConstant(graph, "z", {type, {}}, FromInts(type, {value}));
}

ValueId Real(Graph& graph, DType type, const Shape& shape, const Shape& scale, int64_t zero) {
  const int64_t least = type == DType::kU8 ? 0 : -120;
  return Op(graph, "dequantize",
            {Numbers(graph, type, shape, least), Scales(graph, scale), Zero(graph, type, zero)});
}

// Weights of 4 bits in 8, with a zero point a block.
ValueId FewBits(Graph& graph, const Shape& shape, const Shape& scale) {
  std::vector<int64_t> numbers(ElementCount(shape)), zeros(ElementCount(scale));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i * 7 % 16);
  for (size_t i = 0; i < zeros.size(); ++i) zeros[i] = static_cast<int64_t>(i * 5 % 16);
  const ValueId w = AddConstant(graph, "w", {DType::kU8, shape}, FromInts(DType::kU8, numbers));
  const ValueId z = AddConstant(graph, "z", {DType::kU8, scale}, FromInts(DType::kU8, zeros));
  return Op(graph, "dequantize", {w, Scales(graph, scale), z});
}

TEST(KeepWeightsTest, FormsOfDequantizedMatricesStay8Bits) {
  const std::vector<std::pair<std::string, std::function<ValueId(Graph&)>>> forms = {
      {"blocks of rows",
       [](Graph& g) {
         return Op(g, "reshape", {Real(g, DType::kI8, {2, 32, 10}, {2, 1, 10}, 0)},
                   {{"shape", Shape{64, 10}}});
       }},
      {"blocks of u8",
       [](Graph& g) {
         return Op(g, "reshape", {Real(g, DType::kU8, {4, 16, 10}, {4, 1, 10}, 128)},
                   {{"shape", Shape{64, 10}}});
       }},
      {"transposed blocks",
       [](Graph& g) {
         const ValueId matrix = Op(g, "reshape", {Real(g, DType::kI8, {10, 4, 16}, {10, 4, 1}, 0)},
                                   {{"shape", Shape{10, 64}}});
         return Op(g, "transpose", {matrix}, {{"perm", Shape{1, 0}}});
       }},
      {"zero points by block",
       [](Graph& g) {
         return Op(g, "reshape", {FewBits(g, {4, 16, 10}, {4, 1, 10})}, {{"shape", Shape{64, 10}}});
       }},
      {"zero points by transposed block",
       [](Graph& g) {
         const ValueId matrix =
             Op(g, "reshape", {FewBits(g, {10, 4, 16}, {10, 4, 1})}, {{"shape", Shape{10, 64}}});
         return Op(g, "transpose", {matrix}, {{"perm", Shape{1, 0}}});
       }},
      {"zero points by column", [](Graph& g) { return FewBits(g, {64, 10}, {10}); }},
      {"columns", [](Graph& g) { return Real(g, DType::kI8, {64, 10}, {1, 10}, 0); }},
      {"columns by broadcast", [](Graph& g) { return Real(g, DType::kI8, {64, 10}, {10}, 0); }},
      {"one scale", [](Graph& g) { return Real(g, DType::kI8, {64, 10}, {}, 0); }},
      {"transposed columns",
       [](Graph& g) {
         return Op(g, "transpose", {Real(g, DType::kU8, {10, 64}, {10, 1}, 125)},
                   {{"perm", Shape{1, 0}}});
       }},
  };
  for (const auto& [name, weights] : forms) {
    SCOPED_TRACE(name);
    Graph graph;
    graph.outputs = {Op(graph, "matmul", {X(graph), weights(graph)})};
    Graph kept = graph;
    ASSERT_THAT(KeepWeights(kept), IsOk());
    EXPECT_EQ(Ops(kept), "matmul_blocks");
    EXPECT_EQ(Difference(graph, kept), "");
    // All passes leave them, too.
    ASSERT_THAT(PrepareGraph(graph), IsOk());
    EXPECT_EQ(CountNodes(graph, "matmul_blocks"), 1) << Ops(graph);
    for (const GraphValue& value : graph.values) {
      if (value.data != nullptr) EXPECT_LE(value.data->bytes().size(), 640u) << value.name;
    }
  }
}

// The last product of a quantized network, though nothing quantizes what it gives.
TEST(KeepWeightsTest, ProductsOfQuantizedNumbersAreIntegers) {
  Graph graph;
  const ValueId scale =
      AddConstant(graph, "xs", {DType::kF32, {}}, FromDoubles(DType::kF32, {0.1}));
  const ValueId zero = Zero(graph, DType::kU8, 7);
  const ValueId x = AddInput(graph, "x", {DType::kU8, {2, 64}});
  const ValueId w = Real(graph, DType::kI8, {10, 64}, {10, 1}, 0);
  graph.outputs = {
      Op(graph, "gemm",
         {Op(graph, "dequantize", {x, scale, zero}), w, AddRandomConstant(graph, "b", {10}, 1)},
         {{"trans_b", int64_t{1}}})};
  Graph prepared = graph;
  ASSERT_THAT(PrepareGraph(prepared), IsOk());
  EXPECT_EQ(Ops(prepared), "matmul_integer cast mul add");
  EXPECT_EQ(Difference(graph, prepared), "");
}

TEST(KeepWeightsTest, WhatDoesNotFitIsRealAsBefore) {
  const std::vector<std::function<ValueId(Graph&)>> forms = {
      // Numbers beyond i8, scales by row, scales by column of the other matrix.
      [](Graph& g) { return Real(g, DType::kU8, {64, 10}, {1, 10}, 3); },
      [](Graph& g) { return Real(g, DType::kI8, {64, 10}, {64, 1}, 0); },
      [](Graph& g) { return FewBits(g, {64, 10}, {64, 1}); },
      [](Graph& g) {
        return Op(g, "transpose", {Real(g, DType::kI8, {10, 64}, {1, 64}, 0)},
                  {{"perm", Shape{1, 0}}});
      },
  };
  for (const auto& weights : forms) {
    Graph graph;
    graph.outputs = {Op(graph, "matmul", {X(graph), weights(graph)})};
    Graph kept = graph;
    ASSERT_THAT(KeepWeights(kept), IsOk());
    EXPECT_EQ(CountNodes(kept, "matmul_blocks"), 0);
    ASSERT_THAT(PrepareGraph(kept), IsOk());
    EXPECT_EQ(Difference(graph, kept), "");
  }
}

TEST(QuantizeWeightsTest, MatricesBecomeBlocks) {
  Graph graph;
  const ValueId x = X(graph);
  ValueId y = Op(graph, "matmul", {x, AddRandomConstant(graph, "a", {64, 48}, 1)});
  y = Op(graph, "relu", {y});
  y = Op(graph, "dense",
         {y, AddRandomConstant(graph, "b", {40, 48}, 2), AddRandomConstant(graph, "c", {40}, 3)});
  y = Op(graph, "reshape", {y}, {{"shape", Shape{6, 40}}});
  y = Op(graph, "gemm",
         {y, AddRandomConstant(graph, "d", {7, 40}, 4), AddRandomConstant(graph, "e", {7}, 5)},
         {{"trans_b", int64_t{1}}});
  graph.outputs = {y};
  for (const int64_t group : {16, 32}) {
    ASSERT_OK_AND_ASSIGN(const QuantizedWeights quantized, QuantizeWeights(graph, group));
    EXPECT_EQ(Ops(quantized.graph),
              "matmul_blocks relu matmul_blocks add reshape matmul_blocks add");
    EXPECT_EQ(quantized.product_count, 3);
    EXPECT_EQ(quantized.weight_count, 64 * 48 + 48 * 40 + 40 * 7);
    // 32 does not divide 48 and 40: those have a scale a column.
    const int64_t scales = group == 16 ? 4 * 48 + 3 * 40 + 7 : 2 * 48 + 40 + 7;
    EXPECT_EQ(quantized.weight_bytes, quantized.weight_count + 4 * scales);
    EXPECT_EQ(Difference(graph, quantized.graph, /*tolerance=*/0.02), "");
    EXPECT_NE(Difference(graph, quantized.graph, /*tolerance=*/1e-5), "");
  }
}

TEST(QuantizeWeightsTest, NumbersAreTheNearest) {
  Graph graph;
  const std::vector<double> weights = {127, -0.5, 1.5, 0, 0, 0, 0, 0};
  graph.outputs = {
      Op(graph, "matmul",
         {AddInput(graph, "x", {DType::kF32, {1, 4}}),
          AddConstant(graph, "w", {DType::kF32, {4, 2}}, FromDoubles(DType::kF32, weights))})};
  ASSERT_OK_AND_ASSIGN(const QuantizedWeights quantized, QuantizeWeights(graph, 2));
  const GraphNode& node = quantized.graph.nodes[0];
  const GraphValue& numbers = quantized.graph.value(node.inputs[1]);
  const GraphValue& scales = quantized.graph.value(node.inputs[2]);
  EXPECT_EQ(ToInts(numbers.type, *numbers.data),
            (std::vector<int64_t>{127, -127, 2, 0, 0, 0, 0, 0}));
  EXPECT_EQ(CopyAs<float>(*scales.data), (std::vector<float>{1, 0.5F / 127, 1, 1}));
}

TEST(QuantizeWeightsTest, WeightsAreFinite) {
  Graph graph;
  const std::vector<double> weights(8, std::numeric_limits<double>::infinity());
  graph.outputs = {
      Op(graph, "matmul",
         {AddInput(graph, "x", {DType::kF32, {1, 4}}),
          AddConstant(graph, "w", {DType::kF32, {4, 2}}, FromDoubles(DType::kF32, weights))})};
  EXPECT_THAT(QuantizeWeights(graph, 2),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("the weights w of node")));
}

}  // namespace
}  // namespace burnish
