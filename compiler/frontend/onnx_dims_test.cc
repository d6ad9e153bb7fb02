// Inputs whose dimensions each run decides about, against the same model read with that run's
// shapes, both by the graph interpreter.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/frontend/onnx_testing.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Sizes = std::map<std::string, int64_t>;
using Dims = std::map<std::string, std::string>;

struct Input {
  std::string name;
  std::vector<std::string> shape;  // Numbers and names.
  int type = 1;
  int64_t below = 0;  // Of integers.
};

std::string InfoOf(const Input& input) {
  std::string dims;
  for (const std::string& text : input.shape) {
    int64_t number = 0;
    if (text.empty()) {
      absl::StrAppend(&dims, "dim { } ");
    } else if (absl::SimpleAtoi(text, &number)) {
      absl::StrAppend(&dims, "dim { dim_value: ", number, " } ");
    } else {
      absl::StrAppend(&dims, "dim { dim_param: '", text, "' } ");
    }
  }
  return absl::StrCat("input { name: '", input.name,
                      "' type { tensor_type { elem_type: ", input.type, " shape { ", dims,
                      "} } } } ");
}

std::string ModelOf(const std::vector<Input>& inputs, const std::string& nodes,
                    const std::vector<std::string>& outputs) {
  std::string text = nodes;
  for (const Input& input : inputs) absl::StrAppend(&text, InfoOf(input));
  for (const std::string& name : outputs)
    absl::StrAppend(&text, OnnxTensorInfo("output", name, {}));
  return OnnxModel(text, 17);
}

std::string Node(const std::string& op, const std::string& inputs, const std::string& output,
                 const std::string& attributes = "") {
  return absl::StrCat("node { name: '", output, "' op_type: '", op, "' input: [", inputs,
                      "] output: '", output, "' ", attributes, " } ");
}
std::string I(const std::string& name, int64_t value) {
  return absl::StrCat("attribute { name: '", name, "' type: INT i: ", value, " } ");
}
std::string Is(const std::string& name, const std::string& values) {
  return absl::StrCat("attribute { name: '", name, "' type: INTS ints: [", values, "] } ");
}
std::string Scalar(const std::string& name, int64_t value) {
  return absl::StrCat("initializer { name: '", name, "' data_type: 7 int64_data: ", value, " } ");
}
std::string Weights(const std::string& name, const std::vector<int64_t>& shape, uint64_t seed) {
  const TensorValue value = RandomValue({DType::kF32, shape}, seed);
  return OnnxFloats(name, shape, {value.floats.begin(), value.floats.end()});
}

// One by one: what outputs of the dynamic model are not those of the static one.
void ExpectSameAsStatic(const std::vector<Input>& inputs, const std::string& nodes,
                        const std::vector<std::string>& outputs, const Dims& dims,
                        const std::vector<Sizes>& runs, const Sizes& sums = {}) {
  const std::string model = ModelOf(inputs, nodes, outputs);
  ImportOptions dynamic;
  dynamic.dims = dims;
  const absl::StatusOr<Graph> graph = ImportOnnx(model, dynamic);
  ASSERT_THAT(graph, IsOk());
  for (const Sizes& sizes : runs) {
    std::string run;
    for (const auto& [name, size] : sizes) absl::StrAppend(&run, name, "=", size, " ");
    SCOPED_TRACE(run);
    ImportOptions fixed;
    std::vector<TensorValue> values;
    for (const Input& input : inputs) {
      std::vector<int64_t> shape;
      for (const std::string& text : input.shape) {
        int64_t number = 0;
        shape.push_back(absl::SimpleAtoi(text, &number) ? number : sizes.at(text));
      }
      fixed.input_shapes[input.name] = shape;
      const DType dtype = input.type == 1 ? DType::kF32 : DType::kI64;
      values.push_back(RandomValue({dtype, shape}, 17 + values.size()));
      for (int64_t& integer : values.back().integers) {
        integer = std::abs(integer) % std::max<int64_t>(input.below, 1);
      }
    }
    const absl::StatusOr<Graph> reference = ImportOnnx(model, fixed);
    ASSERT_THAT(reference, IsOk());
    const auto want = InterpretGraph(*reference, values), got = InterpretGraph(*graph, values);
    ASSERT_THAT(want, IsOk());
    ASSERT_THAT(got, IsOk());
    ASSERT_EQ(got->size(), want->size());
    for (size_t i = 0; i < want->size(); ++i) {
      SCOPED_TRACE(outputs[i]);
      ASSERT_EQ((*got)[i].shape, (*want)[i].shape);
      EXPECT_EQ((*got)[i].integers, (*want)[i].integers);
      for (size_t e = 0; e < (*want)[i].floats.size(); ++e) {
        ASSERT_NEAR((*got)[i].floats[e], (*want)[i].floats[e], 1e-9) << "element " << e;
      }
    }
  }
}

// Attention with two heads over tokens of width 6, as torch.onnx writes it: shapes by Shape,
// Gather, Concat and Reshape, and a mask that is added.
std::string Attention() {
  std::string nodes =
      absl::StrCat(Node("Gather", "'table', 'ids'", "x"), Node("Shape", "'ids'", "shape"),
                   Node("Gather", "'shape', 'zero'", "b"), Node("Gather", "'shape', 'one'", "s"),
                   Node("Unsqueeze", "'b', 'first'", "b1"), Node("Unsqueeze", "'s', 'first'", "s1"),
                   Node("Concat", "'b1', 's1', 'two', 'three'", "heads", I("axis", 0)),
                   Node("Concat", "'b1', 's1', 'six'", "flat", I("axis", 0)), Scalar("zero", 0),
                   Scalar("one", 1), OnnxInts("first", {0}), OnnxInts("two", {2}),
                   OnnxInts("three", {3}), OnnxInts("six", {6}), OnnxInts("mask_axes", {1, 2}));
  absl::StrAppend(&nodes, Weights("table", {11, 6}, 1));
  for (const std::string each : {"q", "k", "v"}) {
    absl::StrAppend(&nodes, Weights(each + "_w", {6, 6}, each[0]),
                    Node("MatMul", absl::StrCat("'x', '", each, "_w'"), each + "_p"),
                    Node("Reshape", absl::StrCat("'", each, "_p', 'heads'"), each + "_h"),
                    Node("Transpose", absl::StrCat("'", each, "_h'"), each,
                         Is("perm", each == "k" ? "0, 2, 3, 1" : "0, 2, 1, 3")));
  }
  return absl::StrCat(nodes, Node("MatMul", "'q', 'k'", "scores"),
                      Node("Unsqueeze", "'mask', 'mask_axes'", "mask4"),
                      Node("Cast", "'mask4'", "mask_f", I("to", 1)),
                      Node("Mul", "'mask_f', 'low'", "bias"), OnnxFloats("low", {}, {-50}),
                      Node("Add", "'scores', 'bias'", "masked"),
                      Node("Softmax", "'masked'", "shares", I("axis", -1)),
                      Node("MatMul", "'shares', 'v'", "context"),
                      Node("Transpose", "'context'", "turned", Is("perm", "0, 2, 1, 3")),
                      Node("Reshape", "'turned', 'flat'", "y"));
}

TEST(OnnxDimsTest, AttentionOverBatchAndSequence) {
  ExpectSameAsStatic({{"ids", {"batch", "seq"}, 7, 11}, {"mask", {"batch", "seq"}, 7, 2}},
                     Attention(), {"y"}, {{"batch", "1..3"}, {"seq", "1..7"}},
                     {{{"batch", 1}, {"seq", 1}},
                      {{"batch", 3}, {"seq", 7}},
                      {{"batch", 2}, {"seq", 4}},
                      {{"batch", 1}, {"seq", 7}},
                      {{"batch", 3}, {"seq", 1}}});
}

// Rows of all sequences in one matrix, and back: a product of sizes.
TEST(OnnxDimsTest, RowsOfBatchTimesSequence) {
  const std::string nodes =
      absl::StrCat(Node("Shape", "'x'", "shape"), Node("Reshape", "'x', 'rows'", "flat"),
                   OnnxInts("rows", {-1, 6}), Node("Gemm", "'flat', 'w'", "product"),
                   Weights("w", {6, 4}, 3), Node("ReduceMax", "'product'", "top", Is("axes", "0")),
                   Node("Slice", "'shape', 'nought', 'last'", "outer"), OnnxInts("nought", {0}),
                   OnnxInts("last", {2}), Node("Slice", "'shape', 'three', 'end'", "behind"),
                   OnnxInts("three", {3}), OnnxInts("end", {INT64_MAX}),
                   Node("Concat", "'outer', 'behind', 'four'", "back", I("axis", 0)),
                   OnnxInts("four", {4}), Node("Reshape", "'product', 'back'", "y"),
                   Node("ReduceProd", "'outer'", "count", I("keepdims", 1)),
                   Node("Concat", "'count', 'six'", "again", I("axis", 0)), OnnxInts("six", {6}),
                   Node("Reshape", "'x', 'again'", "z"), Node("Shape", "'flat'", "rows_of_run"));
  ExpectSameAsStatic({{"x", {"batch", "seq", "6"}}}, nodes,
                     {"y", "product", "z", "top", "rows_of_run"},
                     {{"batch", "1..3"}, {"seq", "1..5"}},
                     {{{"batch", 1}, {"seq", 1}},
                      {{"batch", 3}, {"seq", 5}},
                      {{"batch", 2}, {"seq", 3}},
                      {{"batch", 3}, {"seq", 2}}});
}

TEST(OnnxDimsTest, ImagesByBatch) {
  const std::string nodes = absl::StrCat(
      Node("Conv", "'x', 'w'", "c", Is("pads", "1, 1, 1, 1")), Weights("w", {4, 2, 3, 3}, 2),
      Node("Relu", "'c'", "r"), Node("MaxPool", "'r'", "m", Is("kernel_shape", "2, 2")),
      Node("GlobalAveragePool", "'m'", "g"), Node("Flatten", "'g'", "f"),
      Node("Gemm", "'f', 'v'", "y", I("transB", 1)), Weights("v", {3, 4}, 4));
  ExpectSameAsStatic({{"x", {"N", "2", "5", "5"}}}, nodes, {"y"}, {{"N", "1..4"}},
                     {{{"N", 1}}, {{"N", 2}}, {{"N", 4}}});
}

// Each window along the length: what lies behind it counts as the pads do.
TEST(OnnxDimsTest, SoundByLength) {
  const std::string nodes = absl::StrCat(
      Node("Conv", "'x', 'w'", "c", Is("pads", "2, 2") + Is("strides", "3")),
      Weights("w", {4, 1, 5}, 2), Node("Relu", "'c'", "r"),
      Node("Conv", "'r', 'v'", "d", Is("pads", "1, 1") + Is("dilations", "2")),
      Weights("v", {3, 4, 3}, 5),
      Node("MaxPool", "'c'", "m", Is("kernel_shape", "3") + Is("pads", "1, 1")),
      Node("AveragePool", "'c'", "a",
           Is("kernel_shape", "2") + Is("pads", "1, 1") + I("count_include_pad", 1)),
      Node("AveragePool", "'c'", "b", Is("kernel_shape", "2") + Is("pads", "1, 0")),
      Node("ConvTranspose", "'r', 't'", "up", Is("strides", "2") + Is("pads", "1, 1")),
      Weights("t", {4, 2, 4}, 6), Node("GlobalAveragePool", "'d'", "mean"),
      Node("Pad", "'x', 'pads', 'half'", "padded"), OnnxInts("pads", {0, 0, 2, 0, 0, 3}),
      OnnxFloats("half", {}, {0.5}), Node("CumSum", "'x', 'axis'", "sums"),
      Node("CumSum", "'x', 'axis'", "back", I("reverse", 1)), Scalar("axis", 2));
  ExpectSameAsStatic(
      {{"x", {"1", "1", "length"}}}, nodes,
      {"c", "d", "m", "a", "b", "up", "mean", "padded", "sums", "back"}, {{"length", "9..40"}},
      {{{"length", 9}}, {{"length", 10}}, {{"length", 23}}, {{"length", 39}}, {{"length", 40}}});
}

// As decoders do: keys of the past before those of now, a causal mask cut out of a large one,
// positions from the past on.
TEST(OnnxDimsTest, DecodingWithThePast) {
  const std::string nodes = absl::StrCat(
      Node("Concat", "'past_k', 'k'", "keys", I("axis", 1)),
      Node("Transpose", "'keys'", "turned", Is("perm", "0, 2, 1")),
      Node("MatMul", "'q', 'turned'", "scores"), Node("Shape", "'keys'", "key_shape"),
      Node("Shape", "'q'", "q_shape"), Node("Gather", "'key_shape', 'one'", "total"),
      Node("Gather", "'q_shape', 'one'", "now"), OnnxInts("one", {1}),
      Node("Sub", "'total', 'now'", "before"),
      Node("Slice", "'causal', 'before', 'total', 'zero'", "rows"),
      Node("Slice", "'rows', 'zero', 'total', 'one'", "cut"), OnnxInts("zero", {0}),
      Node("Cast", "'cut'", "cut_b", I("to", 9)), Node("Where", "'cut_b', 'scores', 'low'", "kept"),
      OnnxFloats("low", {}, {-100}), Node("Add", "'kept', 'mask'", "masked"),
      Node("Softmax", "'masked'", "shares", I("axis", -1)), Node("MatMul", "'shares', 'keys'", "y"),
      Node("Squeeze", "'before'", "from"), Node("Squeeze", "'total'", "to"),
      Node("Range", "'from', 'to', 'step'", "positions"), Scalar("step", 1),
      Node("Gather", "'table', 'positions'", "places"), Weights("table", {16, 3}, 8),
      Node("Add", "'q', 'places'", "placed"));
  std::vector<float> causal(256);
  for (int i = 0; i < 256; ++i) causal[i] = i % 16 <= i / 16 ? 1 : 0;
  const std::string all = nodes + OnnxFloats("causal", {16, 16}, causal);
  const std::vector<Input> inputs = {{"q", {"2", "seq", "3"}},
                                     {"k", {"2", "seq", "3"}},
                                     {"past_k", {"2", "past", "3"}},
                                     {"mask", {"1", "1", "past + seq"}}};
  const auto run = [](int64_t past, int64_t seq) {
    return Sizes{{"past", past}, {"seq", seq}, {"past + seq", past + seq}};
  };
  ExpectSameAsStatic(inputs, all, {"y", "positions", "places", "placed"},
                     {{"past", "1..11"}, {"seq", "1..5"}},
                     {run(1, 1), run(11, 5), run(7, 1), run(1, 5), run(10, 3)});
  // One word a call, which stays an axis of one: as the second of two it would not be added to.
  ExpectSameAsStatic(inputs, all, {"y", "positions", "places", "placed"},
                     {{"past", "1..11"}, {"seq", "1"}}, {run(1, 1), run(11, 1), run(7, 1)});
  // A name of its own, which stands for the sum.
  std::vector<Input> named = inputs;
  named[3].shape[2] = "total";
  const Sizes two = {{"past", 4}, {"seq", 2}, {"total", 6}};
  ExpectSameAsStatic(named, all, {"y", "positions"},
                     {{"past", "0..11"}, {"seq", "1..5"}, {"total", "past+seq"}}, {two});
}

TEST(OnnxDimsTest, RecurrenceOverLengthAndBatch) {
  for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
    SCOPED_TRACE(direction);
    const int64_t d = direction == "bidirectional" ? 2 : 1;
    const std::string attributes = absl::StrCat(
        I("hidden_size", 3), "attribute { name: 'direction' type: STRING s: '", direction, "' } ");
    const std::string nodes = absl::StrCat(
        "node { name: 'lstm' op_type: 'LSTM' input: ['x', 'w', 'r'] output: ['y', 'h', 'c'] ",
        attributes,
        "} node { name: 'gru' op_type: 'GRU' input: ['x', 'w3', 'r3'] "
        "output: ['gy', 'gh'] ",
        attributes, "} ", Weights("w", {d, 12, 2}, 1), Weights("r", {d, 12, 3}, 2),
        Weights("w3", {d, 9, 2}, 3), Weights("r3", {d, 9, 3}, 4));
    ExpectSameAsStatic(
        {{"x", {"steps", "batch", "2"}}}, nodes, {"y", "h", "c", "gy", "gh"},
        {{"steps", "1..6"}, {"batch", "1..3"}},
        {{{"steps", 1}, {"batch", 1}}, {{"steps", 6}, {"batch", 3}}, {{"steps", 4}, {"batch", 2}}});
  }
}

// What exporters write to expand: shapes with a -1 that is not there.
TEST(OnnxDimsTest, ShapesAreComparedWhenTheModelIsRead) {
  const std::string nodes = absl::StrCat(
      Node("Shape", "'x'", "shape"), Node("Equal", "'shape', 'minus'", "is_open"),
      OnnxInts("minus", {-1}), Node("Where", "'is_open', 'ones', 'shape'", "to"),
      OnnxInts("ones", {1, 1}), Node("Expand", "'row', 'to'", "wide"), Weights("row", {1, 1}, 1),
      Node("Add", "'wide', 'x'", "y"), Node("Tile", "'row', 'shape'", "tiled"),
      Node("Mul", "'tiled', 'x'", "z"), Node("Size", "'x'", "size"));
  ExpectSameAsStatic({{"x", {"n", "m"}}}, nodes, {"y", "z", "size"}, {{"n", "1..3"}, {"m", "2..4"}},
                     {{{"n", 1}, {"m", 2}}, {{"n", 3}, {"m", 4}}, {{"n", 2}, {"m", 3}}});
}

TEST(OnnxDimsTest, FixedDimensionsAndDimensionsWithoutAName) {
  const std::vector<Input> inputs = {{"x", {"batch", "", "4"}}};
  const std::string model = ModelOf(inputs, Node("Neg", "'x'", "y"), {"y"});
  ImportOptions options;
  options.dims = {{"batch", "2"}, {"x.1", "1..9"}};
  ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(model, options));
  EXPECT_EQ(graph.value(graph.inputs[0]).type.shape, (std::vector<int64_t>{2, 9, 4}));
  ASSERT_EQ(graph.sizes.size(), 1u);
  EXPECT_EQ(graph.sizes[0].name, "x.1");
  EXPECT_EQ(graph.sizes[0].least, 1);
  const TensorValue given = RandomValue({DType::kF32, {2, 5, 4}}, 1);
  ASSERT_OK_AND_ASSIGN(const auto got, InterpretGraph(graph, {given}));
  EXPECT_EQ(got[0].shape, given.shape);
  options.dims = {{"batch", "2..2"}, {"x.1", "3"}};
  ASSERT_OK_AND_ASSIGN(const Graph fixed, ImportOnnx(model, options));
  EXPECT_TRUE(fixed.sizes.empty());
}

TEST(OnnxDimsTest, WhatDoesNotFitIsRefusedByName) {
  const std::vector<Input> inputs = {{"x", {"batch", "seq"}}, {"y", {"batch", "seq + 1"}}};
  const std::string model = ModelOf(inputs, Node("MatMul", "'x', 'y'", "z"), {"z"});
  const auto refusal = [&](const Dims& dims) {
    ImportOptions options;
    options.dims = dims;
    return std::string(ImportOnnx(model, options).status().message());
  };
  EXPECT_THAT(refusal({{"batch", "1..4"}}),
              AllOf(HasSubstr("input 'x'"), HasSubstr("'seq'"), HasSubstr("--dim seq=1..128")));
  EXPECT_THAT(refusal({{"batch", "1..4"}, {"seq", "1..4"}, {"length", "1..4"}}),
              AllOf(HasSubstr("--dim length"), HasSubstr("batch, seq, seq + 1")));
  EXPECT_THAT(refusal({{"batch", "4..1"}, {"seq", "1..4"}}),
              AllOf(HasSubstr("--dim batch=4..1"), HasSubstr("lower end is above the upper")));
  for (const char* text : {"1..x", "..", "-1..4", "1..4..5", "", "a+b", "99999999999999999999",
                           "1..9223372036854775807", "seq*seq", "batch"}) {
    EXPECT_THAT(refusal({{"batch", text}, {"seq", "1..4"}}), HasSubstr("--dim batch=")) << text;
  }
  EXPECT_THAT(refusal({{"batch", "seq"}, {"seq", "batch"}}), HasSubstr("stand for each other"));
  EXPECT_THAT(refusal({{"batch", "1..2000000000"}, {"seq", "1..2000000000"}}),
              AllOf(HasSubstr("input 'x'"), HasSubstr("elements")));
  // The product of x and y would add up over sizes that differ.
  EXPECT_THAT(refusal({{"batch", "1..4"}, {"seq", "1..4"}}), HasSubstr("'z' (MatMul)"));
}

TEST(OnnxDimsTest, WhatHasNoRuleIsRefusedWithNodeAndDimension) {
  const auto refusal = [](const std::string& nodes) {
    ImportOptions options;
    options.dims = {{"n", "1..9"}};
    const std::string model = ModelOf({{"x", {"1", "n", "n"}}}, nodes, {"y"});
    return std::string(ImportOnnx(model, options).status().message());
  };
  EXPECT_THAT(refusal(Node("MaxPool", "'x'", "y", Is("kernel_shape", "2") + I("ceil_mode", 1))),
              HasSubstr("'y' (MaxPool): ceil_mode=1"));
  EXPECT_THAT(
      refusal(Node("AveragePool", "'x'", "y", Is("kernel_shape", "2") + Is("pads", "0, 1"))),
      HasSubstr("'y' (AveragePool): count_include_pad=0"));
  EXPECT_THAT(refusal(Node("Pad", "'x', 'pads'", "y",
                           "attribute { name: 'mode' type: STRING s: 'reflect' } ") +
                      OnnxInts("pads", {0, 0, 1, 0, 0, 1})),
              HasSubstr("'y' (Pad): pads dimension 2"));
  EXPECT_THAT(refusal(Node("MaxPool", "'x'", "y",
                           Is("kernel_shape", "2") + Is("strides", "2") +
                               "attribute { name: 'auto_pad' type: STRING s: 'SAME_UPPER' } ")),
              HasSubstr("'y' (MaxPool): auto_pad"));
}

}  // namespace
}  // namespace burnish
