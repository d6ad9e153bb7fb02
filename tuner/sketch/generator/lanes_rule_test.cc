// Which loop runs in vectors: of the output, or of the reduction.
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/generator/generator_test_util.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

TEST(LanesRuleTest, LanesAlongTheReduction) {
  EXPECT_EQ(DerivedText(WorkloadOf({.name = "rows",
                                    .op = "reduce_max",
                                    .inputs = {{256, 100}},
                                    .attributes = {{"axes", Ints{1}}}}),
                        kTarget, "nest/sums/SRUS"),
            R"(nest/sums/SRUS
  sums = 8 16 32
  rows = 1 2 4 8
  r0_1 = 1 2 4
  require min($r0_1, (100 + ($sums - 1)) // $sums) <= 512
  split@1 b1.i2->(b1_ko,b1_kl) size=$sums tail=guard
  rfactor@1 b1->b1_lanes loop=b1_kl
  fuse@1 (b1_lanes.b1.i0,b1_lanes.b1.i1)->b1_r
  split@1 b1_r->(b1_p,b1_r1) parts=2
  parallel@1 b1_p
  split@1 b1_r1->(b1_rb,b1_r2) max=$rows
  stage@1 b1->b1_sum inside=b1_r2 scope=register
  vectorize@1 b1_lanes.b1_kl lanes=8
  compute_at@1 b1_lanes->(b1_lanes_i0,b1_lanes_i1,b1_lanes_i2) inside=b1_rb
  split@1 b1_ko->(b1_lanes_r0_0,b1_lanes_r0_1) size=$r0_1
  reorder@1 (b1_lanes_i0,b1_lanes_i1,b1_lanes_r0_0,b1_lanes_r0_1,b1_lanes_i2)
  stage@1 b1_lanes->b1_lanes_acc inside=b1_lanes_i1 scope=register
  unroll@1 b1_lanes_r0_1
  vectorize@1 b1_lanes_i2 lanes=8
)");
}

TEST(LanesRuleTest, LanesAlongTheOutput) {
  EXPECT_EQ(DerivedText(WorkloadOf({.name = "columns",
                                    .op = "reduce_max",
                                    .inputs = {{100, 256}},
                                    .attributes = {{"axes", Ints{0}}},
                                    .dtype = DType::kI8}),
                        kTarget, "nest/i1/SRUS"),
            R"(nest/i1/SRUS
  s0_1 = 32 64 96 128 192 256
  r0_1 = 1 2 4
  parts = 2 4 8 16
  require $parts <= (256 + ($s0_1 - 1)) // $s0_1
  require (min($s0_1, 256) + 31) // 32 + min(1, (min($s0_1, 256) + 31) // 32) + 1 <= 16
  require (min($s0_1, 256) + 31) // 32 * min($r0_1, 100) <= 512
  split@1 b1.i1->(b1_s0_0,b1_s0_1) size=$s0_1
  split@1 b1.i2->(b1_r0_0,b1_r0_1) size=$r0_1
  reorder@1 (b1_s0_0,b1.i0,b1_r0_0,b1_r0_1,b1_s0_1)
  fuse@1 (b1_s0_0,b1.i0)->b1_p
  split@1 b1_p->(b1_w0,b1_w1) parts=$parts
  parallel@1 b1_w0
  stage@1 b1->b1_acc inside=b1_w1 scope=register
  unroll@1 b1_r0_1
  vectorize@1 b1_s0_1 lanes=32
)");
}

TEST(LanesRuleTest, EachTypeHasItsLanes) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    const auto maxima = [&, type = dtype](int64_t axis) {
      return WorkloadOf({.name = "maxima",
                         .op = "reduce_max",
                         .inputs = {{256, 192}},
                         .attributes = {{"axes", Ints{axis}}},
                         .dtype = type});
    };
    const std::string rows = DerivedText(maxima(1), kRuleTarget, "nest/sums/SRUS");
    EXPECT_THAT(rows, HasSubstr(R"(
  split@1 b1.i2->(b1_ko,b1_kl) size=$sums
  rfactor@1 b1->b1_lanes loop=b1_kl
)"));
    EXPECT_THAT(rows,
                HasSubstr(absl::StrFormat("\n  vectorize@1 b1_lanes.b1_kl lanes=%d\n", lanes)));
    EXPECT_THAT(DerivedText(maxima(0), kRuleTarget, "nest/i1/SRUS"),
                HasSubstr(absl::StrFormat("\n  vectorize@1 b1_s0_1 lanes=%d\n", lanes)));
  }
}

}  // namespace
}  // namespace burnish
