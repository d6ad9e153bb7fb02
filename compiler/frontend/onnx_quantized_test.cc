// Quantized operators: what they become, and each mistake in scales and zero points by its message.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/frontend/onnx_testing.h"
#include "compiler/graph/graph.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kU8 = 2, kI8 = 3, kI32 = 6;

// Numbers of up to 32 bits.
std::string Bytes(const std::string& name, int type, const std::vector<int64_t>& shape,
                  const std::vector<int>& values) {
  std::string text = absl::StrCat("initializer { name: '", name, "' data_type: ", type, " ");
  for (const int64_t extent : shape) absl::StrAppend(&text, "dims: ", extent, " ");
  for (const int v : values) absl::StrAppend(&text, "int32_data: ", v, " ");
  return text + "} ";
}

// QuantizeLinear of x f32[2,3].
absl::StatusOr<Graph> Quantize(const std::string& parameters, const std::string& attributes = "",
                               const std::string& zero = ", 'z'") {
  return ImportOnnx(OnnxModel(absl::StrCat(OnnxTensorInfo("input", "x", {2, 3}), parameters,
                                           "node { name: 'quant' op_type: 'QuantizeLinear' input: "
                                           "['x', 's'",
                                           zero, "] output: 'y' ", attributes, " } ",
                                           OnnxTensorInfo("output", "y", {}, kU8)),
                              21));
}

std::string Scale(float value) { return OnnxFloats("s", {}, {value}); }

TEST(OnnxQuantizedTest, ScalesThatAreNoPositiveNumbersAreRefused) {
  for (const auto& [scale, text] : {std::pair<float, const char*>{0.0F, "got 0 as element 0"},
                                    {-0.5F, "got -0.5 as element 0"}}) {
    EXPECT_THAT(Quantize(Scale(scale) + Bytes("z", kU8, {}, {3})),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("node 'quant' (QuantizeLinear): scale (input 1)"),
                               HasSubstr(text), HasSubstr("quantize the model again"))));
  }
  // Protobuf's text has infinities by name.
  for (const char* value : {"inf", "nan"}) {
    const std::string scale = absl::StrCat(
        "initializer { name: 's' data_type: 1 dims: 3 float_data: [1, ", value, ", 1] } ");
    EXPECT_THAT(Quantize(scale + Bytes("z", kU8, {3}, {3, 3, 3})),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("as element 1, want a positive, finite number"))));
  }
}

TEST(OnnxQuantizedTest, ZeroPointsOfTheWrongTypeAreRefused) {
  EXPECT_THAT(Quantize(Scale(1) + Bytes("z", kI32, {}, {3})),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("zero point (input 2): got i32[], want i8, u8, i16 or u16")));
  EXPECT_THAT(Quantize(Scale(1) + Bytes("z", kU8, {}, {3}),
                       "attribute { name: 'output_dtype' i: 3 type: INT }"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("output_dtype: got i8, want u8")));
  const std::string model = OnnxModel(
      absl::StrCat(OnnxTensorInfo("input", "x", {2, 3}, kU8), Scale(1), Bytes("z", kI8, {}, {3}),
                   "node { op_type: 'DequantizeLinear' input: ['x', 's', 'z'] output: 'y' } ",
                   OnnxTensorInfo("output", "y", {})));
  EXPECT_THAT(ImportOnnx(model),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("zero point (input 2): got i8[], want u8, the type of what it "
                                 "belongs to")));
}

TEST(OnnxQuantizedTest, ParametersOfTheWrongLengthAreRefused) {
  const std::string two = OnnxFloats("s", {2}, {1, 1});
  EXPECT_THAT(Quantize(two + Bytes("z", kU8, {2}, {0, 0})),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("scale (input 1): got shape [2], want [3]"),
                             HasSubstr("check the attribute axis"))));
  EXPECT_THAT(Quantize(Scale(1) + Bytes("z", kU8, {3}, {0, 0, 0})),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("zero point (input 2): got u8[3], want the shape of the scale")));
  EXPECT_THAT(
      Quantize(two + Bytes("z", kU8, {2}, {0, 0}), "attribute { name: 'axis' i: 5 type: INT }"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("axis 5 is out of range")));
  EXPECT_THAT(
      Quantize(OnnxFloats("s", {2, 2}, {1, 1, 1, 1}) + Bytes("z", kU8, {2, 2}, {0, 0, 0, 0}),
               "attribute { name: 'block_size' i: 3 type: INT }"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("or one a block of 3")));
}

TEST(OnnxQuantizedTest, TypesThatTensorsLackAreRefused) {
  // A scale of 16 bits, which tensors may have and scales may not.
  EXPECT_THAT(
      Quantize("initializer { name: 's' data_type: 10 raw_data: '\\000<' } ", "", ""),
      StatusIs(StatusCode::kUnimplemented, HasSubstr("convert the scales to 32-bit floats")));
  constexpr int kFloat8 = 17, kI4 = 22;
  for (const int type : {kFloat8, kI4}) {
    EXPECT_THAT(Quantize(Scale(1) + Bytes("z", type, {}, {3})),
                StatusIs(StatusCode::kUnimplemented,
                         AllOf(HasSubstr("initializer 'z': element type"),
                               HasSubstr("is not supported; supported: FLOAT, "))));
  }
}

TEST(OnnxQuantizedTest, ZeroPointMayBeAbsent) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, Quantize(Scale(0.5F), "", ""));
  EXPECT_EQ(graph.value(graph.outputs[0]).type.dtype, DType::kU8);
}

TEST(OnnxQuantizedTest, ParametersOfIntegerProductsAreChecked) {
  const auto product = [](const std::string& constants, const std::string& inputs) {
    return ImportOnnx(OnnxModel(absl::StrCat(
        OnnxTensorInfo("input", "a", {2, 2}, kU8), Bytes("b", kI8, {2, 3}, {1, 2, 3, 4, 5, 6}),
        constants, "node { op_type: 'MatMulInteger' input: [", inputs, "] output: 'y' } ",
        OnnxTensorInfo("output", "y", {}, kI32))));
  };
  EXPECT_THAT(product(Bytes("z", kI8, {}, {1}), "'a', 'b', 'z'"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("zero point (input 2): got i8[], want u8, the type of what it")));
  EXPECT_THAT(product(Bytes("z", kI8, {2}, {1, 1}), "'a', 'b', '', 'z'"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("zero point (input 3): got i8[2], want one, or one for each of "
                                 "the 3 of i8[2,3]")));
}

// QLinearConv of x u8[1,1,2,2] by two filters.
TEST(OnnxQuantizedTest, ParametersOfQuantizedConvolutionsAreChecked) {
  const auto convolution = [](const std::string& w_scale, const std::string& bias) {
    return ImportOnnx(OnnxModel(absl::StrCat(
        OnnxTensorInfo("input", "x", {1, 1, 2, 2}, kU8), OnnxFloats("s", {}, {0.5F}), w_scale, bias,
        Bytes("z", kU8, {}, {3}), Bytes("w", kI8, {2, 1, 1, 1}, {1, 2}), Bytes("wz", kI8, {}, {0}),
        "node { op_type: 'QLinearConv' input: ['x', 's', 'z', 'w', 'ws', 'wz', 's', 'z', 'b'] "
        "output: 'y' } ",
        OnnxTensorInfo("output", "y", {}, kU8))));
  };
  const std::string bias = Bytes("b", kI32, {2}, {1, 2});
  EXPECT_THAT(convolution(OnnxFloats("ws", {}, {0.5F}), bias), IsOk());
  EXPECT_THAT(convolution(OnnxFloats("ws", {3}, {1, 1, 1}), bias),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("scale (input 4): got shape [3], want [2], one for each index")));
  EXPECT_THAT(convolution(OnnxFloats("ws", {}, {0}), bias),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("scale (input 4): got 0")));
  EXPECT_THAT(convolution(OnnxFloats("ws", {}, {0.5F}), Bytes("b", kU8, {2}, {1, 2})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("the bias (input 8): got u8[2]")));
}

// MatMulNBits of x f32[2,6] by 5 columns, in blocks of 4 rows.
absl::StatusOr<Graph> ByBlocks(const std::string& constants, int bits = 8, int block = 4,
                               const std::string& zero = "") {
  return ImportOnnx(OnnxModel(absl::StrCat(
      OnnxTensorInfo("input", "x", {2, 6}), constants,
      "node { name: 'n' op_type: 'MatMulNBits' domain: 'com.microsoft' input: ['x', 'b', 's'", zero,
      "] output: 'y' attribute { name: 'K' i: 6 type: INT } attribute { name: 'N' i: 5 type: INT } "
      "attribute { name: 'bits' i: ",
      bits, " type: INT } attribute { name: 'block_size' i: ", block, " type: INT } } ",
      OnnxTensorInfo("output", "y", {}))));
}

TEST(OnnxQuantizedTest, WeightsByBlocksAreChecked) {
  const std::string b = Bytes("b", kU8, {5, 2, 4}, std::vector<int>(40, 130));
  const std::string s = OnnxFloats("s", {5, 2}, std::vector<float>(10, 0.5F));
  EXPECT_THAT(ByBlocks(b + s), IsOk());
  EXPECT_THAT(ByBlocks(b + s, 4),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("bits: got 4, want 8")));
  EXPECT_THAT(ByBlocks(b + s, 8, 2),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("B (input 1): got u8[5,2,4], want u8[5,3,2]")));
  EXPECT_THAT(ByBlocks(b + s, 8, 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("B (input 1): got")));
  EXPECT_THAT(ByBlocks(b + OnnxFloats("s", {5}, {1, 1, 1, 1, 1})),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("scales (input 2): got f32[5], want f32[5,2]")));
  EXPECT_THAT(ByBlocks(b + OnnxFloats("s", {5, 2}, std::vector<float>(10, -1))),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("want a positive, finite number")));
  EXPECT_THAT(ByBlocks(b + s + Bytes("z", kI8, {5, 2}, std::vector<int>(10, 1)), 8, 4, ", 'z'"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("zero points (input 3): got i8[5,2], want u8[5,2]")));
}

TEST(OnnxQuantizedTest, AProductsZeroPointIsPartOfItsBias) {
  const std::string model = OnnxModel(
      absl::StrCat(OnnxTensorInfo("input", "a", {2, 2}, kU8),
                   Bytes("b", kI8, {2, 3}, {1, 2, 3, 4, 5, 6}), Bytes("az", kU8, {}, {10}),
                   "node { op_type: 'MatMulInteger' input: ['a', 'b', 'az'] output: 'y' } ",
                   OnnxTensorInfo("output", "y", {}, kI32)));
  ASSERT_OK_AND_ASSIGN(const Graph graph, ImportOnnx(model));
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op, "matmul_integer");
  const GraphValue& bias = graph.value(graph.nodes[0].inputs[2]);
  EXPECT_EQ(ToInts(bias.type, *bias.data), (std::vector<int64_t>{-50, -70, -90}));
}

}  // namespace
}  // namespace burnish
