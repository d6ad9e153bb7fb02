// Reductions along memory: rows of a few axes, and parts of a row for each worker.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

// Pixels of each channel: two axes that lie one behind the other, of an odd size.
Program PixelSums(DType dtype) {
  return WorkloadOf({.name = "pixels",
                     .op = "reduce_sum",
                     .inputs = {{1, 6, 9, 9}},
                     .attributes = {{"axes", Ints{2, 3}}},
                     .dtype = dtype});
}

Program FullSum(DType dtype) {
  return WorkloadOf({.name = "all",
                     .op = "reduce_sum",
                     .inputs = {{3, 401}},
                     .attributes = {{"axes", Ints{0, 1}}, {"keepdims", int64_t{0}}},
                     .dtype = dtype});
}

TEST(SegmentReductionRuleTest, RowsOfFloats) {
  EXPECT_EQ(TestedDrafts("segment_reduction", PixelSums(DType::kF32), kTarget),
            R"(segment_reduction/rows
  sums = 8 16 32
  rows = 1
  fuse@1 (b1.i4,b1.i5)->b1_q
  split@1 b1_q->(b1_ko,b1_ki) size=$sums tail=guard
  rfactor@1 b1->b1_lanes loop=b1_ki
  fuse@1 (b1_lanes.b1.i0,b1_lanes.b1.i1,b1_lanes.b1.i2,b1_lanes.b1.i3)->b1_r
  split@1 b1_r->(b1_rb,b1_r2) max=$rows
  stage@1 b1->b1_sum inside=b1_r2 scope=register
  vectorize@1 b1_lanes.b1_ki lanes=8
  compute_at@1 b1_lanes->(b1_l0,b1_l1,b1_l2,b1_l3,b1_l4) inside=b1_rb
  stage@1 b1_lanes->b1_acc inside=b1_l3 scope=register
  reorder@1 (b1_ko,b1_l4)
  unroll@1 b1_ko
  vectorize@1 b1_l4 lanes=8
)");
}

TEST(SegmentReductionRuleTest, RowsOfDoubles) {
  EXPECT_EQ(TestedDrafts("segment_reduction", PixelSums(DType::kF64), kTarget),
            R"(segment_reduction/rows
  sums = 4 8 16 32
  rows = 1
  fuse@1 (b1.i4,b1.i5)->b1_q
  split@1 b1_q->(b1_ko,b1_ki) size=$sums tail=guard
  rfactor@1 b1->b1_lanes loop=b1_ki
  fuse@1 (b1_lanes.b1.i0,b1_lanes.b1.i1,b1_lanes.b1.i2,b1_lanes.b1.i3)->b1_r
  split@1 b1_r->(b1_rb,b1_r2) max=$rows
  stage@1 b1->b1_sum inside=b1_r2 scope=register
  vectorize@1 b1_lanes.b1_ki lanes=4
  compute_at@1 b1_lanes->(b1_l0,b1_l1,b1_l2,b1_l3,b1_l4) inside=b1_rb
  stage@1 b1_lanes->b1_acc inside=b1_l3 scope=register
  reorder@1 (b1_ko,b1_l4)
  vectorize@1 b1_l4 lanes=4
)");
}

TEST(SegmentReductionRuleTest, RowsOfBytes) {
  EXPECT_EQ(TestedDrafts("segment_reduction", PixelSums(DType::kI8), kTarget),
            R"(segment_reduction/rows
  sums = 32
  rows = 1
  fuse@1 (b1.i4,b1.i5)->b1_q
  split@1 b1_q->(b1_ko,b1_ki) size=$sums tail=guard
  rfactor@1 b1->b1_lanes loop=b1_ki
  fuse@1 (b1_lanes.b1.i0,b1_lanes.b1.i1,b1_lanes.b1.i2,b1_lanes.b1.i3)->b1_r
  split@1 b1_r->(b1_rb,b1_r2) max=$rows
  stage@1 b1->b1_sum inside=b1_r2 scope=register
  vectorize@1 b1_lanes.b1_ki lanes=32
  compute_at@1 b1_lanes->(b1_l0,b1_l1,b1_l2,b1_l3,b1_l4) inside=b1_rb
  stage@1 b1_lanes->b1_acc inside=b1_l3 scope=register
  reorder@1 (b1_ko,b1_l4)
  unroll@1 b1_ko
  vectorize@1 b1_l4 lanes=32
)");
}

TEST(SegmentReductionRuleTest, PartsOfAFullSum) {
  EXPECT_EQ(TestedDrafts("segment_reduction", FullSum(DType::kF32), kTarget),
            R"(segment_reduction/parts
  sums = 8 16 32 64
  fuse@1 (b1.i0,b1.i1)->b1_q
  split@1 b1_q->(b1_w,b1_q1) size=192 tail=guard
  split@1 b1_q1->(b1_ko,b1_ki) size=$sums
  rfactor@1 b1->b1_parts loop=b1_w
  rfactor@1 b1_parts->b1_lanes loop=b1_ki
  parallel@1 b1_lanes.b1_w
  stage@1 b1_parts->b1_sum inside=b1_lanes.b1_w scope=register
  vectorize@1 b1_lanes.b1_ki lanes=8
  compute_at@1 b1_lanes->(b1_l0,b1_l1) inside=b1_lanes.b1_w
  stage@1 b1_lanes->b1_acc inside=b1_l0 scope=register
  reorder@1 (b1_ko,b1_l1)
  vectorize@1 b1_l1 lanes=8
)");
}

// The axes in front of the segment are steps like any other: sums by channel over a batch.
TEST(SegmentReductionRuleTest, AxesInFrontOfTheSegmentStayLoops) {
  const Program batch = WorkloadOf({.name = "batch",
                                    .op = "reduce_sum",
                                    .inputs = {{3, 5, 4, 8}},
                                    .attributes = {{"axes", Ints{0, 2, 3}}},
                                    .dtype = DType::kF64});
  const std::string text = TestedDrafts("segment_reduction", batch, kTarget);
  EXPECT_THAT(text, ::testing::HasSubstr("fuse@1 (b1.i5,b1.i6)->b1_q"));
  EXPECT_THAT(text, ::testing::HasSubstr("reorder@1 (b1.i4,b1_ko,b1_l4)"));
}

TEST(SegmentReductionRuleTest, AnAxisOfOneElementBehindTheSegmentHasNoPart) {
  const Program points = WorkloadOf({.name = "points",
                                     .op = "reduce_max",
                                     .inputs = {{2, 3, 50, 1}},
                                     .attributes = {{"axes", Ints{2, 3}}},
                                     .dtype = DType::kF64});
  const std::string text = TestedDrafts("segment_reduction", points, kTarget);
  EXPECT_THAT(text, ::testing::HasSubstr("reorder@1 (b1.i5,b1.i4)"));
  EXPECT_THAT(text, ::testing::HasSubstr("split@1 b1.i4->(b1_ko,b1_ki)"));
}

TEST(SegmentReductionRuleTest, IsNotForWhatLiesApart) {
  const auto drafts = [](const std::vector<int64_t>& shape, int64_t axis) {
    return NamesOf(DraftsOf("segment_reduction",
                            WorkloadOf({.name = "apart",
                                        .op = "reduce_sum",
                                        .inputs = {shape},
                                        .attributes = {{"axes", Ints{axis}}}}),
                            kTarget));
  };
  EXPECT_THAT(drafts({64, 128}, 0), ::testing::IsEmpty());  // Outputs lie side by side.
  EXPECT_THAT(drafts({64, 12}, 1), ::testing::IsEmpty());   // Too short: a vector and a half.
  EXPECT_THAT(drafts({64, 16}, 1), ::testing::ElementsAre("segment_reduction/rows"));
}

}  // namespace
}  // namespace burnish
