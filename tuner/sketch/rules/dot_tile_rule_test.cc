// Tiles of dot products.
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

// Three output channels: no vector of them, but of the window's channels.
Program ToColours(DType dtype) {
  return WorkloadOf({.name = "colours",
                     .op = "conv",
                     .inputs = {{1, 6, 5, 8}, {3, 8, 3, 3}, {3}},
                     .attributes = {{"channels_last", int64_t{1}}},
                     .relu = true,
                     .dtype = dtype});
}

// A matrix by another's transpose, both made at run time.
Program Products(DType dtype, Ints a, Ints b, int64_t trans_b) {
  return WorkloadOf({.name = "matmul",
                     .op = "matmul",
                     .inputs = {std::move(a), std::move(b)},
                     .attributes = {{"trans_b", trans_b}},
                     .all_inputs = true,
                     .dtype = dtype});
}

TEST(DotTileRuleTest, FewOutputChannelsOfFloats) {
  EXPECT_EQ(TestedDrafts("dot_tile", ToColours(DType::kF32), kTarget), R"(dot_tile
  mr = 1 2 3
  nr = 1 2 3
  require $mr * $nr + min($mr, $nr) + 1 <= 16
  fuse@1 (b3.i5,b3.i6)->b3_q
  split@1 b3_q->(b3_qo,b3_qi) size=8
  rfactor@1 b3->b3_lanes loop=b3_qi
  relayout@1 b1->b3_packed dims=(b3.i3,b3.i4,b3_qo,b3_qi)
  precompute@1 b3_packed
  split@1 b3_lanes.b3.i2->(b3_b2,b3_t2) max=32
  split@1 b3_lanes.b3.i3->(b3_b3,b3_t3) max=32
  reorder@1 (b3_lanes.b3.i0,b3_lanes.b3.i1,b3_b2,b3_b3,b3_t2,b3_t3)
  fuse@1 (b3_lanes.b3.i0,b3_lanes.b3.i1,b3_b2,b3_b3)->b3_r
  split@1 b3_r->(b3_p,b3_r1) parts=2
  parallel@1 b3_p
  stage@1 b3->b3_sum inside=b3_t3 scope=register
  vectorize@1 b3_lanes.b3_qi lanes=8
  compute_at@1 b3_lanes->(b3_l0,b3_l1,b3_l2,b3_l3,b3_l4) inside=b3_r1
  split@1 b3_l2->(b3_o2,b3_i2) max=$mr
  split@1 b3_l3->(b3_o3,b3_i3) max=$nr
  reorder@1 (b3_l0,b3_l1,b3_o2,b3_o3,b3.i4,b3_qo,b3_i2,b3_i3,b3_l4)
  stage@1 b3_lanes->b3_acc inside=b3_o3 scope=register
  unroll@1 b3_i2
  unroll@1 b3_i3
  vectorize@1 b3_l4 lanes=8
)");
}

TEST(DotTileRuleTest, FewOutputChannelsOfDoubles) {
  EXPECT_EQ(TestedDrafts("dot_tile", ToColours(DType::kF64), kTarget), R"(dot_tile
  mr = 1 2 3
  nr = 1 2 3
  require $mr * $nr + min($mr, $nr) + 1 <= 16
  fuse@1 (b3.i5,b3.i6)->b3_q
  split@1 b3_q->(b3_qo,b3_qi) size=4
  rfactor@1 b3->b3_lanes loop=b3_qi
  relayout@1 b1->b3_packed dims=(b3.i3,b3.i4,b3_qo,b3_qi)
  precompute@1 b3_packed
  split@1 b3_lanes.b3.i2->(b3_b2,b3_t2) max=32
  split@1 b3_lanes.b3.i3->(b3_b3,b3_t3) max=32
  reorder@1 (b3_lanes.b3.i0,b3_lanes.b3.i1,b3_b2,b3_b3,b3_t2,b3_t3)
  fuse@1 (b3_lanes.b3.i0,b3_lanes.b3.i1,b3_b2,b3_b3)->b3_r
  split@1 b3_r->(b3_p,b3_r1) parts=2
  parallel@1 b3_p
  stage@1 b3->b3_sum inside=b3_t3 scope=register
  vectorize@1 b3_lanes.b3_qi lanes=4
  compute_at@1 b3_lanes->(b3_l0,b3_l1,b3_l2,b3_l3,b3_l4) inside=b3_r1
  split@1 b3_l2->(b3_o2,b3_i2) max=$mr
  split@1 b3_l3->(b3_o3,b3_i3) max=$nr
  reorder@1 (b3_l0,b3_l1,b3_o2,b3_o3,b3.i4,b3_qo,b3_i2,b3_i3,b3_l4)
  stage@1 b3_lanes->b3_acc inside=b3_o3 scope=register
  unroll@1 b3_i2
  unroll@1 b3_i3
  vectorize@1 b3_l4 lanes=4
)");
}

// Eight channels of three taps are less than two vectors of bytes: rows of a product are longer.
TEST(DotTileRuleTest, RowsByRowsOfBytes) {
  EXPECT_EQ(TestedDrafts("dot_tile", Products(DType::kI8, {9, 70}, {35, 70}, 1), kTarget),
            R"(dot_tile
  mr = 1 2 3 4 6
  nr = 1 2 3 4 6
  require $mr * $nr + min($mr, $nr) + 1 <= 16
  split@1 b2.i2->(b2_qo,b2_qi) size=32 tail=guard
  rfactor@1 b2->b2_lanes loop=b2_qi
  split@1 b2_lanes.b2.i0->(b2_b0,b2_t0) max=32
  split@1 b2_lanes.b2.i1->(b2_b1,b2_t1) max=32
  reorder@1 (b2_b0,b2_b1,b2_t0,b2_t1)
  fuse@1 (b2_b0,b2_b1)->b2_r
  split@1 b2_r->(b2_p,b2_r1) parts=2
  parallel@1 b2_p
  stage@1 b2->b2_sum inside=b2_t1 scope=register
  vectorize@1 b2_lanes.b2_qi lanes=32
  compute_at@1 b2_lanes->(b2_l0,b2_l1,b2_l2) inside=b2_r1
  split@1 b2_l0->(b2_o0,b2_i0) max=$mr
  split@1 b2_l1->(b2_o1,b2_i1) max=$nr
  reorder@1 (b2_o0,b2_o1,b2_qo,b2_i0,b2_i1,b2_l2)
  stage@1 b2_lanes->b2_acc inside=b2_o1 scope=register
  unroll@1 b2_i0
  unroll@1 b2_i1
  vectorize@1 b2_l2 lanes=32
)");
}

// One output channel: pixels are the columns, the weights the side that is laid out anew. The last
// kernel axis of one element is no part of the segment.
TEST(DotTileRuleTest, OneOutputChannelSharesItsWeightsAmongPixels) {
  const Program grey = WorkloadOf({.name = "grey",
                                   .op = "conv",
                                   .inputs = {{1, 5, 6, 12}, {1, 12, 3, 1}},
                                   .attributes = {{"channels_last", int64_t{1}}},
                                   .dtype = DType::kF64});
  const std::string text = TestedDrafts("dot_tile", grey, kTarget);
  EXPECT_THAT(text, ::testing::HasSubstr("mr = 1\n  nr = 1 2 3 4 6\n"));
  EXPECT_THAT(text,
              ::testing::HasSubstr("relayout@1 b1->b2_packed dims=(b2.i4,b2.i5,b2_qo,b2_qi)"));
}

TEST(DotTileRuleTest, DeepReductionsGoInBlocks) {
  const Program deep = Products(DType::kF64, {3, 1027}, {4, 1027}, 1);
  EXPECT_THAT(TestedDrafts("dot_tile", deep, kTarget),
              ::testing::HasSubstr("split@1 b2_qo->(b2_kb,b2_k1) size=128"));
}

// A Gram matrix: a worker that had a block of it would read most of both sides.
TEST(DotTileRuleTest, WorkersShareOutLongReductionsOfShortOutputs) {
  const auto names = [](Ints a, Ints b, const char* target) {
    return NamesOf(
        DraftsOf("dot_tile", Products(DType::kF32, std::move(a), std::move(b), 1), target));
  };
  EXPECT_THAT(names({64, 2048}, {64, 2048}, kTarget),
              ::testing::ElementsAre("dot_tile", "dot_tile/parts"));
  EXPECT_THAT(names({64, 2047}, {64, 2047}, kTarget), ::testing::ElementsAre("dot_tile"));
  EXPECT_THAT(names({64, 2048}, {65, 2048}, kTarget), ::testing::ElementsAre("dot_tile"));
  EXPECT_THAT(names({64, 2048}, {64, 2048}, "cpu:arch=znver3,threads=1"),
              ::testing::ElementsAre("dot_tile"));
}

// The sketch in parts alone. The last part is the shorter one, and no whole vectors.
std::string PartsOf(DType dtype) {
  const std::string text =
      TestedDrafts("dot_tile", Products(dtype, {3, 2101}, {4, 2101}, 1), kTarget);
  const size_t begin = text.find("dot_tile/parts");
  return begin == std::string::npos ? "" : text.substr(begin);
}

TEST(DotTileRuleTest, PartsOfFloats) {
  const std::string text = PartsOf(DType::kF32);
  EXPECT_THAT(text, ::testing::HasSubstr("split@1 b2.i2->(b2_w,b2_q1) size=1056 tail=guard\n"
                                         "  split@1 b2_q1->(b2_qo,b2_qi) size=8\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("split@1 b2_qo->(b2_kb,b2_k1) size=64\n"));
}

TEST(DotTileRuleTest, PartsOfBytes) {
  const std::string text = PartsOf(DType::kI8);
  EXPECT_THAT(text, ::testing::HasSubstr("split@1 b2.i2->(b2_w,b2_q1) size=1056 tail=guard\n"
                                         "  split@1 b2_q1->(b2_qo,b2_qi) size=32\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("split@1 b2_qo->(b2_kb,b2_k1) size=16\n"));
}

TEST(DotTileRuleTest, PartsOfDoubles) {
  EXPECT_EQ(PartsOf(DType::kF64), R"(dot_tile/parts
  mr = 1 2 3
  nr = 1 2 3 4
  require $mr * $nr + min($mr, $nr) + 1 <= 16
  split@1 b2.i2->(b2_w,b2_q1) size=1052 tail=guard
  split@1 b2_q1->(b2_qo,b2_qi) size=4
  rfactor@1 b2->b2_parts loop=b2_w
  rfactor@1 b2_parts->b2_lanes loop=b2_qi
  split@1 b2_lanes.b2.i0->(b2_b0,b2_t0) max=64
  split@1 b2_lanes.b2.i1->(b2_b1,b2_t1) max=64
  reorder@1 (b2_lanes.b2_w,b2_b0,b2_b1,b2_t0,b2_t1)
  fuse@1 (b2_lanes.b2_w,b2_b0,b2_b1)->b2_r
  split@1 b2_r->(b2_p,b2_r1) parts=2
  parallel@1 b2_p
  stage@1 b2_parts->b2_sum inside=b2_t1 scope=register
  vectorize@1 b2_lanes.b2_qi lanes=4
  compute_at@1 b2_lanes->(b2_l0,b2_l1,b2_l2,b2_l3) inside=b2_r1
  split@1 b2_l0->(b2_o0,b2_i0) max=$mr
  split@1 b2_l1->(b2_o1,b2_i1) max=$nr
  split@1 b2_qo->(b2_kb,b2_k1) size=128
  reorder@1 (b2_kb,b2_l2,b2_o0,b2_o1,b2_k1,b2_i0,b2_i1,b2_l3)
  stage@1 b2_lanes->b2_acc inside=b2_o1 scope=register
  unroll@1 b2_i0
  unroll@1 b2_i1
  vectorize@1 b2_l3 lanes=4
  fuse@1 (b2_parts.b2.i0,b2_parts.b2.i1)->b2_c
  split@1 b2_c->(b2_cv,b2_ci) size=4
  reorder@1 (b2_cv,b2_parts.b2_w,b2_ci)
  stage@1 b2->b2_total inside=b2_cv scope=register
  vectorize@1 b2_ci lanes=4
)");
}

TEST(DotTileRuleTest, FewRunTimeColumnsArePackedForManyRows) {
  const auto names = [](int64_t rows) {
    return NamesOf(DraftsOf("dot_tile", Products(DType::kF32, {rows, 32}, {32, 3}, 0), kTarget));
  };
  EXPECT_THAT(names(63), ::testing::IsEmpty());
  EXPECT_THAT(names(64), ::testing::ElementsAre("dot_tile"));
  EXPECT_THAT(TestedDrafts("dot_tile", Products(DType::kF64, {64, 32}, {32, 3}, 0), kTarget),
              ::testing::HasSubstr("relayout@1 b1->b2_packed"));
}

TEST(DotTileRuleTest, IsNotForWhatFillsVectorsOrLiesApart) {
  const auto drafts = [](const Program& program) { return DraftsOf("dot_tile", program, kTarget); };
  // Eight channels are a vector of floats.
  EXPECT_THAT(drafts(WorkloadOf({.name = "eight",
                                 .op = "conv",
                                 .inputs = {{1, 6, 5, 8}, {8, 8, 3, 3}},
                                 .attributes = {{"channels_last", int64_t{1}}}})),
              ::testing::IsEmpty());
  EXPECT_THAT(drafts(Products(DType::kF32, {9, 70}, {70, 35}, 0)), ::testing::IsEmpty());
}

}  // namespace
}  // namespace burnish
