// Parts of a reduction for each worker, and the block that adds them up.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/generator/generator_test_util.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

TEST(PartsRuleTest, WorkersShareALongReductionOfFewElements) {
  EXPECT_EQ(DerivedText(WorkloadOf({.name = "dense",
                                    .op = "dense",
                                    .inputs = {{2, 4096}, {40, 4096}},
                                    .attributes = {},
                                    .dtype = DType::kF64}),
                        kTarget, "nest/parts/i1/SRUS/packed"),
            R"(nest/parts/i1/SRUS/packed
  part = 512 1024 2048
  s1_1 = 1 2
  s2_1 = 4 8 12 16 24 32
  r0_1 = 1 2 4 8 16
  parts = 2 4 8 16
  require $parts <= (4096 + ($part - 1)) // $part * ((2 + ($s1_1 - 1)) // $s1_1) * ((40 + ($s2_1 - 1)) // $s2_1)
  require min($s1_1, 2) * ((min($s2_1, 40) + 3) // 4) + min(min($s1_1, 2), (min($s2_1, 40) + 3) // 4) + 1 <= 16
  require min($s1_1, 2) * ((min($s2_1, 40) + 3) // 4) * min($r0_1, min($part, 4096)) <= 512
  require 8 <= min($s1_1, 2) * ((min($s2_1, 40) + 3) // 4) || (40 <= min($s2_1, 40) || 2 <= min($s1_1, 2))
  split@1 b2.i2->(b2_w,b2_wk) size=$part
  rfactor@1 b2->b2_parts loop=b2_w
  split@1 b2.i0->(b2_parts_s1_0,b2_parts_s1_1) max=$s1_1
  split@1 b2.i1->(b2_parts_s2_0,b2_parts_s2_1) size=$s2_1
  split@1 b2_wk->(b2_parts_r0_0,b2_parts_r0_1) size=$r0_1
  reorder@1 (b2_w,b2_parts_s1_0,b2_parts_s2_0,b2_parts_r0_0,b2_parts_r0_1,b2_parts_s1_1,b2_parts_s2_1)
  relayout@1 b1->b2_parts_packed0 dims=(b2_w,b2_parts_s2_0,b2_wk,b2_parts_s2_1)
  precompute@1 b2_parts_packed0
  fuse@1 (b2_w,b2_parts_s1_0,b2_parts_s2_0)->b2_parts_p
  split@1 b2_parts_p->(b2_parts_w0,b2_parts_w1) parts=$parts
  parallel@1 b2_parts_w0
  stage@1 b2_parts->b2_parts_acc inside=b2_parts_w1 scope=register
  unroll@1 b2_parts_r0_1
  unroll@1 b2_parts_s1_1
  vectorize@1 b2_parts_s2_1 lanes=4
  reorder@1 (b2_parts_s2_1,b2_parts_s1_1) when min($s1_1, 2) < (min($s2_1, 40) + 3) // 4
  fuse@1 (b2_parts.b2.i0,b2_parts.b2.i1)->b2_cr
  split@1 b2_cr->(b2_cv,b2_ci) size=4
  reorder@1 (b2_cv,b2_parts.b2_w,b2_ci)
  stage@1 b2->b2_total inside=b2_cv scope=register
  vectorize@1 b2_ci lanes=4
)");
}

TEST(PartsRuleTest, EachTypeHasTheSameParts) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(DerivedText(LongProductOf(dtype), kRuleTarget, "nest/parts/i1/SRUS/packed"),
                AllOf(HasSubstr("\n  part = 512 1024 2048\n"), HasSubstr(R"(
  split@1 b2.i2->(b2_w,b2_wk) size=$part
  rfactor@1 b2->b2_parts loop=b2_w
)")));
  }
}

// Their elements are enough to deal out.
TEST(PartsRuleTest, ShortSumsOfManyElementsStayWhole) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(DerivedText(ProductOf(dtype), kRuleTarget, ""),
                AllOf(HasSubstr("nest/i1/SRUS\n"), Not(HasSubstr("parts"))));
  }
}

}  // namespace
}  // namespace burnish
