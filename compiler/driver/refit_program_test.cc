// Models that were built with --refit and one set of weights, opened with another, against models
// that were built with the other: the same bytes of weights, so the same outputs.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cpu_info.h"
#include "base/status_matchers.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/bundle_testing.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/graph/constant.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/runtime/bundle.h"
#include "compiler/runtime/model.h"
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
using ::testing::UnorderedElementsAreArray;
using Shape = std::vector<int64_t>;

// Of a 3x3 convolution, channels last: Winograd's F(2x2), whose transform of the weights is packed.
constexpr char kWinogradTrace[] =
    "winograd@1 b3->(U,V0,V,M,T) m=2\n"
    "precompute@1 U\n";
constexpr char kDenseTrace[] =
    "split@1 b2.i1->(op,oi) size=32\n"
    "reorder@1 (op,b2.i0,b2.i2,oi)\n"
    "relayout@1 b1->Wp dims=(op,b2.i2,oi)\n"
    "precompute@1 Wp\n"
    "vectorize@1 oi lanes=8\n";

struct Scheduled {
  std::string task, trace;
};

class OneTrace : public ScheduleSource {
 public:
  explicit OneTrace(const Scheduled& scheduled) : scheduled_(scheduled) {}
  absl::StatusOr<std::vector<KnownSchedule>> Find(const ExtractedTask& task,
                                                  const Target&) override {
    std::vector<KnownSchedule> found;
    if (task.name == scheduled_.task) {
      found.push_back({.trace = scheduled_.trace,
                       .origin = ScheduleOrigin::kTuned,
                       .numerics = {.kind = NumericsClass::kReassociated}});
    }
    return found;
  }

 private:
  const Scheduled scheduled_;
};

absl::StatusOr<BuiltModel> Build(const Graph& graph, const Scheduled& scheduled = {},
                                 bool refit = true) {
  static BuilderClient& builder = *new BuilderClient();
  OneTrace source(scheduled);
  return BuildModel(graph, source, builder,
                    {.target = *HostTarget(HostCpuInfo(), 2), .refit = refit});
}

absl::Span<const uint8_t> BytesOf(const GraphValue& value) { return value.data->bytes(); }

std::vector<Replacement> WeightsOf(const Graph& graph) {
  std::vector<Replacement> replacements;
  for (const GraphValue& value : graph.values) {
    if (value.data == nullptr || !IsFloat(value.type.dtype) ||
        ElementCount(value.type.shape) == 1) {
      continue;
    }
    replacements.push_back({.name = value.name,
                            .tensor = {.data = const_cast<uint8_t*>(BytesOf(value).data()),
                                       .type = ElementType::kF32,
                                       .size_bytes = BytesOf(value).size()}});
  }
  return replacements;
}

RuntimeOr<std::shared_ptr<const Model>> Open(const BuiltModel& built,
                                             std::vector<Replacement> replacements) {
  return Model::LoadBytes(
      {reinterpret_cast<const uint8_t*>(built.bundle.data()), built.bundle.size()},
      {.replacements = std::move(replacements)});
}

std::vector<std::string> NamesOf(const std::vector<TensorInfo>& tensors) {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : tensors) names.push_back(tensor.name);
  return names;
}

std::vector<uint8_t> WeightBytes(const Model& model) {
  return {model.weights().begin(), model.weights().end()};
}

// Every parameter of `make` can be replaced, and a bundle of the one with the parameters of the
// other has the bytes of a bundle of the other; what is computed differs from the interpreter by
// rounding.
void ExpectRefits(Graph (*make)(uint64_t seed), const Scheduled& scheduled = {}) {
  const Graph old_graph = make(1), new_graph = make(2);
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(old_graph, scheduled));
  ASSERT_OK_AND_ASSIGN(const BuiltModel fresh, Build(new_graph, scheduled));
  for (const TaskReport& task : built.tasks) {
    if (task.name != scheduled.task) continue;
    ASSERT_EQ(task.origin, ScheduleOrigin::kTuned) << absl::StrJoin(task.rejected, "; ");
  }
  const std::vector<Replacement> weights = WeightsOf(new_graph);
  const auto old_model = Open(built, {}), fresh_model = Open(fresh, {});
  ASSERT_TRUE(old_model.ok() && fresh_model.ok());
  std::vector<std::string> wanted;
  for (const Replacement& weight : weights) wanted.push_back(weight.name);
  EXPECT_THAT(NamesOf((*old_model)->parameters()), UnorderedElementsAreArray(wanted));
  const auto refitted = Open(built, weights);
  ASSERT_TRUE(refitted.ok()) << refitted.status().message();
  EXPECT_NE(WeightBytes(**old_model), WeightBytes(**fresh_model));
  EXPECT_EQ(WeightBytes(**refitted), WeightBytes(**fresh_model));

  const std::vector<TensorValue> inputs = RandomInputs(new_graph, 3);
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                       RunBundle(built.bundle, old_graph, inputs, 2, weights));
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> of_fresh,
                       RunBundle(fresh.bundle, new_graph, inputs, 2));
  EXPECT_EQ(got[0].floats, of_fresh[0].floats);
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(new_graph, inputs));
  EXPECT_EQ(CompareOutputs(want, got, 1e-5), "");
  // Without the flag the model computes the same.
  ASSERT_OK_AND_ASSIGN(const BuiltModel plain, Build(new_graph, scheduled, /*refit=*/false));
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> of_plain,
                       RunBundle(plain.bundle, new_graph, inputs, 2));
  EXPECT_EQ(CompareOutputs(of_plain, got, 1e-6), "");
}

// Variances.
ValueId AddPositive(Graph& graph, const std::string& name, Shape shape, uint64_t seed) {
  TensorValue values = RandomValue({DType::kF32, shape}, seed);
  for (double& x : values.floats) x = std::abs(x) + 0.5;
  return AddConstant(graph, name, {DType::kF32, std::move(shape)}, FromTensorValue(values));
}

ValueId BatchNorm(Graph& graph, ValueId x, const std::string& name, int64_t channels,
                  uint64_t seed) {
  const ValueId gamma = AddRandomConstant(graph, name + ".gamma", {channels}, seed + 10);
  const ValueId beta = AddRandomConstant(graph, name + ".beta", {channels}, seed + 20);
  const ValueId mean = AddRandomConstant(graph, name + ".mean", {channels}, seed + 30);
  const ValueId variance = AddPositive(graph, name + ".variance", {channels}, seed + 40);
  return Op(graph, "batch_norm", {x, gamma, beta, mean, variance}, {{"epsilon", 1e-5}});
}

Graph ConvBnRelu(int64_t groups, bool transposed, uint64_t seed) {
  Graph graph;
  graph.name = "conv_bn_relu";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 8, 12, 12}});
  const ValueId w = AddRandomConstant(
      graph, "w", {transposed ? 8 : 16, transposed ? 16 / groups : 8 / groups, 3, 3}, seed);
  const ValueId b = AddRandomConstant(graph, "b", {16}, seed + 100);
  const ValueId y = Op(graph, transposed ? "conv_transpose" : "conv", {x, w, b},
                       {{"strides", Shape{1, 1}},
                        {"pads", Shape(4, 1)},
                        {"dilations", Shape{1, 1}},
                        {"group", groups}});
  graph.outputs = {Op(graph, "relu", {BatchNorm(graph, y, "bn", 16, seed)})};
  graph.values[graph.outputs[0]].name = "y";
  return graph;
}

TEST(RefitProgramTest, AConvolutionWithItsBatchNorm) {
  ExpectRefits([](uint64_t seed) { return ConvBnRelu(1, false, seed); });
}
TEST(RefitProgramTest, ADepthwiseConvolutionWithItsBatchNorm) {
  ExpectRefits([](uint64_t seed) { return ConvBnRelu(8, false, seed); });
}
TEST(RefitProgramTest, ATransposedConvolutionOfGroupsWithItsBatchNorm) {
  ExpectRefits([](uint64_t seed) { return ConvBnRelu(4, true, seed); });
}
TEST(RefitProgramTest, ATransposedConvolutionWithItsBatchNorm) {
  ExpectRefits([](uint64_t seed) { return ConvBnRelu(1, true, seed); });
}

Graph ScaledGemm(bool turned, uint64_t seed) {
  Graph graph;
  graph.name = "scaled_gemm";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {4, 24}});
  const ValueId w = AddRandomConstant(graph, "w", turned ? Shape{16, 24} : Shape{24, 16}, seed);
  const ValueId b = AddRandomConstant(graph, "b", {16}, seed + 100);
  const ValueId scale = AddRandomConstant(graph, "scale", {16}, seed + 200);
  const ValueId shift = AddRandomConstant(graph, "shift", {1, 16}, seed + 300);
  const ValueId y = Op(graph, "gemm", {x, w, b}, {{"trans_b", int64_t{turned}}});
  graph.outputs = {Op(graph, "sub", {Op(graph, "mul", {y, scale}), shift})};
  graph.values[graph.outputs[0]].name = "y";
  return graph;
}
TEST(RefitProgramTest, ScalesAndShiftsOfProducts) {
  ExpectRefits([](uint64_t seed) { return ScaledGemm(false, seed); });
  ExpectRefits([](uint64_t seed) { return ScaledGemm(true, seed); });
}

// Of 3x3 taps one meets the image.
Graph CroppedConv(uint64_t seed) {
  Graph graph;
  graph.name = "cropped";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 8, 1, 1}});
  const ValueId w = AddRandomConstant(graph, "w", {16, 8, 3, 3}, seed);
  graph.outputs = {Op(graph, "conv", {x, w},
                      {{"strides", Shape{1, 1}},
                       {"pads", Shape(4, 1)},
                       {"dilations", Shape{1, 1}},
                       {"group", int64_t{1}}})};
  graph.values[graph.outputs[0]].name = "y";
  return graph;
}
TEST(RefitProgramTest, ACroppedConvolution) { ExpectRefits(&CroppedConv); }

// A depthwise convolution of shuffled channels: the shuffle goes past it.
Graph ShuffledConv(uint64_t seed) {
  Graph graph;
  graph.name = "shuffled";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 8, 6, 6}});
  const ValueId cut = Op(graph, "reshape", {x}, {{"shape", Shape{1, 2, 4, 6, 6}}});
  const ValueId turned = Op(graph, "transpose", {cut}, {{"perm", Shape{0, 2, 1, 3, 4}}});
  const ValueId shuffled = Op(graph, "reshape", {turned}, {{"shape", Shape{1, 8, 6, 6}}});
  const ValueId w = AddRandomConstant(graph, "w", {8, 1, 3, 3}, seed);
  const ValueId b = AddRandomConstant(graph, "b", {8}, seed + 100);
  graph.outputs = {Op(graph, "conv", {shuffled, w, b},
                      {{"strides", Shape{1, 1}},
                       {"pads", Shape(4, 1)},
                       {"dilations", Shape{1, 1}},
                       {"group", int64_t{8}}})};
  graph.values[graph.outputs[0]].name = "y";
  return graph;
}
TEST(RefitProgramTest, WeightsInTheOrderBeforeAShuffle) { ExpectRefits(&ShuffledConv); }

TEST(RefitProgramTest, AWinogradConvolutionPacksWhatWasComputed) {
  ExpectRefits([](uint64_t seed) { return ConvBnRelu(1, false, seed); },
               {.task = "conv+relu", .trace = kWinogradTrace});
}

Graph LayerNorm(uint64_t seed) {
  Graph graph;
  graph.name = "layer_norm";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {4, 24}});
  const ValueId scale = AddRandomConstant(graph, "scale", {24}, seed);
  const ValueId bias = AddRandomConstant(graph, "bias", {24}, seed + 100);
  const ValueId w = AddRandomConstant(graph, "w", {24, 8}, seed + 200);
  const ValueId y =
      Op(graph, "layer_norm", {x, scale, bias}, {{"axis", int64_t{-1}}, {"epsilon", 1e-5}});
  // A factor of the weights alone, which is folded.
  const ValueId factor = AddRandomConstant(graph, "factor", {24, 1}, seed + 300);
  graph.outputs = {Op(graph, "matmul", {y, Op(graph, "mul", {w, factor})})};
  graph.values[graph.outputs[0]].name = "y";
  return graph;
}
TEST(RefitProgramTest, LayerNormAndAProductOfWeights) { ExpectRefits(&LayerNorm); }

constexpr int64_t kWords = 4099, kWidth = 264;  // Over 4 MiB, so that the table is shared.

Graph Tied(uint64_t seed) {
  Graph graph;
  graph.name = "tied";
  const ValueId words =
      AddConstant(graph, "words", {DType::kI64, {4}}, FromInts(DType::kI64, {0, 31, 4098, 77}));
  const ValueId x = AddInput(graph, "x", {DType::kF32, {4, kWidth}});
  const ValueId table = AddRandomConstant(graph, "table", {kWords, kWidth}, seed);
  const ValueId chosen = Op(graph, "cast", {Op(graph, "relu", {x})}, {{"to", std::string("i64")}});
  const ValueId column =
      Op(graph, "slice", {chosen}, {{"axes", Shape{1}}, {"starts", Shape{0}}, {"ends", Shape{1}}});
  const ValueId which =
      Op(graph, "add", {Op(graph, "reshape", {column}, {{"shape", Shape{4}}}), words});
  const ValueId rows =
      Op(graph, "gather", {table, Op(graph, "min", {which, words})}, {{"axis", int64_t{0}}});
  const ValueId turned = Op(graph, "transpose", {table}, {{"perm", Shape{1, 0}}});
  graph.outputs = {Op(graph, "matmul", {Op(graph, "add", {rows, x}), turned})};
  graph.values[graph.outputs[0]].name = "y";
  return graph;
}
TEST(RefitProgramTest, BothReadersOfATiedTableSeeTheNewOne) {
  ExpectRefits(&Tied, {.task = "dense", .trace = kDenseTrace});
  ASSERT_OK_AND_ASSIGN(const BuiltModel built,
                       Build(Tied(1), {.task = "dense", .trace = kDenseTrace}));
  EXPECT_LE(built.weights_bytes, kWords * kWidth * 4 * 102 / 100);
}

// Two parameters that are equal when the model is built may differ afterwards.
Graph Twins(uint64_t seed) {
  Graph graph;
  graph.name = "twins";
  const ValueId x = AddInput(graph, "x", {DType::kF32, {4, 8}});
  const ValueId one = AddRandomConstant(graph, "one", {8}, seed);
  const ValueId two = AddRandomConstant(graph, "two", {8}, seed == 1 ? 1 : 7);
  graph.outputs = {Op(graph, "mul", {Op(graph, "relu", {Op(graph, "add", {x, one})}), two})};
  graph.values[graph.outputs[0]].name = "y";
  return graph;
}
TEST(RefitProgramTest, ParametersThatWereEqualAreReplacedOneByOne) { ExpectRefits(&Twins); }

// Random graphs, with constants of names and values of their own.
Graph RandomWeights(uint64_t graph_seed, uint64_t seed) {
  Graph graph = RandomGraph(graph_seed);
  for (size_t v = 0; v < graph.values.size(); ++v) {
    GraphValue& value = graph.values[v];
    if (value.data == nullptr || !IsFloat(value.type.dtype)) continue;
    value.name = absl::StrCat("parameter", v);
    if (ElementCount(value.type.shape) == 1) continue;
    TensorValue values = RandomValue(value.type, seed + v);
    for (double& x : values.floats) x = std::abs(x) + 0.25;  // Variances among them.
    value.data = FromTensorValue(values);
  }
  return graph;
}

TEST(RefitProgramTest, RandomGraphsTakeNewWeights) {
  int parameters = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Graph new_graph = RandomWeights(seed, 2000);
    ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(RandomWeights(seed, 1000)));
    ASSERT_OK_AND_ASSIGN(const BuiltModel fresh, Build(new_graph));
    const auto old_model = Open(built, {}), fresh_model = Open(fresh, {});
    ASSERT_TRUE(old_model.ok() && fresh_model.ok());
    const std::vector<std::string> names = NamesOf((*old_model)->parameters());
    std::vector<Replacement> weights;
    for (const Replacement& weight : WeightsOf(new_graph)) {
      if (std::count(names.begin(), names.end(), weight.name) > 0) weights.push_back(weight);
    }
    EXPECT_EQ(weights.size(), names.size());
    parameters += static_cast<int>(names.size());
    const auto refitted = Open(built, weights);
    ASSERT_TRUE(refitted.ok()) << refitted.status().message();
    EXPECT_EQ(WeightBytes(**refitted), WeightBytes(**fresh_model));
  }
  EXPECT_GT(parameters, 50);
}

TEST(RefitProgramTest, WhatIsComputedTogetherIsReplacedTogether) {
  const Graph graph = ConvBnRelu(1, false, 2);
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(ConvBnRelu(1, false, 1)));
  const auto of = [&](const std::string& name) {
    std::vector<Replacement> given;
    for (const Replacement& weight : WeightsOf(graph)) {
      if (weight.name == name) given.push_back(weight);
    }
    return given;
  };
  EXPECT_THAT(Open(built, of("w")).status().message(), HasSubstr("replace \""));
  EXPECT_THAT(Open(built, of("w")).status().message(), HasSubstr("\"bn.variance\""));
  EXPECT_THAT(Open(built, of("bn.mean")).status().message(), HasSubstr("\"bn.beta\""));
}

TEST(RefitProgramTest, WithoutTheFlagNothingIsAdded) {
  ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(ConvBnRelu(1, false, 1), {}, /*refit=*/false));
  EXPECT_EQ(built.refit_bytes, 0);
  const auto model = Open(built, {});
  ASSERT_TRUE(model.ok());
  EXPECT_TRUE((*model)->parameters().empty());
}

}  // namespace
}  // namespace burnish
