// Sums stay in registers.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/generator/generator_test_util.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(WriteCacheRuleTest, UnderTheTilesOfOneLevel) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(DerivedText(ProductOf(dtype), kRuleTarget, "nest/i1/SRUS"),
                HasSubstr("\n  stage@1 b2->b2_acc inside=b2_w1 scope=register\n"));
  }
}

// Partial sums are parked in the output while a block of the reduction is done elsewhere.
TEST(WriteCacheRuleTest, UnderTheInnermostTilesOfABlockedSum) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(DerivedText(ProductOf(dtype), kRuleTarget, "nest/i1/SSRSRUS"),
                AllOf(HasSubstr("b2_r0_0,b2_s0_2,b2_s1_2,b2_r0_1,b2_r0_2,b2_s0_3,b2_s1_3)\n"),
                      HasSubstr("\n  stage@1 b2->b2_acc inside=b2_s1_2 scope=register\n")));
  }
}

TEST(WriteCacheRuleTest, AMapHasNoSums) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    const Program turn = WorkloadOf({.name = "turn",
                                     .op = "transpose",
                                     .inputs = {{128, 256}},
                                     .attributes = {{"perm", Ints{1, 0}}},
                                     .dtype = dtype});
    EXPECT_THAT(DerivedText(turn, kRuleTarget, "nest/i1/SS"),
                AllOf(HasSubstr("vectorize@1 b1_s1_1"), Not(HasSubstr("stage@1"))));
  }
}

}  // namespace
}  // namespace burnish
