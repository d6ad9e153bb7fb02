#include "compiler/graph/fold_quantization_pass.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

std::string Ops(const Graph& graph) {
  std::string ops;
  for (const GraphNode& node : graph.nodes)
    absl::StrAppend(&ops, ops.empty() ? "" : " ", OpName(node.op));
  return ops;
}

ValueId Floats(Graph& graph, Shape shape, std::vector<double> values) {
  return AddConstant(graph, "c", {DType::kF32, std::move(shape)}, FromDoubles(DType::kF32, values));
}
ValueId Numbers(Graph& graph, DType type, Shape shape, const std::vector<int64_t>& values) {
  return AddConstant(graph, "q", {type, std::move(shape)}, FromInts(type, values));
}
ValueId One(Graph& graph, DType type, int64_t value) { return Numbers(graph, type, {}, {value}); }

ValueId Real(Graph& graph, ValueId x, double scale, int64_t zero) {
  const DType type = graph.value(x).type.dtype;
  return Op(graph, "dequantize", {x, Floats(graph, {}, {scale}), One(graph, type, zero)});
}
ValueId Quantized(Graph& graph, ValueId x, DType type, double scale, int64_t zero) {
  return Op(graph, "quantize", {x, Floats(graph, {}, {scale}), One(graph, type, zero)});
}

// Random weights with a scale and a zero point a column, or one for all.
ValueId Weights(Graph& graph, DType type, const Shape& shape, size_t column_dim, bool each,
                int64_t zero, Rng& rng) {
  const IntLimits limits = LimitsOf(type);
  std::vector<int64_t> values(ElementCount(shape));
  for (int64_t& v : values) v = rng.Between(limits.least, limits.greatest);
  Shape wide;
  if (each) {
    wide.assign(shape.size(), 1);
    wide[column_dim] = shape[column_dim];
  }
  std::vector<double> scale(ElementCount(wide));
  for (double& s : scale) s = 0.001 * static_cast<double>(rng.Between(1, 20));
  return Op(graph, "dequantize",
            {Numbers(graph, type, shape, values), Floats(graph, wide, scale),
             Numbers(graph, type, wide, std::vector<int64_t>(scale.size(), zero))});
}

// The graph before and after the pass, on random numbers: within 1.
void ExpectWithinOne(const Graph& before, const Graph& after, uint64_t seed) {
  std::vector<TensorValue> inputs;
  for (size_t i = 0; i < before.inputs.size(); ++i) {
    inputs.push_back(RandomValue(before.value(before.inputs[i]).type, seed + i));
  }
  ASSERT_OK_AND_ASSIGN(const auto want, InterpretGraph(before, inputs));
  ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(after, inputs));
  int64_t least = 1 << 20, greatest = -(1 << 20);
  for (size_t i = 0; i < want[0].integers.size(); ++i) {
    ASSERT_LE(std::abs(want[0].integers[i] - got[0].integers[i]), 1) << "element " << i;
    least = std::min(least, want[0].integers[i]);
    greatest = std::max(greatest, want[0].integers[i]);
  }
  // Numbers that are all the same would say nothing.
  EXPECT_GT(greatest, least);
}

TEST(FoldQuantizationTest, ProductsBecomeIntegers) {
  Rng rng(1);
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Graph graph;
    const DType in = rng.Between(0, 1) != 0 ? DType::kU8 : DType::kI8;
    const DType out = rng.Between(0, 1) != 0 ? DType::kU8 : DType::kI8;
    const bool each = rng.Between(0, 1) != 0, is_conv = rng.Between(0, 1) != 0;
    const DType w_type = rng.Between(0, 1) != 0 ? DType::kU8 : DType::kI8;
    const int64_t w_zero = w_type == DType::kU8 ? 128 : 0;
    const int64_t x_zero = LimitsOf(in).least + rng.Between(0, 255);
    ValueId y = -1;
    if (is_conv) {
      const int64_t channels = rng.Between(3, 5);
      const ValueId x = AddInput(graph, "x", {in, {1, channels, 7, 6}});
      const ValueId w = Weights(graph, w_type, {6, channels, 3, 3}, 0, each, w_zero, rng);
      std::vector<ValueId> inputs = {Real(graph, x, 0.02, x_zero), w};
      if (rng.Between(0, 1) != 0) {
        inputs.push_back(Floats(graph, {6}, {0.5, -0.25, 1, 0, 3, -2}));
      }
      y = Op(graph, "conv", inputs,
             {{"pads", Shape{1, 0, 1, 2}}, {"strides", Shape{rng.Between(1, 2), 1}}});
    } else {
      const ValueId x = AddInput(graph, "x", {in, {3, 5, 16}});
      const ValueId w = Weights(graph, w_type, {16, 9}, 1, each, w_zero, rng);
      y = Op(graph, "matmul", {Real(graph, x, 0.02, x_zero), w});
      if (rng.Between(0, 1) != 0) {
        y = Op(graph, "add", {Floats(graph, {9}, std::vector<double>(9, 0.75)), y});
      }
    }
    const int64_t kind = rng.Between(0, 2);
    if (kind == 1) y = Op(graph, "relu", {y});
    if (kind == 2) y = Op(graph, "clip", {y}, {{"min", -1.0}, {"max", 2.5}});
    graph.outputs = {Quantized(graph, y, out, 0.05, LimitsOf(out).least + rng.Between(0, 255))};
    Graph after = graph;
    ASSERT_THAT(FoldQuantization(after), IsOk());
    EXPECT_THAT(Ops(after), ::testing::HasSubstr(is_conv ? "conv_integer requantize"
                                                         : "matmul_integer requantize"));
    EXPECT_EQ(CountNodes(after, "dequantize"), 0) << Ops(after);
    ExpectWithinOne(graph, after, seed);
  }
}

TEST(FoldQuantizationTest, MovementIsDoneOnTheNumbers) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kU8, {1, 4, 6, 6}});
  const ValueId pooled = Op(graph, "max_pool", {Real(graph, x, 0.5, 3)},
                            {{"kernel_shape", Shape{2, 2}}, {"pads", Shape{1, 1, 0, 0}}});
  const ValueId again = Real(graph, Quantized(graph, pooled, DType::kU8, 0.5, 3), 0.5, 3);
  const ValueId both = Op(graph, "concat", {again, again}, {{"axis", int64_t{1}}});
  const ValueId flat = Op(graph, "reshape", {both}, {{"shape", Shape{1, 288}}});
  graph.outputs = {Quantized(graph, flat, DType::kU8, 0.5, 3)};
  Graph after = graph;
  ASSERT_THAT(FoldQuantization(after), IsOk());
  EXPECT_EQ(Ops(after), "max_pool concat reshape");
  EXPECT_EQ(Difference(graph, after), "");
}

// Of a table of words, what is looked up is read as real numbers, and not the whole table.
TEST(FoldQuantizationTest, LookingUpIsDoneOnTheNumbers) {
  Graph graph;
  const ValueId table = Numbers(graph, DType::kI8, {4, 2}, {1, -2, 3, 4, 5, -6, 7, 8});
  const ValueId x = AddInput(graph, "x", {DType::kI64, {3}});
  const ValueId found = Op(graph, "gather", {Real(graph, table, 0.5, 3), x});
  graph.outputs = {Op(graph, "sigmoid", {found})};
  Graph after = graph;
  ASSERT_THAT(FoldQuantization(after), IsOk());
  EXPECT_EQ(Ops(after), "gather dequantize sigmoid");
  const TensorValue words{.dtype = DType::kI64, .shape = {3}, .integers = {2, 0, 3}};
  ASSERT_OK_AND_ASSIGN(const auto want, InterpretGraph(graph, {words}));
  ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(after, {words}));
  EXPECT_EQ(CompareOutputs(want, got, 0), "");
}

// The product with the reciprocal may be one off where the quotient ends near a half.
TEST(FoldQuantizationTest, ComputedNumbersAreMultipliedAndInputsDivided) {
  for (const DType type : {DType::kU8, DType::kI8}) {
    for (const double scale : {0.0007, 0.003, 1e-39}) {
      Graph graph;
      const ValueId a = AddInput(graph, "a", {DType::kU8, {40}});
      const ValueId b = AddInput(graph, "b", {DType::kU8, {40}});
      const ValueId sum = Op(graph, "add", {Real(graph, a, 0.02, 1), Real(graph, b, 0.01, 2)});
      graph.outputs = {Quantized(graph, sum, type, scale, LimitsOf(type).least + 128)};
      Graph after = graph;
      ASSERT_THAT(FoldQuantization(after), IsOk());
      const char* const last = scale > 1e-38 ? "requantize" : "quantize";
      EXPECT_EQ(Ops(after), absl::StrCat("dequantize dequantize add ", last));
      if (scale > 1e-38) ExpectWithinOne(graph, after, 3);
    }
  }
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {5}});
  const ValueId real = Real(graph, Quantized(graph, x, DType::kU8, 0.5, 3), 0.5, 3);
  graph.outputs = {Op(graph, "sigmoid", {real})};
  ASSERT_THAT(FoldQuantization(graph), IsOk());
  EXPECT_EQ(Ops(graph), "quantize dequantize sigmoid");
}

TEST(FoldQuantizationTest, PartsOfOtherScalesStayRealNumbers) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kU8, {1, 4}});
  const ValueId both = Op(graph, "concat", {Real(graph, x, 0.5, 3), Real(graph, x, 0.25, 3)},
                          {{"axis", int64_t{1}}});
  graph.outputs = {Quantized(graph, both, DType::kU8, 0.5, 3)};
  Graph after = graph;
  ASSERT_THAT(FoldQuantization(after), IsOk());
  EXPECT_EQ(Ops(after), "dequantize dequantize concat requantize");
}

// Where nothing quantizes what a product gives, or others read it, too, its sums are exact all the
// same, and real numbers come of them.
TEST(FoldQuantizationTest, ProductsThatEndInFloatsAreIntegers) {
  Rng rng(3);
  for (const bool is_conv : {false, true}) {
    for (const DType type : {DType::kU8, DType::kI8}) {
      Graph graph;
      const ValueId x = AddInput(graph, "x", {type, is_conv ? Shape{1, 5, 6, 6} : Shape{3, 16}});
      const ValueId w = Weights(graph, DType::kI8, is_conv ? Shape{9, 5, 3, 3} : Shape{16, 9},
                                is_conv ? 0 : 1, /*each=*/true, 0, rng);
      const ValueId b = Floats(graph, {9}, {1, -2, 3, 0, 0.5, 0.25, -7, 100, 0});
      ValueId y = is_conv ? Op(graph, "conv", {Real(graph, x, 0.02, 7), w, b},
                               {{"pads", Shape{1, 1, 1, 1}}})
                          : Op(graph, "gemm", {Real(graph, x, 0.02, 7), w, b});
      graph.outputs = {Op(graph, "sigmoid", {y})};
      Graph after = graph;
      ASSERT_THAT(FoldQuantization(after), IsOk());
      EXPECT_THAT(Ops(after), ::testing::HasSubstr("_integer cast mul add sigmoid"));
      EXPECT_EQ(CountNodes(after, "dequantize"), 0) << Ops(after);
      const std::vector<TensorValue> inputs = RandomInputs(graph, 5);
      ASSERT_OK_AND_ASSIGN(const auto want, InterpretGraph(graph, inputs));
      ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(after, inputs));
      EXPECT_EQ(CompareOutputs(want, got, 1e-5), "");
    }
  }
}

TEST(FoldQuantizationTest, WhatOthersReadIsSumsOfIntegers) {
  Rng rng(2);
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kU8, {3, 16}});
  const ValueId y =
      Op(graph, "matmul",
         {Real(graph, x, 0.02, 7), Weights(graph, DType::kI8, {16, 9}, 1, true, 0, rng)});
  graph.outputs = {Quantized(graph, y, DType::kU8, 0.05, 128), y};
  Graph after = graph;
  ASSERT_THAT(FoldQuantization(after), IsOk());
  EXPECT_EQ(Ops(after), "matmul_integer cast mul requantize");
}

}  // namespace
}  // namespace burnish
