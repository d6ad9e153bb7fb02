// Levels of tiles by a structure, with what deal, write_cache, read_cache and registers make of
// them.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/generator/generator_test_util.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

TEST(TilingRuleTest, ProductByTilesOfOneLevel) {
  EXPECT_EQ(DerivedText(WorkloadOf({"matmul", "matmul", {{64, 32}, {32, 48}}, {}}), kTarget,
                        "nest/i1/SRUS/packed"),
            R"(nest/i1/SRUS/packed
  s0_1 = 1 2 3 4 6 8 10 12 14 16
  s1_1 = 8 16 24 32 48
  r0_1 = 1 2 4 8 16
  parts = 2 4 8 16
  require $parts <= (64 + ($s0_1 - 1)) // $s0_1 * ((48 + ($s1_1 - 1)) // $s1_1)
  require min($s0_1, 64) * ((min($s1_1, 48) + 7) // 8) + min(min($s0_1, 64), (min($s1_1, 48) + 7) // 8) + 1 <= 16
  require min($s0_1, 64) * ((min($s1_1, 48) + 7) // 8) * min($r0_1, 32) <= 512
  require 8 <= min($s0_1, 64) * ((min($s1_1, 48) + 7) // 8) || (48 <= min($s1_1, 48) || 64 <= min($s0_1, 64))
  split@1 b2.i0->(b2_s0_0,b2_s0_1) max=$s0_1
  split@1 b2.i1->(b2_s1_0,b2_s1_1) size=$s1_1
  split@1 b2.i2->(b2_r0_0,b2_r0_1) size=$r0_1
  reorder@1 (b2_s0_0,b2_s1_0,b2_r0_0,b2_r0_1,b2_s0_1,b2_s1_1)
  relayout@1 b1->b2_packed0 dims=(b2_s1_0,b2.i2,b2_s1_1)
  precompute@1 b2_packed0
  fuse@1 (b2_s0_0,b2_s1_0)->b2_p
  split@1 b2_p->(b2_w0,b2_w1) parts=$parts
  parallel@1 b2_w0
  stage@1 b2->b2_acc inside=b2_w1 scope=register
  unroll@1 b2_r0_1
  unroll@1 b2_s0_1
  vectorize@1 b2_s1_1 lanes=8
  reorder@1 (b2_s1_1,b2_s0_1) when min($s0_1, 64) < (min($s1_1, 48) + 7) // 8
)");
}

TEST(TilingRuleTest, ProductByTilesOfThreeLevels) {
  EXPECT_EQ(DerivedText(WorkloadOf({"matmul", "matmul", {{64, 32}, {32, 48}}, {}}), kTarget,
                        "nest/i1/SSRSRUS"),
            R"(nest/i1/SSRSRUS
  s0_1 = 1 2 4 8 16 64
  s0_2 = 1 2 4 8 16 64
  s0_3 = 1 2 3 4 6 8 10 12 14 16
  s1_1 = 8 16 48
  s1_2 = 8 16 48
  s1_3 = 8 16 24 32 48
  r0_1 = 1 2 4 8 16 32
  r0_2 = 1 2 4 8 16
  parts = 2 4 8 16
  require $s0_1 % $s0_2 == 0
  require $s0_3 <= $s0_2
  require $s1_1 % $s1_2 == 0
  require $s1_3 <= $s1_2
  require $r0_2 <= $r0_1
  require $parts <= (64 + ($s0_1 - 1)) // $s0_1 * ((48 + ($s1_1 - 1)) // $s1_1)
  require min($s0_3, min($s0_2, min($s0_1, 64))) * ((min($s1_3, min($s1_2, min($s1_1, 48))) + 7) // 8) + min(min($s0_3, min($s0_2, min($s0_1, 64))), (min($s1_3, min($s1_2, min($s1_1, 48))) + 7) // 8) + 1 <= 16
  require min($s0_3, min($s0_2, min($s0_1, 64))) * ((min($s1_3, min($s1_2, min($s1_1, 48))) + 7) // 8) * min($r0_2, min($r0_1, 32)) <= 512
  require 8 <= min($s0_3, min($s0_2, min($s0_1, 64))) * ((min($s1_3, min($s1_2, min($s1_1, 48))) + 7) // 8) || (48 <= min($s1_3, min($s1_2, min($s1_1, 48))) || 64 <= min($s0_3, min($s0_2, min($s0_1, 64))))
  split@1 b2.i0->(b2_s0_0,b2_s0_1r) size=$s0_1
  split@1 b2_s0_1r->(b2_s0_1,b2_s0_2r) size=$s0_2
  split@1 b2_s0_2r->(b2_s0_2,b2_s0_3) max=$s0_3
  split@1 b2.i1->(b2_s1_0,b2_s1_1r) size=$s1_1
  split@1 b2_s1_1r->(b2_s1_1,b2_s1_2r) size=$s1_2
  split@1 b2_s1_2r->(b2_s1_2,b2_s1_3) size=$s1_3
  split@1 b2.i2->(b2_r0_0,b2_r0_1r) size=$r0_1
  split@1 b2_r0_1r->(b2_r0_1,b2_r0_2) size=$r0_2
  reorder@1 (b2_s0_0,b2_s1_0,b2_s0_1,b2_s1_1,b2_r0_0,b2_s0_2,b2_s1_2,b2_r0_1,b2_r0_2,b2_s0_3,b2_s1_3)
  fuse@1 (b2_s0_0,b2_s1_0)->b2_p
  split@1 b2_p->(b2_w0,b2_w1) parts=$parts
  parallel@1 b2_w0
  stage@1 b2->b2_acc inside=b2_s1_2 scope=register
  unroll@1 b2_r0_2
  unroll@1 b2_s0_3
  vectorize@1 b2_s1_3 lanes=8
  reorder@1 (b2_s1_3,b2_s0_3) when min($s0_3, min($s0_2, min($s0_1, 64))) < (min($s1_3, min($s1_2, min($s1_1, 48))) + 7) // 8
)");
}

TEST(TilingRuleTest, MapOfBytes) {
  EXPECT_EQ(DerivedText(WorkloadOf({.name = "turn",
                                    .op = "transpose",
                                    .inputs = {{128, 256}},
                                    .attributes = {{"perm", Ints{1, 0}}},
                                    .dtype = DType::kI8}),
                        kTarget, "nest/i1/SS"),
            R"(nest/i1/SS
  s0_1 = 1 2 3 4 6 8 10 12 14 16
  s1_1 = 32 64 96 128
  parts = 2 4 8 16
  require $parts <= (256 + ($s0_1 - 1)) // $s0_1 * ((128 + ($s1_1 - 1)) // $s1_1)
  require min($s0_1, 256) * ((min($s1_1, 128) + 31) // 32) <= 16
  require min($s0_1, 256) * ((min($s1_1, 128) + 31) // 32) <= 512
  split@1 b1.i0->(b1_s0_0,b1_s0_1) max=$s0_1
  split@1 b1.i1->(b1_s1_0,b1_s1_1) size=$s1_1
  reorder@1 (b1_s0_0,b1_s1_0,b1_s0_1,b1_s1_1)
  fuse@1 (b1_s0_0,b1_s1_0)->b1_p
  split@1 b1_p->(b1_w0,b1_w1) parts=$parts
  parallel@1 b1_w0
  unroll@1 b1_s0_1
  vectorize@1 b1_s1_1 lanes=32
)");
}

TEST(TilingRuleTest, TilesOfEachTypeAreWholeVectors) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    const std::string text = DerivedText(ProductOf(dtype), kRuleTarget, "nest/i1/SRUS");
    const char* const sizes = lanes == 4   ? "  s1_1 = 4 8 12 16 24 32\n"
                              : lanes == 8 ? "  s1_1 = 8 16 24 32 48\n"
                                           : "  s1_1 = 32 64\n";
    EXPECT_THAT(text, HasSubstr(sizes));
    EXPECT_THAT(text, HasSubstr(R"(
  split@1 b2.i0->(b2_s0_0,b2_s0_1) max=$s0_1
  split@1 b2.i1->(b2_s1_0,b2_s1_1) size=$s1_1
  split@1 b2.i2->(b2_r0_0,b2_r0_1) size=$r0_1
  reorder@1 (b2_s0_0,b2_s1_0,b2_r0_0,b2_r0_1,b2_s0_1,b2_s1_1)
)"));
  }
}

}  // namespace
}  // namespace burnish
