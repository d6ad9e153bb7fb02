// Padding with zeros goes into the border of the input, other padding into its reader.
#include <string>

#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "compiler/ir/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

// Sums of three neighbours of six elements, with a zero before the first and behind the last.
Program PaddedSums(const std::string& type, const std::string& zero) {
  const absl::StatusOr<Program> program =
      ParseProgram(absl::StrReplaceAll(R"(program/1 padded
input X: TYPE[6]
output Y: TYPE[6]
temp P: TYPE[8]
block P(h in 8) {
  step P[h] = 1 <= h && h < 7 ? X[h - 1] : ZERO
}
block Y(m in 6; k in 3) {
  step Y[m] += P[m + k]
}
)",
                                       {{"TYPE", type}, {"ZERO", zero}}));
  CHECK_OK(program);
  return *program;
}

TEST(BorderRuleTest, ZerosAreABorderOfTheInput) {
  constexpr char kWant[] = R"(border
  border@1 P->X
)";
  EXPECT_EQ(TestedDrafts("border", PaddedSums("f32", "0.0"), kTarget), kWant);
  EXPECT_EQ(TestedDrafts("border", PaddedSums("f64", "0.0_f64"), kTarget), kWant);
  EXPECT_EQ(TestedDrafts("border", PaddedSums("i8", "0_i8"), kTarget), kWant);
}

Program PaddedMaximum(DType dtype) {
  return WorkloadOf({.name = "max_pool",
                     .op = "max_pool",
                     .inputs = {{1, 5, 4, 3}},
                     .attributes = {{"channels_last", int64_t{1}},
                                    {"kernel_shape", Ints{3, 3}},
                                    {"pads", Ints{1, 1, 1, 1}}},
                     .dtype = dtype});
}

// The zero point of an input: a condition for each element would keep dot products away.
TEST(BorderRuleTest, ZeroPointsOfFactorsAreABorder) {
  const Program program = WorkloadOf({.name = "conv_integer",
                                      .op = "conv_integer",
                                      .inputs = {{1, 5, 4, 8}, {16, 8, 3, 3}},
                                      .attributes = {{"channels_last", int64_t{1}},
                                                     {"pad_value", int64_t{131}},
                                                     {"pads", Ints{1, 1, 1, 1}}},
                                      .types = {DType::kU8, DType::kI8}});
  EXPECT_THAT(TestedDrafts("border", program, kTarget), ::testing::StartsWith("border\n"));
}

TEST(BorderRuleTest, OtherPaddingIsComputedWhereItIsRead) {
  constexpr char kWant[] = R"(inline
  inline@1 b2
)";
  EXPECT_EQ(TestedDrafts("border", PaddedMaximum(DType::kF32), kTarget), kWant);
  EXPECT_EQ(TestedDrafts("border", PaddedMaximum(DType::kF64), kTarget), kWant);
  EXPECT_EQ(TestedDrafts("border", PaddedMaximum(DType::kI8), kTarget), kWant);
}

}  // namespace
}  // namespace burnish
