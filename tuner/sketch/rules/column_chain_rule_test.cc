// Softmax and argmax along an axis that is not the fastest, column by column.
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"
#include "tuner/sketch/sketch_text.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program OverChannels(const char* op, DType dtype, Ints shape = {1, 5, 3, 37}) {
  return WorkloadOf({.name = op,
                     .op = op,
                     .inputs = {std::move(shape)},
                     .attributes = {{"axis", int64_t{1}}},
                     .dtype = dtype});
}

TEST(ColumnChainRuleTest, SoftmaxOfChannelsOfFloats) {
  EXPECT_EQ(TestedDrafts("column_chain", OverChannels("softmax", DType::kF32), kTarget),
            R"(column_chain
  width = 8 16 32
  split@1 b1.i3->(b1_vo,b1_vi) size=$width
  reorder@1 (b1.i0,b1.i2,b1_vo,b1.i1,b1_vi)
  fuse@1 (b1.i0,b1.i2,b1_vo)->b1_r
  vectorize@1 b1_vi lanes=8
  compute_at@1 b4->(b4_i0,b4_i1,b4_i2,b4_i3) inside=b1_r
  reorder@1 (b4.i4,b4_i3)
  stage@1 b4->b4_acc inside=b4_i2 scope=register
  vectorize@1 b4_i3 lanes=8
  compute_at@1 b3->(b3_i0,b3_i1,b3_i2,b3_i3) inside=b1_r
  vectorize@1 b3_i3 lanes=8
  compute_at@1 b2->(b2_i0,b2_i1,b2_i2,b2_i3) inside=b1_r
  reorder@1 (b2.i4,b2_i3)
  stage@1 b2->b2_acc inside=b2_i2 scope=register
  vectorize@1 b2_i3 lanes=8
column_chain/ahead
  width = 8 16 32
  split@1 b1.i3->(b1_vo,b1_vi) size=$width
  reorder@1 (b1.i0,b1.i2,b1_vo,b1.i1,b1_vi)
  fuse@1 (b1.i0,b1.i2,b1_vo)->b1_r
  vectorize@1 b1_vi lanes=8
  compute_at@1 b4->(b4_i0,b4_i1,b4_i2,b4_i3) inside=b1_r
  reorder@1 (b4.i4,b4_i3)
  stage@1 b4->b4_acc inside=b4_i2 scope=register
  vectorize@1 b4_i3 lanes=8
  compute_at@1 b3->(b3_i0,b3_i1,b3_i2,b3_i3) inside=b1_r
  vectorize@1 b3_i3 lanes=8
  compute_at@1 b2->(b2_i0,b2_i1,b2_i2,b2_i3) inside=b1_r
  reorder@1 (b2.i4,b2_i3)
  stage@1 b2->b2_acc inside=b2_i2 scope=register
  vectorize@1 b2_i3 lanes=8
  prefetch@1 b0 next=b1_r at=b1.i1 to=L1
)");
}

TEST(ColumnChainRuleTest, SoftmaxOfChannelsOfDoubles) {
  EXPECT_EQ(TestedDrafts("column_chain", OverChannels("softmax", DType::kF64), kTarget),
            R"(column_chain
  width = 4 8 16
  split@1 b1.i3->(b1_vo,b1_vi) size=$width
  reorder@1 (b1.i0,b1.i2,b1_vo,b1.i1,b1_vi)
  fuse@1 (b1.i0,b1.i2,b1_vo)->b1_r
  vectorize@1 b1_vi lanes=4
  compute_at@1 b4->(b4_i0,b4_i1,b4_i2,b4_i3) inside=b1_r
  reorder@1 (b4.i4,b4_i3)
  stage@1 b4->b4_acc inside=b4_i2 scope=register
  vectorize@1 b4_i3 lanes=4
  compute_at@1 b3->(b3_i0,b3_i1,b3_i2,b3_i3) inside=b1_r
  vectorize@1 b3_i3 lanes=4
  compute_at@1 b2->(b2_i0,b2_i1,b2_i2,b2_i3) inside=b1_r
  reorder@1 (b2.i4,b2_i3)
  stage@1 b2->b2_acc inside=b2_i2 scope=register
  vectorize@1 b2_i3 lanes=4
column_chain/ahead
  width = 4 8 16
  split@1 b1.i3->(b1_vo,b1_vi) size=$width
  reorder@1 (b1.i0,b1.i2,b1_vo,b1.i1,b1_vi)
  fuse@1 (b1.i0,b1.i2,b1_vo)->b1_r
  vectorize@1 b1_vi lanes=4
  compute_at@1 b4->(b4_i0,b4_i1,b4_i2,b4_i3) inside=b1_r
  reorder@1 (b4.i4,b4_i3)
  stage@1 b4->b4_acc inside=b4_i2 scope=register
  vectorize@1 b4_i3 lanes=4
  compute_at@1 b3->(b3_i0,b3_i1,b3_i2,b3_i3) inside=b1_r
  vectorize@1 b3_i3 lanes=4
  compute_at@1 b2->(b2_i0,b2_i1,b2_i2,b2_i3) inside=b1_r
  reorder@1 (b2.i4,b2_i3)
  stage@1 b2->b2_acc inside=b2_i2 scope=register
  vectorize@1 b2_i3 lanes=4
  prefetch@1 b0 next=b1_r at=b1.i1 to=L1
)");
}

// Indices are wider than what they are found in: the last block has lanes of its own.
TEST(ColumnChainRuleTest, ArgmaxOfChannelsOfBytes) {
  EXPECT_EQ(TestedDrafts("column_chain", OverChannels("argmax", DType::kI8), kTarget),
            R"(column_chain
  width = 32
  split@1 b1.i3->(b1_vo,b1_vi) size=$width
  reorder@1 (b1.i0,b1.i1,b1.i2,b1_vo,b1.i4,b1_vi)
  fuse@1 (b1.i0,b1.i1,b1.i2,b1_vo)->b1_r
  stage@1 b1->b1_acc inside=b1_r scope=register
  vectorize@1 b1_vi lanes=4
  compute_at@1 b2->(b2_i0,b2_i1,b2_i2,b2_i3) inside=b1_r
  reorder@1 (b2.i4,b2_i3)
  stage@1 b2->b2_acc inside=b2_i2 scope=register
  vectorize@1 b2_i3 lanes=32
column_chain/ahead
  width = 32
  split@1 b1.i3->(b1_vo,b1_vi) size=$width
  reorder@1 (b1.i0,b1.i1,b1.i2,b1_vo,b1.i4,b1_vi)
  fuse@1 (b1.i0,b1.i1,b1.i2,b1_vo)->b1_r
  stage@1 b1->b1_acc inside=b1_r scope=register
  vectorize@1 b1_vi lanes=4
  compute_at@1 b2->(b2_i0,b2_i1,b2_i2,b2_i3) inside=b1_r
  reorder@1 (b2.i4,b2_i3)
  stage@1 b2->b2_acc inside=b2_i2 scope=register
  vectorize@1 b2_i3 lanes=32
  prefetch@1 b0 next=b1_r at=b1.i4 to=L1
)");
}

TEST(ColumnChainRuleTest, IsNotForRowsOrSingleBlocks) {
  EXPECT_THAT(DraftsOf("column_chain", OverChannels("softmax", DType::kF32, {5, 37}), kTarget),
              ::testing::IsEmpty());
  const Program sums = WorkloadOf(
      {.name = "sums", .op = "reduce_sum", .inputs = {{5, 37}}, .attributes = {{"axes", Ints{0}}}});
  EXPECT_THAT(DraftsOf("column_chain", sums, kTarget), ::testing::IsEmpty());
}

// Columns that are half a page or more go in runs, too. A tile that is short ends each row.
TEST(ColumnChainRuleTest, RunsOfColumnsBlockByBlock) {
  const Program argmax = OverChannels("argmax", DType::kF32, {2, 5, 3, 257});
  const std::vector<Draft> drafts = DraftsOf("column_chain", argmax, kTarget);
  ASSERT_THAT(NamesOf(drafts),
              ElementsAre("column_chain", "column_chain/ahead", "column_chain/runs/ahead"));
  EXPECT_EQ(ToText(SketchOf(drafts[2])), R"(column_chain/runs/ahead
  run = 256
  width = 32
  split@1 b1.i3->(b1_xo,b1_xi) size=$run
  split@1 b1_xi->(b1_vo,b1_vi) size=$width
  reorder@1 (b1.i0,b1.i1,b1.i2,b1_xo,b1_vo,b1.i4,b1_vi)
  fuse@1 (b1.i0,b1.i1,b1.i2,b1_xo)->b1_r
  stage@1 b1->b1_acc inside=b1_vo scope=register
  vectorize@1 b1_vi lanes=4
  compute_at@1 b2->(b2_i0,b2_i1,b2_i2,b2_i3) inside=b1_r
  split@1 b2_i3->(b2_wo,b2_wi) size=$width
  reorder@1 (b2.i4,b2_wi)
  stage@1 b2->b2_acc inside=b2_wo scope=register
  vectorize@1 b2_wi lanes=8
  prefetch@1 b0 next=b1_r at=b1.i4 to=L2
)");
  // Which checks what they compute, as of a softmax, whose last block walks channels.
  TestedDrafts("column_chain", argmax, kTarget);
  TestedDrafts("column_chain", OverChannels("softmax", DType::kF32, {2, 5, 3, 257}), kTarget);
}

}  // namespace
}  // namespace burnish
