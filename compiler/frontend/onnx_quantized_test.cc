// Quantized operators: what they become, and each mistake in scales and zero points by its message.
#include <string>

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
