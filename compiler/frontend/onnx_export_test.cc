#include "compiler/frontend/onnx_export.h"

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "compiler/frontend/model_file.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/frontend/onnx_testing.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/prepare.h"
#include "compiler/graph/random_control.h"
#include "compiler/te/operator_cases.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

Graph RoundTrip(const Graph& graph) {
  const absl::StatusOr<std::string> bytes = ExportOnnx(graph);
  EXPECT_THAT(bytes, IsOk());
  absl::StatusOr<Graph> back = ImportOnnx(*bytes);
  EXPECT_THAT(back, IsOk()) << PrintGraph(graph);
  return *std::move(back);
}

std::string Ops(const Graph& graph) {
  std::string ops;
  for (const GraphNode& node : graph.nodes)
    ops += std::string(OpName(node.op)) + "(" + PrintAttributes(node.attributes) + ") ";
  return ops;
}

TEST(OnnxExportTest, AnImportedModelComesBackAsItWas) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(SmallOnnxModel()));
  const Graph back = RoundTrip(graph);
  EXPECT_EQ(Ops(graph), Ops(back));
  EXPECT_EQ(Difference(graph, back), "");
}

TEST(OnnxExportTest, RandomGraphsComputeTheSameAfterARoundTrip) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Graph graph = RandomGraph(seed);
    ASSERT_EQ(Difference(graph, RoundTrip(graph)), "");
    ASSERT_THAT(PrepareGraph(graph), IsOk());  // Channels last, dense.
    ASSERT_EQ(Difference(graph, RoundTrip(graph)), "");
  }
}

// A convolution as a quantizer writes one: a scale a filter, a bias of 32 bits.
Graph QuantizedConvolution() {
  Graph graph;
  const auto numbers = [&](const char* name, DType type, Shape shape, int64_t least) {
    std::vector<int64_t> values(ElementCount(shape));
    for (size_t i = 0; i < values.size(); ++i) values[i] = least + static_cast<int64_t>(i % 50);
    return AddConstant(graph, name, {type, std::move(shape)}, FromInts(type, values));
  };
  const auto zeros = [&](const char* name, DType type, Shape shape) {
    const std::vector<int64_t> values(ElementCount(shape), 0);
    return AddConstant(graph, name, {type, std::move(shape)}, FromInts(type, values));
  };
  const auto scales = [&](const char* name, Shape shape) {
    std::vector<double> values(ElementCount(shape), 0.25);
    return AddConstant(graph, name, {DType::kF32, std::move(shape)},
                       FromDoubles(DType::kF32, values));
  };
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 4, 5, 5}});
  const ValueId scale = scales("s", {}), zero = numbers("z", DType::kU8, {}, 100);
  const ValueId real =
      Op(graph, "dequantize", {Op(graph, "quantize", {x, scale, zero}), scale, zero});
  const ValueId w = Op(graph, "dequantize",
                       {numbers("w", DType::kI8, {8, 4, 3, 3}, -25), scales("ws", {8, 1, 1, 1}),
                        zeros("wz", DType::kI8, {8, 1, 1, 1})});
  const ValueId b =
      Op(graph, "dequantize",
         {numbers("b", DType::kI32, {8}, -4), scales("bs", {8}), zeros("bz", DType::kI32, {8})});
  graph.outputs = {Op(graph, "conv", {real, w, b})};
  return graph;
}

// As runtimes look for them: parameters are initializers of one dimension, sums have no zero point,
// and nothing is written that no node reads.
TEST(OnnxExportTest, QuantizedParametersAreInitializers) {
  const Graph graph = QuantizedConvolution();
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ExportOnnx(graph));
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(bytes));
  std::map<std::string, const onnx::TensorProto*> constants;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    constants[tensor.name()] = &tensor;
  }
  std::set<std::string> read;
  std::string ops;
  for (const onnx::NodeProto& node : model.graph().node()) {
    read.insert(node.input().begin(), node.input().end());
    absl::StrAppend(&ops, ops.empty() ? "" : " ", node.op_type(), node.input_size());
    if (node.op_type() != "DequantizeLinear" && node.op_type() != "QuantizeLinear") continue;
    for (int i = 1; i < node.input_size(); ++i) {
      ASSERT_EQ(constants.count(node.input(i)), 1u) << node.input(i);
      EXPECT_LE(constants[node.input(i)]->dims_size(), 1) << node.input(i);
    }
  }
  EXPECT_EQ(ops, "QuantizeLinear3 DequantizeLinear3 DequantizeLinear3 DequantizeLinear2 Conv3");
  for (const auto& [name, tensor] : constants) EXPECT_EQ(read.count(name), 1u) << name;
  EXPECT_EQ(Difference(graph, RoundTrip(graph)), "");
}

TEST(OnnxExportTest, LargeModelsAreTwoFiles) {
  Graph graph = QuantizedConvolution();
  graph.outputs = {
      Op(graph, "add", {graph.outputs[0], AddRandomConstant(graph, "k", {8, 3, 3}, 1)})};
  ASSERT_OK_AND_ASSIGN(const OnnxFiles inside, ExportOnnxFiles(graph, "m.data"));
  EXPECT_TRUE(inside.data.empty());
  // The weights take 288 bytes; a KiB is what goes to the other file.
  const ValueId big = AddRandomConstant(graph, "big", {8, 300}, 2);
  const ValueId sum =
      Op(graph, "reduce_sum", {big}, {{"axes", Shape{1}}, {"keepdims", int64_t{0}}});
  graph.outputs.push_back(Op(graph, "identity", {sum}));
  ASSERT_OK_AND_ASSIGN(const OnnxFiles files, ExportOnnxFiles(graph, "m.data", /*inside_max=*/100));
  EXPECT_EQ(files.data.size(), 8u * 300 * 4);
  EXPECT_LT(files.model.size(), 8u * 300 * 4);
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("onnx_export"));
  ASSERT_THAT(WriteFileAtomically(folder.path() + "/m.onnx", files.model), IsOk());
  ASSERT_THAT(WriteFileAtomically(folder.path() + "/m.data", files.data), IsOk());
  ASSERT_OK_AND_ASSIGN(const Graph back, ImportModelFile(folder.path() + "/m.onnx"));
  EXPECT_EQ(Difference(graph, back), "");
}

TEST(OnnxExportTest, ControlFlowComputesTheSameAfterARoundTrip) {
  int written = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Graph graph = RandomControl(seed);
    if (ExportOnnx(graph).status().code() == absl::StatusCode::kUnimplemented) continue;
    ++written;
    ASSERT_EQ(Difference(graph, RoundTrip(graph)), "");
  }
  EXPECT_GE(written, 20);  // Others stack backwards without slices.
}

TEST(OnnxExportTest, EveryGroupOfAFusedGraphIsAModel) {
  Graph graph = RandomGraph(3);
  ASSERT_THAT(PrepareGraph(graph), IsOk());
  for (const FusedGroup& group : Fuse(graph).groups) {
    const Graph part = Subgraph(graph, group);
    ASSERT_THAT(VerifyGraph(part), IsOk());
    EXPECT_EQ(Difference(part, RoundTrip(part)), "");
  }
}

Graph OneOperator(const OperatorCase& c) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    inputs.push_back(AddInput(graph, absl::StrCat("x", i), {c.inputs[i].dtype, c.inputs[i].shape}));
  }
  const absl::StatusOr<GraphNodeId> node = AddNode(graph, c.op->name(), inputs, c.attributes);
  EXPECT_THAT(node, IsOk()) << c.name;
  graph.outputs = graph.nodes[*node].outputs;
  return graph;
}

// NaN where NaN is. Attributes are f32 in ONNX and double here.
void ExpectSame(const std::vector<TensorValue>& got, const std::vector<TensorValue>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].shape, want[i].shape);
    EXPECT_EQ(got[i].integers, want[i].integers);
    ASSERT_EQ(got[i].floats.size(), want[i].floats.size());
    for (size_t k = 0; k < want[i].floats.size(); ++k) {
      const double g = got[i].floats[k], w = want[i].floats[k];
      EXPECT_TRUE(g == w || (std::isnan(g) && std::isnan(w)) ||
                  std::abs(g - w) <= 1e-6 * (1 + std::abs(w)))
          << "got " << g << ", want " << w;
    }
  }
}

// Of every operator of the library: one that nobody can write back is found here by name.
TEST(OnnxExportTest, EveryOperatorComputesTheSameAfterARoundTrip) {
  for (const OperatorCase& c : ReadOperatorCases()) {
    SCOPED_TRACE(c.name);
    // ONNX's results end where these have zeros: no node has this fixed size.
    if (c.op->name() == "non_zero" || c.op->name() == "unique" ||
        c.op->name() == "non_max_suppression") {
      EXPECT_EQ(ExportOnnx(OneOperator(c)).status().code(), absl::StatusCode::kUnimplemented);
      continue;
    }
    const Graph graph = OneOperator(c);
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(graph, c.inputs));
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                         InterpretGraph(RoundTrip(graph), c.inputs));
    ExpectSame(got, want);
  }
}

TEST(OnnxExportTest, OperatorsWithInputsForAttributes) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 4, 3, 6}});
  const ValueId cut = Op(graph, "slice", {x},
                         {{"starts", Shape{3, 5}},
                          {"ends", Shape{-1, 0}},
                          {"axes", Shape{1, 3}},
                          {"steps", Shape{-1, -2}}});
  const ValueId clipped = Op(graph, "clip", {cut}, {{"min", -0.5}});
  const ValueId padded = Op(
      graph, "pad", {clipped},
      {{"pads", Shape{0, 1, 0, 2, 0, 0, 1, 0}}, {"mode", std::string("constant")}, {"value", 2.0}});
  const ValueId large = Op(graph, "resize", {padded},
                           {{"sizes", Shape{1, 5, 8, 10}},
                            {"mode", std::string("linear")},
                            {"coordinate_transformation_mode", std::string("half_pixel")},
                            {"nearest_mode", std::string("floor")}});
  const ValueId rows =
      Op(graph, "reduce_l2", {large}, {{"axes", Shape{3}}, {"keepdims", int64_t{0}}});
  const ValueId gated = Op(graph, "silu", {rows});
  const ValueId wide = Op(graph, "matmul", {gated, gated}, {{"trans_b", int64_t{1}}});
  const ValueId best =
      Op(graph, "argmax", {wide}, {{"axis", int64_t{2}}, {"keepdims", int64_t{0}}});
  const ValueId whole = Op(graph, "cast", {wide}, {{"to", std::string("i32")}});
  graph.outputs = {gated, best, whole};
  EXPECT_EQ(Difference(graph, RoundTrip(graph)), "");
}

TEST(OnnxExportTest, ACropKeepsItsRegionAndWhatLiesOutside) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {1, 1, 3, 5}});
  graph.outputs = {Op(graph, "resize", {x},
                      {{"scales", std::vector<double>{1, 1, 1, 0.8}},
                       {"roi", std::vector<double>{0, 0, 0.25, -0.5, 1, 1, 0.75, 1}},
                       {"extrapolation_value", 3.0},
                       {"mode", std::string("linear")},
                       {"coordinate_transformation_mode", std::string("tf_crop_and_resize")}})};
  EXPECT_EQ(Difference(graph, RoundTrip(graph)), "");
}

TEST(OnnxExportTest, StorageOfSixteenBitsKeepsItsTypes) {
  for (const DType type : {DType::kBf16, DType::kF16}) {
    SCOPED_TRACE(DTypeName(type));
    Graph graph;
    const ValueId x = AddInput(graph, "x", {type, {2, 3}});
    const ValueId c = AddConstant(graph, "c", {type, {3}}, FromDoubles(type, {1.5, -2, 0.25}));
    const ValueId sum = Op(graph, "add", {x, c});
    graph.outputs = {sum, Op(graph, "cast", {sum}, {{"to", std::string("f32")}})};
    const Graph back = RoundTrip(graph);
    EXPECT_EQ(Ops(graph), Ops(back));
    EXPECT_EQ(Difference(graph, back), "");
    ASSERT_EQ(back.outputs.size(), 2u);
    EXPECT_EQ(back.values[back.inputs[0]].type.dtype, type);
    EXPECT_EQ(back.values[back.outputs[0]].type.dtype, type);
    EXPECT_EQ(back.values[back.outputs[1]].type.dtype, DType::kF32);
  }
}

TEST(OnnxExportTest, InputsAndConstantsThatAreOutputsKeepTheirValues) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {2}});
  const ValueId c = AddConstant(graph, "c", {DType::kF32, {2}}, MakeConstant<float>({1, 2}));
  const ValueId y = Op(graph, "relu", {x});
  graph.outputs = {x, c, y, y};
  const Graph back = RoundTrip(graph);
  EXPECT_EQ(back.outputs.size(), 4u);
  ASSERT_OK_AND_ASSIGN(const auto want, InterpretGraph(graph, RandomInputs(graph, 1)));
  ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(back, RandomInputs(graph, 1)));
  EXPECT_EQ(CompareOutputs(want, got, 0), "");
}

}  // namespace
}  // namespace burnish
