// Corners of operators that ONNX Runtime lacks or rounds in its own way, against ONNX's reference
// in Python and NumPy. What ONNX Runtime has is in tests/onnx_suite/contrib_cases.py.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/frontend/onnx_testing.h"
#include "compiler/graph/graph_interpreter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

struct Case {
  std::string node;  // Without its output.
  int opset;
  int type;  // Of x, in ONNX's numbers.
  std::vector<int64_t> shape;
  std::vector<double> x;
  std::vector<double> want;
};

std::string ModelOf(const Case& c) {
  return OnnxModel(
      absl::StrCat(OnnxTensorInfo("input", "x", c.shape, c.type), OnnxInts("s45", {1, 1, 4, 5}),
                   OnnxInts("s32", {1, 1, 3, 2}), OnnxInts("s22", {1, 1, 2, 2}),
                   OnnxInts("s25", {1, 1, 2, 5}), OnnxFloats("w", {1, 1, 3}, {1, -2, 3}),
                   OnnxFloats("b", {1}, {0.5}),
                   OnnxFloats("moves", {1, 3, 3}, {.5, 0, -1, .25, 1, 0, -.5, 0, 2}),
                   OnnxFloats("mask", {1, 3, 3}, {.25, .5, .75, 1, 1.25, 1.5, 1.75, 2, 2.25}),
                   OnnxFloats("by2", {2, 2}, {1, 2, 3, 4}),
                   OnnxFloats("four", {2, 2}, {4, 4, 4, 4}),
                   "initializer { name: 'm' dims: [2, 3] data_type: 6 "
                   "int32_data: [1, 2, 3, -4, 5, 6] } ",
                   "initializer { name: 'c' dims: 2 data_type: 6 int32_data: [7, 8] } ",
                   OnnxInts("three", {3, 3}), OnnxInts("two", {2, 2}),
                   OnnxFloats("grid", {1, 1, 3, 2}, {.5, -.25, -1, 0, .1, .9}),
                   "initializer { name: 'wide' dims: [1, 8, 1] data_type: 11 ",
                   "double_data: [.5, -.25, .75, 1, -1, .125, .25, .5] } ",
                   "initializer { name: 'back' dims: [1, 8, 2] data_type: 11 double_data: "
                   "[-.5, -.25, 0, .25, .5, -.5, -.25, 0, .25, .5, -.5, -.25, 0, .25, .5, -.5] } ",
                   OnnxFloats("one", {1}, {1}), OnnxFloats("half", {1}, {.5}), "node { ", c.node,
                   " output: 'y' } ", OnnxTensorInfo("output", "y", {})),
      c.opset);
}

TEST(OnnxCornersTest, AsTheReferenceHasThem) {
  const std::string resize = "op_type: 'Resize' input: ['x', '', '', ";
  const std::string linear = " attribute { name: 'mode' type: STRING s: 'linear' }";
  const std::string cubic = " attribute { name: 'mode' type: STRING s: 'cubic' }";
  const std::vector<double> image = {1, 10, 200, 7, 0, 255};
  const double root = std::sqrt(4 + 1e-5);
  const Case cases[] = {
      // u8, i32, i8 and i64.
      {resize + "'s45']" + linear, 18, 2, {1, 1, 2, 3}, image, {1,   5,   10,  124, 200, 2,  4,
                                                                8,   131, 214, 6,   4,   2,  146,
                                                                241, 7,   4,   0,   153, 255}},
      {resize + "'s32']" + cubic, 18, 2, {1, 1, 2, 3}, image, {0, 154, 0, 177, 0, 200}},
      {resize + "'s22']" + linear + " attribute { name: 'antialias' type: INT i: 1 }",
       18,
       2,
       {1, 1, 2, 3},
       image,
       {4, 137, 5, 170}},
      {resize + "'s25']" + cubic,
       18,
       6,
       {1, 1, 2, 3},
       {-2147483648., 2147483647, 7, -5, 0, 1},
       {-2147483648., -326417515, 2147483647, 1142461828, -206158328, -5, -3, 0, 1, 1}},
      {resize + "'s25']" + cubic,
       18,
       3,
       {1, 1, 2, 3},
       {-128, 127, 7, -5, 0, 1},
       {-128, -20, 127, 72, -5, -5, -3, 0, 1, 1}},
      {resize + "'s25']" + linear,
       18,
       7,
       {1, 1, 2, 3},
       {-4e9, 4e9, 7, -5, 0, 1},
       {-4e9, -8e8, 4e9, 16e8 + 4, 7, -5, -3, 0, 1, 1}},
      // A sum over three taps at o * 2 - 1 + k + move, each times its mask, and 0.5.
      {"op_type: 'DeformConv' input: ['x', 'w', 'moves', 'b', 'mask'] "
       "attribute { name: 'strides' type: INTS ints: 2 } "
       "attribute { name: 'pads' type: INTS ints: [1, 0] }",
       19,
       1,
       {1, 1, 6},
       {1, 4, 2, 8, 5, 7},
       {10.25, 30.5, -13}},
      {"op_type: 'BatchNormalization' input: ['x', 'by2', 'by2', 'by2', 'four'] "
       "attribute { name: 'spatial' type: INT i: 0 }",
       7,
       1,
       {2, 2, 2},
       {1, 2, 3, 4, 3, 2, 1, 0},
       {1, 2, 3, 4, 2 / root + 1, 2, -6 / root + 3, -16 / root + 4}},
      {"op_type: 'BatchNormalization' input: ['x', 'half', 'one', 'half', 'one']",
       15,
       1,
       {2},
       {1, 2},
       {.25 / std::sqrt(1 + 1e-5) + 1, .75 / std::sqrt(1 + 1e-5) + 1}},
      {"op_type: 'Gemm' input: ['x', 'm', 'c'] attribute { name: 'transB' type: INT i: 1 }",
       21,
       6,
       {2, 3},
       {1, -2, 3, 4, 5, -6},
       {13, 12, 3, -19}},
      // Bytes wrap around.
      {"op_type: 'Col2Im' input: ['x', 'three', 'two']",
       21,
       2,
       {1, 4, 4},
       {0, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 220, 240, 4, 24, 44},
       {0, 100, 100, 200, 88, 144, 200, 244, 44}},
      {"op_type: 'GridSample' input: ['x', 'grid'] "
       "attribute { name: 'align_corners' type: INT i: 1 }",
       21,
       11,
       {1, 1, 2, 3},
       {1, 2, 3, 4, 5, 6},
       {3.625, 2.5, 4.949999988079071}},
      {"op_type: 'LSTM' input: ['x', 'wide', 'back']",
       21,
       11,
       {3, 1, 1},
       {.5, -1, 2},
       {0.041364971444765933, 0.071155626931446461, -0.010267919896682584, -0.056690826055846348,
        0.25972639692486438, 0.1451957587501628}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.node);
    ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(ModelOf(c)));
    const TensorType x = graph.value(graph.inputs[0]).type, y = graph.value(graph.outputs[0]).type;
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                         InterpretGraph(graph, {ToTensorValue(x, *FromDoubles(x.dtype, c.x))}));
    // Positions and weights have the digits of f32, as ONNX Runtime's.
    const double near =
        std::max(1e-5, 1e-6 * std::abs(*std::max_element(c.want.begin(), c.want.end())));
    EXPECT_THAT(ToDoubles(y, *FromTensorValue(got[0])), Pointwise(DoubleNear(near), c.want));
  }
}

// ONNX's text has [0, N] for a scalar.
TEST(OnnxCornersTest, PlacesOfAConstantScalar) {
  const auto model = [](const char* scalar) {
    return OnnxModel(absl::StrCat(
        OnnxTensorInfo("input", "x", {2}), OnnxFloats("a", {}, {3}),
        OnnxTensorInfo("input", "v", {}), "node { op_type: 'NonZero' input: '", scalar,
        "' output: 'places' } ", "node { op_type: 'Shape' input: 'places' output: 'y' } ",
        OnnxTensorInfo("output", "y", {2}, 7)));
  };
  ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(model("a")));
  const GraphValue& y = graph.value(graph.outputs[0]);
  ASSERT_NE(y.data, nullptr);
  EXPECT_THAT(ToInts(y.type, *y.data), ElementsAre(0, 1));
  EXPECT_THAT(ImportOnnx(model("v")).status().message(), HasSubstr("of a scalar"));
}

}  // namespace
}  // namespace burnish
