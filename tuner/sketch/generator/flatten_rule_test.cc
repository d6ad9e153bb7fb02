// Loops of the output beside the vector loop as one.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/generator/generator_test_util.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Program ProductsOf(DType dtype) {
  return WorkloadOf({.name = "products",
                     .op = "matmul",
                     .inputs = {{3, 64, 32}, {3, 32, 48}},
                     .all_inputs = true,
                     .dtype = dtype});
}

TEST(FlattenRuleTest, AllLoopsBesideTheVectorLoop) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(DerivedText(ProductsOf(dtype), kRuleTarget, "nest/i2/flat/SRUS"), HasSubstr(R"(
  reorder@1 (b2.i0,b2.i1,b2.i2,b2.i3)
  fuse@1 (b2.i0,b2.i1)->b2_m
  split@1 b2_m->(b2_s0_0,b2_s0_1) max=$s0_1
)"));
  }
}

// The last of two stays, and there is nothing to fuse: the same loops as the definition's.
TEST(FlattenRuleTest, AllButTheLastOfASum) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(DerivedText(ProductsOf(dtype), kRuleTarget, "nest/i2/SRUS"),
                AllOf(HasSubstr("  reorder@1 (b2.i0,b2_s1_0,b2_s2_0,"), Not(HasSubstr("b2_m"))));
  }
}

TEST(FlattenRuleTest, AMapHasOneWay) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    const Program swap = WorkloadOf({.name = "swap",
                                     .op = "transpose",
                                     .inputs = {{24, 32, 64}},
                                     .attributes = {{"perm", Ints{1, 0, 2}}},
                                     .dtype = dtype});
    EXPECT_EQ(DerivedText(swap, kRuleTarget, ""),
              "nest/i2/flat/SS\nnest/i2/flat/SSS\nunscheduled\n");
    EXPECT_THAT(DerivedText(swap, kRuleTarget, "nest/i2/flat/SS"),
                HasSubstr("\n  fuse@1 (b1.i0,b1.i1)->b1_m\n"));
  }
}

}  // namespace
}  // namespace burnish
