// Reductions of windows.
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program Depthwise(DType dtype) {
  return WorkloadOf({.name = "depthwise",
                     .op = "conv",
                     .inputs = {{1, 5, 6, 40}, {40, 1, 3, 3}},
                     .attributes = {{"channels_last", int64_t{1}}, {"group", int64_t{40}}},
                     .dtype = dtype});
}

TEST(WindowRuleTest, TilesOfPixelsOfFloats) {
  EXPECT_EQ(TestedDrafts("window", Depthwise(DType::kF32), kTarget), R"(window
  width = 8 16 32
  pixels = 1 2 4
  require $width // 8 * ($pixels + 1) + 2 <= 16
  fuse@1 (b2.i0,b2.i1)->b2_r
  split@1 b2.i2->(b2_xo,b2_xi) max=$pixels
  split@1 b2.i3->(b2_vo,b2_vi) size=$width
  reorder@1 (b2_r,b2_xo,b2_vo,b2.i4,b2.i5,b2_xi,b2_vi)
  stage@1 b2->b2_acc inside=b2_vo scope=register
  relayout@1 b1->b2_packed0 dims=(b2_vo,b2.i4,b2.i5,b2_vi)
  precompute@1 b2_packed0
  unroll@1 b2.i5
  unroll@1 b2.i4
  unroll@1 b2_xi
  vectorize@1 b2_vi lanes=8
)");
}

TEST(WindowRuleTest, TilesOfPixelsOfDoubles) {
  EXPECT_EQ(TestedDrafts("window", Depthwise(DType::kF64), kTarget), R"(window
  width = 4 8 16
  pixels = 1 2 4
  require $width // 4 * ($pixels + 1) + 2 <= 16
  fuse@1 (b2.i0,b2.i1)->b2_r
  split@1 b2.i2->(b2_xo,b2_xi) max=$pixels
  split@1 b2.i3->(b2_vo,b2_vi) size=$width
  reorder@1 (b2_r,b2_xo,b2_vo,b2.i4,b2.i5,b2_xi,b2_vi)
  stage@1 b2->b2_acc inside=b2_vo scope=register
  relayout@1 b1->b2_packed0 dims=(b2_vo,b2.i4,b2.i5,b2_vi)
  precompute@1 b2_packed0
  unroll@1 b2.i5
  unroll@1 b2.i4
  unroll@1 b2_xi
  vectorize@1 b2_vi lanes=4
)");
}

Program Maximum(DType dtype) {
  return WorkloadOf({.name = "max_pool",
                     .op = "max_pool",
                     .inputs = {{1, 5, 6, 70}},
                     .attributes = {{"channels_last", int64_t{1}}, {"kernel_shape", Ints{3, 3}}},
                     .dtype = dtype});
}

TEST(WindowRuleTest, TilesOfPixelsOfBytes) {
  EXPECT_EQ(TestedDrafts("window", Maximum(DType::kI8), kTarget), R"(window
  width = 32 64
  pixels = 1 2 4
  require $width // 32 * ($pixels + 1) + 2 <= 16
  fuse@1 (b1.i0,b1.i1)->b1_r
  split@1 b1.i2->(b1_xo,b1_xi) max=$pixels
  split@1 b1.i3->(b1_vo,b1_vi) size=$width
  reorder@1 (b1_r,b1_xo,b1_vo,b1.i4,b1.i5,b1_xi,b1_vi)
  stage@1 b1->b1_acc inside=b1_vo scope=register
  unroll@1 b1.i5
  unroll@1 b1.i4
  unroll@1 b1_xi
  vectorize@1 b1_vi lanes=32
)");
}

// Channels first: lanes along a row of pixels, which a window by twos walks by steps.
Program HalvingPool(DType dtype, Ints pads = {}) {
  return WorkloadOf({.name = "halving_pool",
                     .op = "max_pool",
                     .inputs = {{1, 5, 12, 70}},
                     .attributes = {{"kernel_shape", Ints{2, 2}},
                                    {"strides", Ints{2, 2}},
                                    {"pads", pads.empty() ? Ints{0, 0, 0, 0} : std::move(pads)}},
                     .dtype = dtype});
}

TEST(WindowRuleTest, RowsByStepsOfFloats) {
  EXPECT_EQ(TestedDrafts("stepped_window", HalvingPool(DType::kF32), kTarget), R"(stepped_window
  width = 8 16 32
  pixels = 1 2 4
  require $width // 8 * ($pixels + 1) + 2 <= 16
  fuse@1 (b1.i0,b1.i1)->b1_r
  split@1 b1.i2->(b1_xo,b1_xi) max=$pixels
  split@1 b1.i3->(b1_vo,b1_vi) size=$width
  reorder@1 (b1_r,b1_xo,b1_vo,b1.i4,b1.i5,b1_xi,b1_vi)
  stage@1 b1->b1_acc inside=b1_vo scope=register
  unroll@1 b1.i5
  unroll@1 b1.i4
  unroll@1 b1_xi
  vectorize@1 b1_vi lanes=8
)");
}

TEST(WindowRuleTest, RowsByStepsOfBytes) {
  EXPECT_EQ(TestedDrafts("stepped_window", HalvingPool(DType::kI8), kTarget), R"(stepped_window
  width = 32
  pixels = 1 2 4
  require $width // 32 * ($pixels + 1) + 2 <= 16
  fuse@1 (b1.i0,b1.i1)->b1_r
  split@1 b1.i2->(b1_xo,b1_xi) max=$pixels
  split@1 b1.i3->(b1_vo,b1_vi) size=$width
  reorder@1 (b1_r,b1_xo,b1_vo,b1.i4,b1.i5,b1_xi,b1_vi)
  stage@1 b1->b1_acc inside=b1_vo scope=register
  unroll@1 b1.i5
  unroll@1 b1.i4
  unroll@1 b1_xi
  vectorize@1 b1_vi lanes=32
)");
}

// Lanes at the ends of a row see padding, as code that is cut there does.
TEST(WindowRuleTest, PaddedRowsOfDoubles) {
  EXPECT_EQ(TestedDrafts("stepped_window", HalvingPool(DType::kF64, {1, 1, 1, 1}), kTarget),
            R"(stepped_window
  width = 4 8 16
  pixels = 1 2 4
  require $width // 4 * ($pixels + 1) + 2 <= 16
  fuse@1 (b1.i0,b1.i1)->b1_r
  split@1 b1.i2->(b1_xo,b1_xi) max=$pixels
  split@1 b1.i3->(b1_vo,b1_vi) size=$width
  reorder@1 (b1_r,b1_xo,b1_vo,b1.i4,b1.i5,b1_xi,b1_vi)
  stage@1 b1->b1_acc inside=b1_vo scope=register
  unroll@1 b1.i5
  unroll@1 b1.i4
  unroll@1 b1_xi
  vectorize@1 b1_vi lanes=4
)");
}

TEST(WindowRuleTest, LongStepsAreLeft) {
  const Program sums = WorkloadOf({.name = "row_sums",
                                   .op = "reduce_sum",
                                   .inputs = {{300, 400}},
                                   .attributes = {{"axes", Ints{1}}},
                                   .dtype = DType::kF32});
  EXPECT_EQ(TestedDrafts("stepped_window", sums, kTarget), "");
}

}  // namespace
}  // namespace burnish
