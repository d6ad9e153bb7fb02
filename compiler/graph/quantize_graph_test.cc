// Float graphs as quantized ones: what is quantized, what it then computes, and each mistake.
#include "compiler/graph/quantize_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/graph/fold_quantization_pass.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Shape = std::vector<int64_t>;

std::string Ops(const Graph& graph) {
  std::string ops;
  for (const GraphNode& node : graph.nodes)
    absl::StrAppend(&ops, ops.empty() ? "" : " ", OpName(node.op));
  return ops;
}

ValueId Image(Graph& graph) { return AddInput(graph, "x", {DType::kF32, {1, 4, 8, 8}}); }

ValueId Conv(Graph& graph, ValueId x, int64_t filters, uint64_t seed) {
  const int64_t channels = graph.value(x).type.shape[1];
  return Op(graph, "conv",
            {x, AddRandomConstant(graph, absl::StrCat("w", seed), {filters, channels, 3, 3}, seed),
             AddRandomConstant(graph, absl::StrCat("b", seed), {filters}, seed + 100)},
            {{"pads", Shape{1, 1, 1, 1}}});
}

ValueId Linear(Graph& graph, ValueId x, int64_t columns, uint64_t seed) {
  const int64_t rows = graph.value(x).type.shape.back();
  return Op(graph, "matmul",
            {x, AddRandomConstant(graph, absl::StrCat("w", seed), {rows, columns}, seed)});
}

// Ranges over a few random inputs, by definition of the operators.
ValueRanges Observe(const Graph& graph, const QuantizeGraphOptions& options = {}) {
  Graph observed = graph;
  observed.outputs.clear();
  const std::vector<ValueId> values = ValuesToObserve(graph, options);
  for (const ValueId v : values) observed.outputs.push_back(v);
  ValueRanges ranges;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const auto outputs = InterpretGraph(observed, RandomInputs(observed, seed));
    EXPECT_THAT(outputs, IsOk());
    if (!outputs.ok()) return {};
    for (size_t i = 0; i < values.size(); ++i) {
      const auto [least, greatest] =
          std::minmax_element((*outputs)[i].floats.begin(), (*outputs)[i].floats.end());
      const auto [range, is_new] = ranges.emplace(values[i], ValueRange{*least, *greatest});
      range->second.least = std::min(range->second.least, *least);
      range->second.greatest = std::max(range->second.greatest, *greatest);
    }
  }
  return ranges;
}

absl::StatusOr<QuantizedGraph> Quantize(Graph graph, const QuantizeGraphOptions& options = {}) {
  const absl::Status prepared = PrepareToQuantize(graph);
  if (!prepared.ok()) return prepared;
  return QuantizeGraph(graph, Observe(graph, options), options);
}

// Root mean square of the difference, in that of what is wanted.
double ErrorOf(const Graph& got, const Graph& want) {
  double difference = 0, all = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const std::vector<TensorValue> inputs = RandomInputs(want, seed);
    const auto a = InterpretGraph(got, inputs), b = InterpretGraph(want, inputs);
    EXPECT_THAT(a, IsOk());
    EXPECT_THAT(b, IsOk());
    if (!a.ok() || !b.ok()) return 1;
    for (size_t o = 0; o < b->size(); ++o) {
      for (size_t i = 0; i < (*b)[o].floats.size(); ++i) {
        const double d = (*a)[o].floats[i] - (*b)[o].floats[i];
        difference += d * d;
        all += (*b)[o].floats[i] * (*b)[o].floats[i];
      }
    }
  }
  return std::sqrt(difference / all);
}

Graph ResidualNetwork() {
  Graph graph;
  ValueId x = Op(graph, "relu", {Conv(graph, Image(graph), 8, 1)});
  x = Op(graph, "max_pool", {x},
         {{"kernel_shape", Shape{2, 2}}, {"strides", Shape{2, 2}}, {"pads", Shape{0, 0, 0, 0}}});
  const ValueId y = Op(graph, "relu", {Conv(graph, x, 8, 2)});
  x = Op(graph, "relu", {Op(graph, "add", {Conv(graph, y, 8, 3), x})});
  x = Op(graph, "concat", {x, Op(graph, "relu", {Conv(graph, x, 4, 4)})}, {{"axis", int64_t{1}}});
  x = Op(graph, "reduce_mean", {Op(graph, "relu", {Conv(graph, x, 12, 5)})},
         {{"axes", Shape{2, 3}}, {"keepdims", int64_t{0}}});
  x = Op(graph, "gemm",
         {x, AddRandomConstant(graph, "w9", {12, 5}, 9), AddRandomConstant(graph, "b9", {5}, 10)});
  graph.outputs = {x};
  return graph;
}

TEST(QuantizeGraphTest, AllOfAResidualNetworkIsQuantizedButItsOutput) {
  const Graph graph = ResidualNetwork();
  ASSERT_OK_AND_ASSIGN(const QuantizedGraph quantized, Quantize(graph));
  EXPECT_EQ(quantized.product_count, 6);
  EXPECT_EQ(quantized.weight_count, 8 * 4 * 9 + 2 * 8 * 8 * 9 + 4 * 8 * 9 + 12 * 12 * 9 + 12 * 5);
  // x, four relus, the pool, both parts of the sum, its relu once, the concat, the mean.
  EXPECT_EQ(CountNodes(quantized.graph, "quantize"), 10);
  EXPECT_EQ(quantized.graph.nodes.back().op, "gemm");
  EXPECT_LT(ErrorOf(quantized.graph, graph), 0.03);
}

TEST(QuantizeGraphTest, ItsProductsAreExactSums) {
  ASSERT_OK_AND_ASSIGN(QuantizedGraph quantized, Quantize(ResidualNetwork()));
  const Graph before = quantized.graph;
  ASSERT_THAT(FoldQuantization(quantized.graph), IsOk());
  EXPECT_EQ(CountNodes(quantized.graph, "conv"), 0) << Ops(quantized.graph);
  EXPECT_EQ(CountNodes(quantized.graph, "conv_integer"), 5);
  // Parts of a concat have one scale, and so have a pool's input and output.
  EXPECT_EQ(CountNodes(quantized.graph, "concat"), 1);
  for (const GraphNode& node : quantized.graph.nodes) {
    if (node.op != "concat" && node.op != "max_pool") continue;
    EXPECT_EQ(quantized.graph.value(node.outputs[0]).type.dtype, DType::kU8) << node.op;
  }
  EXPECT_LT(ErrorOf(quantized.graph, before), 0.02);
}

// Of two layers that follow each other, one in floats: by its name, with ranges by names.
TEST(QuantizeGraphTest, LayersAreQuantizedOneByOne) {
  Graph prepared = ResidualNetwork();
  ASSERT_THAT(PrepareToQuantize(prepared), IsOk());
  FloatStorage storage{.type = DType::kI8, .ranges = NamedRanges(prepared, Observe(prepared))};
  EXPECT_EQ(storage.ranges.count("input x"), 1u);
  ASSERT_OK_AND_ASSIGN(const std::set<std::string> layers, LayersInBytes(prepared, storage));
  EXPECT_GE(layers.size(), 6u + 3u);  // Products; pool, sum, mean, and the concat.
  const auto products = [&](const FloatStorage& as) {
    Graph graph = ResidualNetwork();
    EXPECT_THAT(StoreAsBytes(graph, as), IsOk());
    EXPECT_LT(ErrorOf(graph, ResidualNetwork()), 0.03);
    // By their weights, which are more than a scale's zero points.
    return std::count_if(graph.values.begin(), graph.values.end(), [](const GraphValue& value) {
      return value.data != nullptr && value.type.dtype == DType::kI8 &&
             ElementCount(value.type.shape) >= 60;
    });
  };
  EXPECT_EQ(products(storage), 6);
  std::string conv;
  for (const GraphNode& node : prepared.nodes) {
    if (node.op == "conv") conv = node.layer;
  }
  storage.layers[conv] = DType::kBf16;
  EXPECT_EQ(products(storage), 5);
  EXPECT_EQ(products({.layers = {{conv, DType::kI8}}, .ranges = storage.ranges}), 1);
  // Without a range nothing can be quantized.
  storage.ranges.clear();
  Graph graph = ResidualNetwork();
  EXPECT_THAT(StoreAsBytes(graph, storage),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("has no range")));
}

// As dequantized numbers, in a graph of the same values.
TEST(QuantizeGraphTest, WeightsAreRoundedWhereTheyLie) {
  Graph graph = ResidualNetwork();
  ASSERT_THAT(PrepareToQuantize(graph), IsOk());
  const FloatStorage storage{.ranges = NamedRanges(graph, Observe(graph))};
  ASSERT_OK_AND_ASSIGN(const Graph rounded, WithRoundedWeights(graph, storage));
  ASSERT_EQ(rounded.values.size(), graph.values.size());
  int count = 0;
  for (const GraphNode& node : graph.nodes) {
    if (node.op != "conv") continue;
    const GraphValue& was = graph.value(node.inputs[1]);
    const std::vector<double> want = ToDoubles(was.type, *was.data);
    const GraphValue& is = rounded.value(node.inputs[1]);
    const std::vector<double> got = ToDoubles(is.type, *is.data);
    const auto filter = static_cast<size_t>(ElementCount(was.type.shape) / was.type.shape[0]);
    for (size_t c = 0; c < want.size(); c += filter) {
      double greatest = 0;
      for (size_t i = c; i < c + filter; ++i) greatest = std::max(greatest, std::abs(want[i]));
      for (size_t i = c; i < c + filter; ++i) {
        const double steps = got[i] / (greatest / 127);
        EXPECT_NEAR(steps, std::nearbyint(steps), 1e-4);
        EXPECT_LE(std::abs(got[i] - want[i]), greatest / 127 * 0.501);
      }
    }
    ++count;
  }
  EXPECT_EQ(count, 5);
}

TEST(QuantizeGraphTest, BatchNormsAreFoldedFirst) {
  Graph graph;
  const ValueId conv = Conv(graph, Image(graph), 8, 1);
  std::vector<ValueId> inputs = {conv};
  for (int i = 0; i < 3; ++i) inputs.push_back(AddRandomConstant(graph, "s", {8}, 20 + i));
  inputs.push_back(AddConstant(graph, "v", {DType::kF32, {8}},
                               FromDoubles(DType::kF32, std::vector<double>(8, 2.0))));
  graph.outputs = {Op(graph, "batch_norm", inputs, {{"epsilon", 1e-5}})};
  ASSERT_OK_AND_ASSIGN(const QuantizedGraph quantized, Quantize(graph));
  EXPECT_EQ(Ops(quantized.graph), "quantize dequantize dequantize dequantize conv");
  EXPECT_LT(ErrorOf(quantized.graph, graph), 0.02);
}

TEST(QuantizeGraphTest, ResidualStreamsOfTransformersStayFloat) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 6, 16}});
  ValueId y =
      Op(graph, "layer_norm",
         {x, AddRandomConstant(graph, "g", {16}, 3), AddRandomConstant(graph, "h", {16}, 4)},
         {{"axis", int64_t{-1}}});
  y = Linear(graph, Op(graph, "gelu", {Linear(graph, y, 32, 1)}), 16, 2);
  const ValueId sum = Op(graph, "add", {x, y});
  graph.outputs = {Op(graph, "softmax", {sum}, {{"axis", int64_t{-1}}})};
  ASSERT_OK_AND_ASSIGN(const QuantizedGraph quantized, Quantize(graph));
  // What the two products read, and nothing else.
  EXPECT_EQ(CountNodes(quantized.graph, "quantize"), 2);
  EXPECT_EQ(quantized.product_count, 2);
}

// A mean of squares over the last dimension needs more than 256 steps.
TEST(QuantizeGraphTest, StatisticsOfNormalizationsStayFloat) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 6, 16}});
  const ValueId mean = Op(graph, "reduce_mean", {Op(graph, "mul", {x, x})},
                          {{"axes", Shape{2}}, {"keepdims", int64_t{1}}});
  graph.outputs = {Linear(graph, Op(graph, "div", {x, Op(graph, "sqrt", {mean})}), 8, 1)};
  ASSERT_OK_AND_ASSIGN(const QuantizedGraph quantized, Quantize(graph));
  EXPECT_EQ(CountNodes(quantized.graph, "quantize"), 1);
}

TEST(QuantizeGraphTest, NodesMayStayFloat) {
  Graph graph = ResidualNetwork();
  ASSERT_THAT(PrepareToQuantize(graph), IsOk());
  const std::vector<ValueId> all = ValuesToObserve(graph);
  for (GraphNodeId n = 0; n < std::ssize(graph.nodes); ++n) {
    QuantizeGraphOptions options{.float_nodes = {n}};
    const std::vector<ValueId> fewer = ValuesToObserve(graph, options);
    EXPECT_TRUE(std::includes(all.begin(), all.end(), fewer.begin(), fewer.end()));
    ASSERT_OK_AND_ASSIGN(const QuantizedGraph quantized,
                         QuantizeGraph(graph, Observe(graph), options));
    EXPECT_EQ(std::count(quantized.nodes.begin(), quantized.nodes.end(), n), 0);
    if (graph.nodes[n].op == "conv") EXPECT_EQ(quantized.product_count, 5);
  }
}

TEST(QuantizeGraphTest, ScalesHoldZeroAndBothEnds) {
  for (const auto& [least, greatest] :
       {std::pair<double, double>{-1, 3}, {0, 6}, {2, 6}, {-5, -1}, {-1e-3, 7e4}}) {
    const ByteScale byte = ByteScaleOf({least, greatest});
    const auto real = [&, scale = byte.scale, zero = byte.zero](int64_t q) {
      return static_cast<double>(q - zero) * scale;
    };
    EXPECT_EQ(real(byte.zero), 0);
    EXPECT_NEAR(real(0), std::min(least, 0.0), byte.scale * 0.51);
    EXPECT_NEAR(real(255), std::max(greatest, 0.0), byte.scale * 0.51);
  }
  for (const double tiny : {0.0, 1e-44}) {
    const ByteScale nothing = ByteScaleOf({0, tiny});
    EXPECT_EQ(nothing.scale, 1);
    EXPECT_EQ(nothing.zero, 0);
  }
}

// Filters of nothing but zeros, and of next to nothing beside a bias.
TEST(QuantizeGraphTest, FiltersWithoutWeightsKeepTheirBias) {
  Graph graph;
  const ValueId x = Image(graph);
  std::vector<double> weights(4 * 4, 0.0);
  for (int i = 4; i < 8; ++i) weights[i] = 1e-30;
  for (int i = 8; i < 16; ++i) weights[i] = 0.5 * (i - 12);
  const ValueId w =
      AddConstant(graph, "w", {DType::kF32, {4, 4, 1, 1}}, FromDoubles(DType::kF32, weights));
  const ValueId b =
      AddConstant(graph, "b", {DType::kF32, {4}}, FromDoubles(DType::kF32, {3, -2, 1, 0}));
  graph.outputs = {Op(graph, "conv", {x, w, b})};
  ASSERT_OK_AND_ASSIGN(const QuantizedGraph quantized, Quantize(graph));
  EXPECT_LT(ErrorOf(quantized.graph, graph), 0.01);
  ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(quantized.graph, RandomInputs(graph, 5)));
  EXPECT_NEAR(got[0].floats[0], 3, 1e-3);
  EXPECT_NEAR(got[0].floats[64], -2, 1e-3);
}

TEST(QuantizeGraphTest, RandomGraphsStayGraphs) {
  int products = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Graph graph = RandomGraph(seed);
    ASSERT_OK_AND_ASSIGN(QuantizedGraph quantized, Quantize(graph));
    products += static_cast<int>(quantized.product_count);
    const Graph before = quantized.graph;
    ASSERT_THAT(FoldQuantization(quantized.graph), IsOk());
    ASSERT_OK_AND_ASSIGN(const auto outputs,
                         InterpretGraph(quantized.graph, RandomInputs(graph, seed)));
    EXPECT_EQ(outputs.size(), graph.outputs.size());
  }
  EXPECT_GT(products, 20);
}

TEST(QuantizeGraphTest, MistakesAreNamed) {
  Graph graph = ResidualNetwork();
  ASSERT_THAT(PrepareToQuantize(graph), IsOk());
  ValueRanges ranges = Observe(graph);
  const ValueId x = graph.inputs[0];
  const double infinite = std::numeric_limits<double>::infinity();
  for (const ValueRange& bad :
       {ValueRange{0, infinite}, ValueRange{std::nan(""), 1}, ValueRange{1, 0}}) {
    ranges[x] = bad;
    EXPECT_THAT(QuantizeGraph(graph, ranges),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("value x has no range")));
  }
  ranges.erase(x);
  EXPECT_THAT(QuantizeGraph(graph, ranges), StatusIs(StatusCode::kInvalidArgument));
  Graph twice = Quantize(ResidualNetwork())->graph;
  EXPECT_THAT(PrepareToQuantize(twice),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("has quantized tensors already")));
  Graph broken;
  const ValueId w = AddConstant(broken, "w", {DType::kF32, {4, 4, 1, 1}},
                                FromDoubles(DType::kF32, std::vector<double>(16, infinite)));
  broken.outputs = {Op(broken, "conv", {Image(broken), w})};
  EXPECT_THAT(QuantizeGraph(broken, {{broken.inputs[0], {0, 1}}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("the weights w of node")));
}

}  // namespace
}  // namespace burnish
