// Quantized operators: what they become, and each mistake in scales and zero points by its message.
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
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

TEST(OnnxQuantizedTest, ScalesThatDivideNothingAreRefused) {
  EXPECT_THAT(Quantize(Scale(-0.5F) + Bytes("z", kU8, {}, {3})), IsOk());
  EXPECT_THAT(
      Quantize(Scale(0) + Bytes("z", kU8, {}, {3})),
      StatusIs(StatusCode::kUnimplemented,
               AllOf(HasSubstr("node 'quant' (QuantizeLinear): scale (input 1)"),
                     HasSubstr("got 0 as element 0"), HasSubstr("quantize the model again"))));
  // Protobuf's text has infinities by name.
  for (const char* value : {"inf", "nan"}) {
    const std::string scale = absl::StrCat(
        "initializer { name: 's' data_type: 1 dims: 3 float_data: [1, ", value, ", 1] } ");
    EXPECT_THAT(Quantize(scale + Bytes("z", kU8, {3}, {3, 3, 3})),
                StatusIs(StatusCode::kUnimplemented,
                         HasSubstr("as element 1, want a finite number that is not 0")));
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
  // A scale of 64 bits, which tensors may have and scales may not.
  EXPECT_THAT(Quantize("initializer { name: 's' data_type: 11 double_data: 1 } ", "", ""),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("got f64[], want f32, f16 or bf16")));
  for (const auto& [type, name] : {std::pair<int, const char*>{17, "FLOAT8E4M3FN"},
                                   {20, "FLOAT8E5M2FNUZ"},
                                   {23, "FLOAT4E2M1"}}) {
    EXPECT_THAT(Quantize(Scale(1) + Bytes("z", type, {}, {3})),
                StatusIs(StatusCode::kUnimplemented,
                         AllOf(HasSubstr(absl::StrCat("initializer 'z': element type ", name)),
                               HasSubstr("is not supported; supported: FLOAT, "),
                               HasSubstr("export in FLOAT16, or quantize to INT8"))));
  }
}

// 1, as f16 and as bf16.
const char* const kHalfScale = "initializer { name: 's' data_type: 10 raw_data: '\\000<' } ";
const char* const kBrainScale = "initializer { name: 's' data_type: 16 raw_data: '\\200?' } ";

TEST(OnnxQuantizedTest, ScalesOf16BitsGiveTheResultsType) {
  const auto dequantized = [](const std::string& scale, const std::string& attributes) {
    return ImportOnnx(OnnxModel(
        absl::StrCat(OnnxTensorInfo("input", "x", {2, 3}, kU8), scale,
                     "node { name: 'n' op_type: 'DequantizeLinear' input: ['x', 's'] output: 'y' ",
                     attributes, " } ", OnnxTensorInfo("output", "y", {}))));
  };
  const auto asked = [](int type) {
    return absl::StrCat("attribute { name: 'output_dtype' i: ", type, " type: INT }");
  };
  for (const auto& [scale, attributes, want] :
       {std::tuple<std::string, std::string, DType>{kHalfScale, "", DType::kF16},
        {kBrainScale, "", DType::kBf16},
        {kHalfScale, asked(1), DType::kF32},
        {Scale(1), asked(10), DType::kF16},
        {Scale(1), "", DType::kF32}}) {
    ASSERT_OK_AND_ASSIGN(const Graph graph, dequantized(scale, attributes));
    EXPECT_EQ(graph.value(graph.outputs[0]).type.dtype, want);
  }
  EXPECT_THAT(dequantized(Scale(1), asked(11)),
              StatusIs(StatusCode::kUnimplemented,
                       HasSubstr("output_dtype: got f64, want f32, f16 or bf16")));
  EXPECT_THAT(
      Quantize(Scale(1), "attribute { name: 'precision' i: 11 type: INT }", ""),
      StatusIs(StatusCode::kUnimplemented, HasSubstr("precision: got f64, want f32, f16 or")));
  // Infinity in f16.
  EXPECT_THAT(dequantized("initializer { name: 's' data_type: 10 raw_data: '\\000\\174' } ", ""),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("got inf as element 0")));
}

constexpr int kU4 = 21, kI4 = 22, kU2 = 25, kI2 = 26;

std::string Packed(const std::string& name, int type, const std::vector<int64_t>& shape,
                   const std::string& raw) {
  std::string text = absl::StrCat("initializer { name: '", name, "' data_type: ", type, " ");
  for (const int64_t extent : shape) absl::StrAppend(&text, "dims: ", extent, " ");
  return absl::StrCat(text, "raw_data: '", raw, "' } ");
}

// DequantizeLinear of a constant w[3,3].
absl::StatusOr<Graph> Weights(const std::string& constants, const std::string& zero = "",
                              const std::string& attributes = "") {
  return ImportOnnx(OnnxModel(
      absl::StrCat(constants, "node { name: 'n' op_type: 'DequantizeLinear' input: ['w', 's'", zero,
                   "] output: 'y' ", attributes, " } ", OnnxTensorInfo("output", "y", {})),
      21));
}

TEST(OnnxQuantizedTest, NumbersOfFewBitsComeLowestFirst) {
  // By hand: 0x21, 0x43, 0x8f, 0xe9, 0x07 as numbers of 4 bits; 0xe4, 0x1b, 0x02 of 2.
  const std::string four = "!C\\217\\351\\007", two = "\\344\\033\\002";
  for (const auto& [type, raw, want] : {std::tuple<int, std::string, std::vector<int64_t>>{
                                            kU4, four, {1, 2, 3, 4, 15, 8, 9, 14, 7}},
                                        {kI4, four, {1, 2, 3, 4, -1, -8, -7, -2, 7}},
                                        {kU2, two, {0, 1, 2, 3, 3, 2, 1, 0, 2}},
                                        {kI2, two, {0, 1, -2, -1, -1, -2, 1, 0, -2}}}) {
    ASSERT_OK_AND_ASSIGN(const Graph graph, Weights(Packed("w", type, {3, 3}, raw) + Scale(1)));
    const GraphValue& w = graph.value(graph.nodes[0].inputs[0]);
    ASSERT_NE(w.data, nullptr);
    EXPECT_EQ(ToInts(w.type, *w.data), want) << type;
  }
  // Of another field, a byte a number of it.
  ASSERT_OK_AND_ASSIGN(const Graph graph,
                       Weights(Bytes("w", kI4, {3, 3}, {0x21, 0x43, 0x8f, 0xe9, 7}) + Scale(1)));
  const GraphValue& w = graph.value(graph.nodes[0].inputs[0]);
  EXPECT_EQ(ToInts(w.type, *w.data), (std::vector<int64_t>{1, 2, 3, 4, -1, -8, -7, -2, 7}));
}

TEST(OnnxQuantizedTest, MistakesInWeightsOfFewBitsAreRefused) {
  const std::string w = Packed("w", kI4, {3, 3}, "abcde");
  for (const std::string& raw : {"", "abcd", "abcdef", "abcdefghi"}) {
    EXPECT_THAT(Weights(Packed("w", kI4, {3, 3}, raw) + Scale(1)),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr("bytes of data, want 5 for shape [3,3] of i4")));
  }
  EXPECT_THAT(Weights(Bytes("w", kU4, {3, 3}, {1, 2, 3}) + Scale(1)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("got 3 bytes of data, want 5")));
  for (const auto& [type, got] : {std::pair<int, const char*>{kU4, "got u4[], want i4"},
                                  {kI8, "got i8[], want i4"},
                                  {kI2, "got i2[], want i4"}}) {
    EXPECT_THAT(Weights(w + Scale(1) + Bytes("z", type, {}, {3}), ", 'z'"),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("zero point (input 2)"), HasSubstr(got))));
  }
  // Of 8 bits the zero point has 8, too.
  EXPECT_THAT(
      Weights(Bytes("w", kI8, {3, 3}, std::vector<int>(9, 1)) + Scale(1) + Bytes("z", kI4, {}, {3}),
              ", 'z'"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("got i4[], want i8")));
  const auto block = [](int64_t size) {
    return absl::StrCat("attribute { name: 'block_size' i: ", size,
                        " type: INT } attribute { name: 'axis' i: 0 type: INT }");
  };
  const std::string scales = OnnxFloats("s", {2, 3}, std::vector<float>(6, 1));
  EXPECT_THAT(Weights(w + scales, "", block(2)), IsOk());
  for (const int64_t size : {0, 1, 3, 4}) {
    EXPECT_THAT(Weights(w + scales, "", block(size)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("scale (input 1): got shape")))
        << size;
  }
  EXPECT_THAT(Weights(w + scales, "", block(-2)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("block_size: got -2")));
}

TEST(OnnxQuantizedTest, NumbersOfFewBitsAreConstantsThatAreMovedAndWidened) {
  const std::string w = Packed("w", kI4, {3, 3}, "abcde");
  const auto model = [&](const std::string& nodes) {
    return ImportOnnx(OnnxModel(w + Scale(1) + nodes + OnnxTensorInfo("output", "y", {}), 21));
  };
  const std::string transpose = "node { op_type: 'Transpose' input: 'w' output: 't' } ";
  EXPECT_THAT(model(transpose + "node { op_type: 'DequantizeLinear' input: ['t', 's'] output: 'y' "
                                "} "),
              IsOk());
  EXPECT_THAT(model(transpose),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("nothing writes it")));
  EXPECT_THAT(model("node { op_type: 'Transpose' input: 'w' output: 'y' } "),
              StatusIs(StatusCode::kUnimplemented,
                       HasSubstr("output 'y': integers of 4 bits are for constants alone")));
  EXPECT_THAT(model("node { name: 'a' op_type: 'Add' input: ['w', 'w'] output: 'y' } "),
              StatusIs(StatusCode::kUnimplemented,
                       HasSubstr("input 0: got i4[3,3], want DequantizeLinear in front")));
  EXPECT_THAT(ImportOnnx(OnnxModel(absl::StrCat(
                  OnnxTensorInfo("input", "x", {2, 3}, kU4), Scale(1),
                  "node { op_type: 'DequantizeLinear' input: ['x', 's'] output: 'y' } ",
                  OnnxTensorInfo("output", "y", {})))),
              StatusIs(StatusCode::kUnimplemented,
                       HasSubstr("input 'x': element type UINT4 is for constants alone")));
}

// Limits are those of the few bits.
TEST(OnnxQuantizedTest, ResultsOfFewBitsAreClamped) {
  const std::string both =
      "node { op_type: 'QuantizeLinear' input: ['x', 's', 'z'] output: 'q' } "
      "node { op_type: 'DequantizeLinear' input: ['q', 's', 'z'] output: 'y' } ";
  EXPECT_THAT(ImportOnnx(OnnxModel(
                  absl::StrCat(OnnxTensorInfo("input", "x", {2, 3}), Scale(1),
                               Bytes("z", kI4, {}, {3}), both, OnnxTensorInfo("output", "y", {})),
                  21)),
              IsOk());
  EXPECT_THAT(Quantize(Scale(1) + Bytes("z", kI4, {}, {3}),
                       "attribute { name: 'output_dtype' i: 3 type: INT }"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("output_dtype: got i8, want i4")));
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
              StatusIs(StatusCode::kUnimplemented, HasSubstr("scale (input 4): got 0")));
  EXPECT_THAT(convolution(OnnxFloats("ws", {}, {0.5F}), Bytes("b", kU8, {2}, {1, 2})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("the bias (input 8): got u8[2]")));
}

// MatMulNBits of x f32[2,6] by 5 columns, in blocks of 4 rows.
absl::StatusOr<Graph> ByBlocks(const std::string& constants, int bits = 8, int block = 4,
                               const std::string& zero = "", const std::string& attributes = "") {
  return ImportOnnx(OnnxModel(absl::StrCat(
      OnnxTensorInfo("input", "x", {2, 6}), constants,
      "node { name: 'n' op_type: 'MatMulNBits' domain: 'com.microsoft' input: ['x', 'b', 's'", zero,
      "] output: 'y' attribute { name: 'K' i: 6 type: INT } attribute { name: 'N' i: 5 type: INT } "
      "attribute { name: 'bits' i: ",
      bits, " type: INT } attribute { name: 'block_size' i: ", block, " type: INT } ", attributes,
      " } ", OnnxTensorInfo("output", "y", {}))));
}

TEST(OnnxQuantizedTest, WeightsByBlocksAreChecked) {
  const std::string b = Bytes("b", kU8, {5, 2, 4}, std::vector<int>(40, 130));
  const std::string s = OnnxFloats("s", {5, 2}, std::vector<float>(10, 0.5F));
  EXPECT_THAT(ByBlocks(b + s), IsOk());
  EXPECT_THAT(ByBlocks(b + s, 3),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("bits: got 3, want 2, 4 or 8")));
  EXPECT_THAT(ByBlocks(b + s, 4),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("B (input 1): got u8[5,2,4], want u8[5,2,2]")));
  EXPECT_THAT(ByBlocks(b + s, 4, 3),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("blocks of a power of 2")));
  EXPECT_THAT(ByBlocks(b + s, 8, 4, "", "attribute { name: 'weight_prepacked' i: 1 type: INT }"),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("weight_prepacked")));
  EXPECT_THAT(ByBlocks(b + s, 8, 2),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("B (input 1): got u8[5,2,4], want u8[5,3,2]")));
  EXPECT_THAT(ByBlocks(b + s, 8, 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("block_size 0: want positive")));
  EXPECT_THAT(ByBlocks(b + OnnxFloats("s", {5}, {1, 1, 1, 1, 1})),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("scales (input 2): got f32[5], want f32[5,2]")));
  EXPECT_THAT(ByBlocks(b + OnnxFloats("s", {5, 2}, std::vector<float>(10, INFINITY))),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("want a finite number")));
  EXPECT_THAT(ByBlocks(b + s + Bytes("z", kI8, {5, 2}, std::vector<int>(10, 1)), 8, 4, ", 'z'"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("zero points (input 3): got i8[5,2], want u8[5,2]")));
  // A row of zero points is whole bytes.
  const std::string few = Bytes("b", kU8, {5, 2, 2}, std::vector<int>(20, 130));
  EXPECT_THAT(ByBlocks(few + s + Bytes("z", kU8, {5, 1}, std::vector<int>(5, 1)), 4, 4, ", 'z'"),
              IsOk());
  EXPECT_THAT(ByBlocks(few + s + Bytes("z", kU8, {5, 2}, std::vector<int>(10, 1)), 4, 4, ", 'z'"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("zero points (input 3): got u8[5,2], want u8[5,1]")));
  EXPECT_THAT(ByBlocks(b + kHalfScale),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("scales (input 2): got f16[], want "
                                                               "f32[5,2]")));
  const auto grouped = [&](const std::vector<int>& groups) {
    return ByBlocks(b + s + Bytes("g", kI32, {6}, groups), 8, 4, ", '', 'g'");
  };
  EXPECT_THAT(grouped({0, 0, 0, 0, 1, 1}), IsOk());
  EXPECT_THAT(grouped({0, 1, 0, 0, 1, 0}),
              StatusIs(StatusCode::kUnimplemented,
                       AllOf(HasSubstr("g_idx (input 4): rows in another order"),
                             HasSubstr("without reordering"))));
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
