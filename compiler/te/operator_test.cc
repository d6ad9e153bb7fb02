#include "compiler/te/operator.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

TensorType F32(Ints shape) { return {DType::kF32, std::move(shape)}; }
TensorType Of(DType dtype, Ints shape) { return {dtype, std::move(shape)}; }

Attributes Attrs(std::vector<std::pair<std::string, AttributeValue>> values) {
  Attributes attributes;
  for (auto& [name, value] : values) attributes.Set(name, value);
  return attributes;
}

struct Refusal {
  const char* op;
  std::vector<std::pair<std::string, AttributeValue>> attributes;
  std::vector<TensorType> inputs;
  const char* message;
};

TEST(OperatorTest, InferRefusesWithWhatItGotAndWhatItWants) {
  const Refusal refusals[] = {
      {"relu", {}, {}, "got 0 inputs, want 1"},
      {"resize",
       {{"sizes", Ints{2, 1}}},
       {F32({2, 0})},
       "got f32[2,0], want no empty dimension, for input 0"},
      {"relu", {}, {Of(DType::kBool, {2})}, "got bool[2], want a number type"},
      {"exp", {}, {Of(DType::kI32, {2})}, "got i32[2], want a floating-point type"},
      {"not", {}, {F32({2})}, "got f32[2], want bool"},
      {"cast", {{"to", std::string("f8")}}, {F32({2})}, "got to=f8, want f32"},
      {"gelu", {{"approximate", std::string("x")}}, {F32({2})}, "got approximate=x"},
      {"celu", {{"alpha", 0.0}}, {F32({2})}, "got alpha=0"},
      {"add", {}, {F32({2, 3}), F32({2})}, "got shapes [2,3] and [2]"},
      {"add", {}, {F32({2}), Of(DType::kI64, {2})}, "got i64, want f32 as the first input"},
      {"and", {}, {F32({2}), F32({2})}, "got f32[2], want bool"},
      {"mod", {}, {F32({2}), F32({2})}, "want fmod=1 for floating point"},
      {"prelu", {}, {F32({2}), F32({3, 1})}, "want one that broadcasts to [2]"},
      {"where", {}, {F32({2}), F32({2}), F32({2})}, "want bool, for the condition"},
      {"conv", {}, {F32({2, 3}), F32({4, 3})}, "got X f32[2,3], want 3, 4 or 5 dimensions"},
      {"conv", {}, {F32({1, 3, 8, 8}), F32({4, 2, 3, 3})}, "want 3 input channels"},
      {"conv", {}, {F32({1, 3, 2, 8}), F32({4, 3, 3, 3})}, "reaches over 3 elements, want at most"},
      {"conv", {{"group", int64_t{2}}}, {F32({1, 3, 8, 8}), F32({4, 3, 3, 3})}, "want a divisor"},
      {"conv", {{"strides", Ints{0, 1}}}, {F32({1, 3, 8, 8}), F32({4, 3, 3, 3})}, "strides=[0,1]"},
      {"conv", {{"pads", Ints{1, 1}}}, {F32({1, 3, 8, 8}), F32({4, 3, 3, 3})}, "want 4 values"},
      {"conv", {}, {F32({1, 3, 8, 8}), F32({4, 3, 3, 3}), F32({3})}, "want [4], for the bias"},
      {"conv_transpose", {}, {F32({1, 3, 4, 4}), F32({2, 3, 3, 3})}, "want 3 input channels"},
      {"conv_transpose",
       {{"output_padding", Ints{1, 0}}},
       {F32({1, 3, 4, 4}), F32({3, 3, 3, 3})},
       "got output_padding=1, want less than the stride"},
      {"max_pool", {}, {F32({1, 3, 8, 8})}, "got no kernel_shape"},
      {"max_pool", {{"kernel_shape", Ints{10, 1}}}, {F32({1, 3, 8, 8})}, "got a window over 10"},
      {"max_pool",
       {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{2, 0, 0, 0}}},
       {F32({1, 3, 8, 8})},
       "want less than the window of 2"},
      {"average_pool",
       {{"kernel_shape", Ints{2, 2}}},
       {Of(DType::kI8, {1, 3, 8, 8})},
       "got i8[1,3,8,8], want a floating-point type"},
      {"dense", {}, {F32({2, 3}), F32({4, 5})}, "got W f32[4,5], want [N,3]"},
      {"gemm", {}, {F32({2, 3}), F32({4, 3})}, "want 3 in dimension 0 of B"},
      {"gemm", {}, {F32({2, 3}), F32({3, 4}), F32({3, 1})}, "want one that broadcasts to [2,4]"},
      {"matmul", {}, {F32({2, 3}), F32({4, 3})}, "want equal inner dimensions, not 3 and 4"},
      {"matmul", {}, {F32({2, 2, 3}), F32({3, 3, 4})}, "got shapes [2] and [3]"},
      {"matmul", {}, {F32({}), F32({3})}, "got a scalar"},
      {"matmul_integer", {}, {F32({2, 3}), Of(DType::kI8, {3, 4})}, "want i8, u8, i16 or u16"},
      {"matmul_integer",
       {},
       {Of(DType::kU8, {2, 3}), Of(DType::kI8, {3, 4}), F32({4})},
       "got f32[4], want i32, for the bias"},
      {"matmul_blocks",
       {},
       {F32({2, 6}), Of(DType::kI8, {2, 4, 5}), F32({2, 5})},
       "got W i8[2,4,5], want i8[B,J,N] with B * J = 6"},
      {"matmul_blocks", {}, {F32({2, 8}), Of(DType::kI8, {2, 4, 5}), F32({4, 5})}, "for the scale"},
      {"conv_integer",
       {{"pad_value", int64_t{256}}},
       {Of(DType::kU8, {1, 3, 4}), Of(DType::kI8, {2, 3, 1})},
       "got pad_value=256, want a number of u8"},
      {"quantize", {}, {F32({2}), F32({}), F32({})}, "got f32[], want i8, u8, i16 or u16"},
      {"quantize", {}, {F32({2}), F32({3}), Of(DType::kU8, {})}, "want one that broadcasts to [2]"},
      {"quantize", {}, {Of(DType::kI32, {2}), F32({}), Of(DType::kU8, {})}, "got i32[2], want f32"},
      {"requantize",
       {},
       {Of(DType::kI16, {2}), F32({}), Of(DType::kU8, {})},
       "got i16[2], want f32 or i32"},
      {"dequantize",
       {},
       {Of(DType::kU8, {2}), F32({}), Of(DType::kI8, {})},
       "got i8[], want u8, for the zero point"},
      {"dequantize", {}, {F32({2}), F32({}), F32({})}, "got f32[2], want i8, u8, i16, u16 or i32"},
      {"batch_norm", {}, {F32({1, 3}), F32({3}), F32({3}), F32({3}), F32({2})}, "for var"},
      {"layer_norm", {}, {F32({2, 3}), F32({2})}, "want one that broadcasts to [3], for scale"},
      {"group_norm",
       {{"num_groups", int64_t{2}}},
       {F32({1, 3, 4}), F32({3}), F32({3})},
       "got num_groups=2, want a divisor of the 3 channels"},
      {"lrn", {}, {F32({1, 3, 4})}, "got size=0"},
      {"softmax", {{"axis", int64_t{2}}}, {F32({2, 3})}, "got axis=2, want -2 to 1"},
      {"reduce_sum", {{"axes", Ints{3}}}, {F32({2, 3})}, "got axis=3"},
      {"reduce_sum", {{"axes", Ints{1, -1}}}, {F32({2, 3})}, "got axis -1 twice"},
      {"argmax", {{"axis", int64_t{-3}}}, {F32({2, 3})}, "got axis=-3, want -2 to 1"},
      {"transpose", {{"perm", Ints{0, 0}}}, {F32({2, 3})}, "want a permutation of the 2"},
      {"reshape", {{"shape", Ints{4}}}, {F32({2, 3})}, "got shape=[4], want one with the 6"},
      {"expand", {{"shape", Ints{4}}}, {F32({2, 3})}, "got shapes [2,3] and [4]"},
      {"concat", {{"axis", int64_t{0}}}, {F32({2, 3}), F32({2, 4})}, "but for dimension 0"},
      {"split", {{"split", Ints{1, 2}}}, {F32({2, 3})}, "want sizes >= 1 that sum to 2"},
      {"slice",
       {{"axes", Ints{0}}, {"starts", Ints{5}}, {"ends", Ints{6}}},
       {F32({2, 3})},
       "want positions in a dimension of 2"},
      {"slice",
       {{"axes", Ints{0}}, {"starts", Ints{1}}, {"ends", Ints{1}}},
       {F32({2, 3})},
       "got an empty slice of axis 0"},
      {"pad", {{"pads", Ints{0, 0}}}, {F32({2, 3})}, "want 4 values"},
      {"pad",
       {{"pads", Ints{2, 0, 0, 0}}, {"mode", std::string("reflect")}},
       {F32({2, 3})},
       "want less than the 2 elements of dimension 0"},
      {"pad", {{"mode", std::string("cubic")}}, {F32({2})}, "got mode=cubic"},
      {"gather", {}, {F32({2}), F32({2})}, "got indices f32[2], want i64 or i32"},
      {"gather_elements", {}, {F32({2, 3}), F32({2, 3})}, "got indices f32[2,3], want i64 or i32"},
      {"gather_elements",
       {},
       {F32({2, 3}), Of(DType::kI64, {2})},
       "want 2 dimensions as X f32[2,3]"},
      {"gather_elements",
       {},
       {F32({2, 3}), Of(DType::kI64, {2, 4})},
       "want at most 3 in dimension 1"},
      {"gather_elements",
       {{"broadcast", int64_t{1}}},
       {F32({2, 3}), Of(DType::kI64, {2, 2})},
       "for X f32[2,3], want 3 in dimension 1"},
      {"gather_nd", {}, {F32({2}), F32({1})}, "got indices f32[1], want i64 or i32"},
      {"gather_nd", {}, {F32({}), Of(DType::kI64, {1})}, "want at least 1 dimension"},
      {"gather_nd",
       {{"batch_dims", int64_t{1}}},
       {F32({2}), Of(DType::kI64, {2})},
       "got batch_dims=1"},
      {"gather_nd",
       {{"batch_dims", int64_t{1}}},
       {F32({2, 3}), Of(DType::kI64, {4, 1})},
       "want the first 1 extents equal"},
      {"gather_nd",
       {},
       {F32({2, 3}), Of(DType::kI64, {4, 3})},
       "got positions of 3 numbers, want at most 2"},
      {"resize", {}, {F32({2})}, "got neither sizes nor scales"},
      {"resize", {{"sizes", Ints{2, 2}}}, {F32({2})}, "want one for each of the 1 dimensions"},
      {"resize", {{"mode", std::string("cubic")}}, {F32({2})}, "got mode=cubic"},
      {"resize", {{"sizes", Ints{0}}}, {F32({2})}, "want at least 1, in dimension 0"},
  };
  for (const Refusal& refusal : refusals) {
    const OperatorDef* op = FindOperator(refusal.op);
    ASSERT_NE(op, nullptr) << refusal.op;
    EXPECT_THAT(op->infer(Attrs(refusal.attributes), refusal.inputs),
                StatusIs(absl::StrContains(refusal.message, "want a floating-point type")
                             ? absl::StatusCode::kUnimplemented
                             : absl::StatusCode::kInvalidArgument,
                         HasSubstr(refusal.message)))
        << refusal.op;
  }
}

TEST(OperatorTest, FlopCountsMultiplyAddsAsTwo) {
  const auto flops = [](const char* op, const Attributes& attributes,
                        const std::vector<TensorType>& types) {
    return FindOperator(op)->flop_count(attributes, types);
  };
  EXPECT_EQ(flops("conv", Attrs({{"pads", Ints{1, 1, 1, 1}}}),
                  {F32({2, 3, 5, 7}), F32({4, 3, 3, 3}), F32({4})}),
            2 * 2 * 4 * 5 * 7 * 3 * 3 * 3);
  EXPECT_EQ(flops("conv", Attrs({{"group", int64_t{3}}}), {F32({1, 3, 4, 4}), F32({3, 1, 3, 3})}),
            2 * 3 * 2 * 2 * 3 * 3);
  // The zeros between the elements do not count.
  EXPECT_EQ(flops("conv_transpose", Attrs({{"strides", Ints{2, 2}}}),
                  {F32({1, 3, 4, 4}), F32({3, 5, 2, 2})}),
            2 * 3 * 5 * 4 * 4 * 2 * 2);
  EXPECT_EQ(flops("dense", Attrs({}), {F32({2, 3}), F32({5, 3})}), 2 * 2 * 5 * 3);
  EXPECT_EQ(flops("add", Attrs({}), {F32({2, 3}), F32({3})}), 6);
  EXPECT_EQ(flops("relu", Attrs({}), {F32({2, 3})}), 6);
  EXPECT_EQ(flops("transpose", Attrs({{"perm", Ints{1, 0}}}), {F32({2, 3})}), 0);
  EXPECT_EQ(flops("pad", Attrs({{"pads", Ints{1, 1}}}), {F32({2})}), 0);
}

TEST(OperatorTest, OperatorsAreFoundByNameAndListedInOrder) {
  EXPECT_EQ(FindOperator("conv")->name(), "conv");
  EXPECT_EQ(FindOperator("conv2"), nullptr);
  EXPECT_EQ(FindOperator(""), nullptr);
  const auto all = AllOperators();
  for (size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1]->name(), all[i]->name());
}

TEST(AttributesTest, AbsentNamesGiveTheDefault) {
  const Attributes attributes = Attrs({{"a", int64_t{3}}, {"f", 0.5}, {"l", Ints{1, 2}}});
  EXPECT_EQ(attributes.Int("a", 7), 3);
  EXPECT_EQ(attributes.Int("b", 7), 7);
  EXPECT_EQ(attributes.Float("f", 1), 0.5);
  EXPECT_EQ(attributes.Ints("l", {}), (Ints{1, 2}));
  EXPECT_EQ(attributes.String("s", "x"), "x");
  EXPECT_FALSE(attributes.Has("s"));
}

TEST(AttributesDeathTest, AnotherTypeIsABug) {
  const Attributes attributes = Attrs({{"a", int64_t{3}}});
  EXPECT_DEATH(attributes.Float("a", 1), "attribute a");
}

}  // namespace
}  // namespace burnish
