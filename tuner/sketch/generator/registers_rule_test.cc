// The innermost loops: written out, or in vectors.
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/generator/generator_test_util.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RegistersRuleTest, ATileOfAProductFitsTheRegisters) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    const std::string text = DerivedText(ProductOf(dtype), kRuleTarget, "nest/i1/SRUS/packed");
    const std::string vectors = absl::StrFormat("(min($s1_1, 48) + %d) // %d", lanes - 1, lanes);
    EXPECT_THAT(text,
                HasSubstr(absl::StrFormat(
                    "  require min($s0_1, 64) * (%1$s) + min(min($s0_1, 64), %1$s) + 1 <= 16\n"
                    "  require min($s0_1, 64) * (%1$s) * min($r0_1, 32) <= 512\n"
                    "  require 8 <= min($s0_1, 64) * (%1$s) ||",
                    vectors)));
    EXPECT_THAT(text, HasSubstr(absl::StrFormat(R"(
  unroll@1 b2_r0_1
  unroll@1 b2_s0_1
  vectorize@1 b2_s1_1 lanes=%d
  reorder@1 (b2_s1_1,b2_s0_1) when min($s0_1, 64) < %s
)",
                                                lanes, vectors)));
  }
}

// Nothing is summed: rows and vectors have all registers, and no order.
TEST(RegistersRuleTest, ATileOfAMapHasNoSums) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    const Program turn = WorkloadOf({.name = "turn",
                                     .op = "transpose",
                                     .inputs = {{128, 256}},
                                     .attributes = {{"perm", Ints{1, 0}}},
                                     .dtype = dtype});
    EXPECT_THAT(DerivedText(turn, kRuleTarget, "nest/i1/SS"),
                AllOf(HasSubstr(absl::StrFormat(
                          "  require min($s0_1, 256) * ((min($s1_1, 128) + %d) // %d) <= 16\n",
                          lanes - 1, lanes)),
                      HasSubstr(absl::StrFormat(
                          "\n  unroll@1 b1_s0_1\n  vectorize@1 b1_s1_1 lanes=%d\n", lanes)),
                      Not(HasSubstr(" when "))));
  }
}

}  // namespace
}  // namespace burnish
