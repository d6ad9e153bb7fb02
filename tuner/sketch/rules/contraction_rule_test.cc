// Register tiles of matrix products.
#include <algorithm>
#include <string>

#include "compiler/target/test_device_models.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"
#include "tuner/sketch/sketch_text.h"

namespace burnish {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program Product(DType dtype) {
  return WorkloadOf({.name = "matmul",
                     .op = "matmul",
                     .inputs = {{3, 12}, {12, 80}},
                     .relu = true,
                     .dtype = dtype});
}

TEST(ContractionRuleTest, TilesOfSumsOfFloats) {
  EXPECT_EQ(TestedDrafts("contraction", Product(DType::kF32), kTarget), R"(contraction/panels
  mr = 1 2 3
  nr = 8 16 24 32
  ku = 1 2 4 8
  prefetch = choice 0 1
  require $mr * ($nr // 8) + min($mr, $nr // 8) + 1 <= 16
  require 2 <= (80 + ($nr - 1)) // $nr
  require $nr // 8 <= 1 || ($nr // 8 - 1) * 8 < 40
  require 8 <= $mr * ($nr // 8) || (3 <= $mr || 4 <= $nr // 8)
  reorder@1 (b2.i0,b2.i1,b2.i2)
  split@1 b2.i1->(b2_p,b2_v1) parts=2
  split@1 b2_v1->(b2_vp,b2_vi) size=$nr
  split@1 b2.i2->(b2_qo,b2_qi) size=$ku
  split@1 b2.i0->(b2_mt,b2_mi) max=$mr
  reorder@1 (b2_p,b2_vp,b2_mt,b2_qo,b2_qi,b2_mi,b2_vi)
  reorder@1 (b2_vi,b2_mi) when $mr < $nr // 8
  stage@1 b2->b2_acc inside=b2_mt scope=register
  relayout@1 b1->b2_packed dims=(b2_p,b2_vp,b2.i2,b2_vi)
  precompute@1 b2_packed
  parallel@1 b2_p
  unroll@1 b2_qi
  unroll@1 b2_mi
  vectorize@1 b2_vi lanes=8
  prefetch@1 b2_packed next=b2_vp at=b2_qo to=L2 when $prefetch
contraction/rows
  mr = 1 2 3
  nr = 8 16 24 32
  ku = 1 2 4 8
  prefetch = choice 0 1
  require $mr * ($nr // 8) + min($mr, $nr // 8) + 1 <= 16
  require $nr // 8 <= 1 || ($nr // 8 - 1) * 8 < 80
  require 8 <= $mr * ($nr // 8) || (3 <= $mr || 4 <= $nr // 8)
  reorder@1 (b2.i0,b2.i1,b2.i2)
  split@1 b2.i1->(b2_vp,b2_vi) size=$nr
  split@1 b2.i0->(b2_p,b2_m1) parts=2
  split@1 b2.i2->(b2_qo,b2_qi) size=$ku
  split@1 b2_m1->(b2_mt,b2_mi) max=$mr
  reorder@1 (b2_p,b2_vp,b2_mt,b2_qo,b2_qi,b2_mi,b2_vi)
  reorder@1 (b2_vi,b2_mi) when $mr < $nr // 8
  stage@1 b2->b2_acc inside=b2_mt scope=register
  relayout@1 b1->b2_packed dims=(b2_vp,b2.i2,b2_vi)
  precompute@1 b2_packed
  parallel@1 b2_p
  unroll@1 b2_qi
  unroll@1 b2_mi
  vectorize@1 b2_vi lanes=8
  prefetch@1 b2_packed next=b2_vp at=b2_qo to=L2 when $prefetch
)");
}

TEST(ContractionRuleTest, TilesOfSumsOfDoubles) {
  EXPECT_EQ(TestedDrafts("contraction", Product(DType::kF64), kTarget), R"(contraction/panels
  mr = 1 2 3
  nr = 4 8 12 16
  ku = 1 2 4 8
  prefetch = choice 0 1
  require $mr * ($nr // 4) + min($mr, $nr // 4) + 1 <= 16
  require 2 <= (80 + ($nr - 1)) // $nr
  require $nr // 4 <= 1 || ($nr // 4 - 1) * 4 < 40
  require 8 <= $mr * ($nr // 4) || (3 <= $mr || 4 <= $nr // 4)
  reorder@1 (b2.i0,b2.i1,b2.i2)
  split@1 b2.i1->(b2_p,b2_v1) parts=2
  split@1 b2_v1->(b2_vp,b2_vi) size=$nr
  split@1 b2.i2->(b2_qo,b2_qi) size=$ku
  split@1 b2.i0->(b2_mt,b2_mi) max=$mr
  reorder@1 (b2_p,b2_vp,b2_mt,b2_qo,b2_qi,b2_mi,b2_vi)
  reorder@1 (b2_vi,b2_mi) when $mr < $nr // 4
  stage@1 b2->b2_acc inside=b2_mt scope=register
  relayout@1 b1->b2_packed dims=(b2_p,b2_vp,b2.i2,b2_vi)
  precompute@1 b2_packed
  parallel@1 b2_p
  unroll@1 b2_qi
  unroll@1 b2_mi
  vectorize@1 b2_vi lanes=4
  prefetch@1 b2_packed next=b2_vp at=b2_qo to=L2 when $prefetch
contraction/rows
  mr = 1 2 3
  nr = 4 8 12 16
  ku = 1 2 4 8
  prefetch = choice 0 1
  require $mr * ($nr // 4) + min($mr, $nr // 4) + 1 <= 16
  require $nr // 4 <= 1 || ($nr // 4 - 1) * 4 < 80
  require 8 <= $mr * ($nr // 4) || (3 <= $mr || 4 <= $nr // 4)
  reorder@1 (b2.i0,b2.i1,b2.i2)
  split@1 b2.i1->(b2_vp,b2_vi) size=$nr
  split@1 b2.i0->(b2_p,b2_m1) parts=2
  split@1 b2.i2->(b2_qo,b2_qi) size=$ku
  split@1 b2_m1->(b2_mt,b2_mi) max=$mr
  reorder@1 (b2_p,b2_vp,b2_mt,b2_qo,b2_qi,b2_mi,b2_vi)
  reorder@1 (b2_vi,b2_mi) when $mr < $nr // 4
  stage@1 b2->b2_acc inside=b2_mt scope=register
  relayout@1 b1->b2_packed dims=(b2_vp,b2.i2,b2_vi)
  precompute@1 b2_packed
  parallel@1 b2_p
  unroll@1 b2_qi
  unroll@1 b2_mi
  vectorize@1 b2_vi lanes=4
  prefetch@1 b2_packed next=b2_vp at=b2_qo to=L2 when $prefetch
)");
}

TEST(ContractionRuleTest, TilesOfSumsOfBytes) {
  EXPECT_EQ(TestedDrafts("contraction", Product(DType::kI8), kTarget), R"(contraction/panels
  mr = 1 2 3
  nr = 32 64 96
  ku = 1 2 4 8
  prefetch = choice 0 1
  require $mr * ($nr // 32) + min($mr, $nr // 32) + 1 <= 16
  require 2 <= (80 + ($nr - 1)) // $nr
  require $nr // 32 <= 1 || ($nr // 32 - 1) * 32 < 80
  require 8 <= $mr * ($nr // 32) || (3 <= $mr || 3 <= $nr // 32)
  reorder@1 (b2.i0,b2.i1,b2.i2)
  split@1 b2.i1->(b2_vp,b2_vi) size=$nr
  split@1 b2_vp->(b2_p,b2_pq) parts=2
  split@1 b2.i2->(b2_qo,b2_qi) size=$ku
  split@1 b2.i0->(b2_mt,b2_mi) max=$mr
  reorder@1 (b2_p,b2_pq,b2_mt,b2_qo,b2_qi,b2_mi,b2_vi)
  reorder@1 (b2_vi,b2_mi) when $mr < $nr // 32
  stage@1 b2->b2_acc inside=b2_mt scope=register
  relayout@1 b1->b2_packed dims=(b2_vp,b2.i2,b2_vi)
  precompute@1 b2_packed
  parallel@1 b2_p
  unroll@1 b2_qi
  unroll@1 b2_mi
  vectorize@1 b2_vi lanes=32
  prefetch@1 b2_packed next=b2_pq at=b2_qo to=L2 when $prefetch
contraction/rows
  mr = 1 2 3
  nr = 32 64 96
  ku = 1 2 4 8
  prefetch = choice 0 1
  require $mr * ($nr // 32) + min($mr, $nr // 32) + 1 <= 16
  require $nr // 32 <= 1 || ($nr // 32 - 1) * 32 < 80
  require 8 <= $mr * ($nr // 32) || (3 <= $mr || 3 <= $nr // 32)
  reorder@1 (b2.i0,b2.i1,b2.i2)
  split@1 b2.i1->(b2_vp,b2_vi) size=$nr
  split@1 b2.i0->(b2_p,b2_m1) parts=2
  split@1 b2.i2->(b2_qo,b2_qi) size=$ku
  split@1 b2_m1->(b2_mt,b2_mi) max=$mr
  reorder@1 (b2_p,b2_vp,b2_mt,b2_qo,b2_qi,b2_mi,b2_vi)
  reorder@1 (b2_vi,b2_mi) when $mr < $nr // 32
  stage@1 b2->b2_acc inside=b2_mt scope=register
  relayout@1 b1->b2_packed dims=(b2_vp,b2.i2,b2_vi)
  precompute@1 b2_packed
  parallel@1 b2_p
  unroll@1 b2_qi
  unroll@1 b2_mi
  vectorize@1 b2_vi lanes=32
  prefetch@1 b2_packed next=b2_vp at=b2_qo to=L2 when $prefetch
)");
}

// The instruction that adds pairs of products to sums of 32 bits, and vectors whose lanes are those
// of the sums.
TEST(ContractionRuleTest, TilesOfWidenedProducts) {
  EXPECT_EQ(TestedDrafts("contraction", WidenedProduct(3, 12, 80), kTarget),
            R"(contraction/panels/dot2_i8x8
  mr = 1 2 3
  nr = 8 16 24 32
  ku = 1 2 4
  prefetch = choice 0 1
  require $mr * ($nr // 8) + min($mr, $nr // 8) + 1 <= 16
  require 2 <= (80 + ($nr - 1)) // $nr
  require $nr // 8 <= 1 || ($nr // 8 - 1) * 8 < 40
  require 8 <= $mr * ($nr // 8) || (3 <= $mr || 4 <= $nr // 8)
  reorder@1 (Y.m,Y.n,Y.k)
  split@1 Y.n->(Y_vs,Y_vl) size=8
  split@1 Y.k->(Y_qs,Y_ql) size=2
  split@1 Y_vs->(Y_p,Y_v1) parts=2
  split@1 Y_v1->(Y_vp,Y_vi) size=($nr // 8)
  split@1 Y_qs->(Y_qo,Y_qi) size=$ku
  split@1 Y.m->(Y_mt,Y_mi) max=$mr
  reorder@1 (Y_p,Y_vp,Y_mt,Y_qo,Y_qi,Y_mi,Y_vi,Y_vl,Y_ql)
  reorder@1 (Y_vi,Y_mi) when $mr < $nr // 8
  stage@1 Y->Y_acc inside=Y_mt scope=register
  relayout@1 W->Y_packed dims=(Y_p,Y_vp,Y_qs,Y_vi,Y_vl,Y_ql)
  precompute@1 Y_packed
  parallel@1 Y_p
  unroll@1 Y_qi
  unroll@1 Y_mi
  unroll@1 Y_vi
  tensorize@1 Y_vl intrinsic=dot2_i8x8
  prefetch@1 Y_packed next=Y_vp at=Y_qo to=L2 when $prefetch
contraction/panels
  mr = 1 2 3
  nr = 8 16 24 32
  ku = 1 2 4 8
  prefetch = choice 0 1
  require $mr * ($nr // 8) + min($mr, $nr // 8) + 1 <= 16
  require 2 <= (80 + ($nr - 1)) // $nr
  require $nr // 8 <= 1 || ($nr // 8 - 1) * 8 < 40
  require 8 <= $mr * ($nr // 8) || (3 <= $mr || 4 <= $nr // 8)
  reorder@1 (Y.m,Y.n,Y.k)
  split@1 Y.n->(Y_p,Y_v1) parts=2
  split@1 Y_v1->(Y_vp,Y_vi) size=$nr
  split@1 Y.k->(Y_qo,Y_qi) size=$ku
  split@1 Y.m->(Y_mt,Y_mi) max=$mr
  reorder@1 (Y_p,Y_vp,Y_mt,Y_qo,Y_qi,Y_mi,Y_vi)
  reorder@1 (Y_vi,Y_mi) when $mr < $nr // 8
  stage@1 Y->Y_acc inside=Y_mt scope=register
  relayout@1 W->Y_packed dims=(Y_p,Y_vp,Y.k,Y_vi)
  precompute@1 Y_packed
  parallel@1 Y_p
  unroll@1 Y_qi
  unroll@1 Y_mi
  vectorize@1 Y_vi lanes=8
  prefetch@1 Y_packed next=Y_vp at=Y_qo to=L2 when $prefetch
contraction/rows/dot2_i8x8
  mr = 1 2 3
  nr = 8 16 24 32
  ku = 1 2 4
  prefetch = choice 0 1
  require $mr * ($nr // 8) + min($mr, $nr // 8) + 1 <= 16
  require $nr // 8 <= 1 || ($nr // 8 - 1) * 8 < 80
  require 8 <= $mr * ($nr // 8) || (3 <= $mr || 4 <= $nr // 8)
  reorder@1 (Y.m,Y.n,Y.k)
  split@1 Y.n->(Y_vs,Y_vl) size=8
  split@1 Y.k->(Y_qs,Y_ql) size=2
  split@1 Y_vs->(Y_vp,Y_vi) size=($nr // 8)
  split@1 Y.m->(Y_p,Y_m1) parts=2
  split@1 Y_qs->(Y_qo,Y_qi) size=$ku
  split@1 Y_m1->(Y_mt,Y_mi) max=$mr
  reorder@1 (Y_p,Y_vp,Y_mt,Y_qo,Y_qi,Y_mi,Y_vi,Y_vl,Y_ql)
  reorder@1 (Y_vi,Y_mi) when $mr < $nr // 8
  stage@1 Y->Y_acc inside=Y_mt scope=register
  relayout@1 W->Y_packed dims=(Y_vp,Y_qs,Y_vi,Y_vl,Y_ql)
  precompute@1 Y_packed
  parallel@1 Y_p
  unroll@1 Y_qi
  unroll@1 Y_mi
  unroll@1 Y_vi
  tensorize@1 Y_vl intrinsic=dot2_i8x8
  prefetch@1 Y_packed next=Y_vp at=Y_qo to=L2 when $prefetch
contraction/rows
  mr = 1 2 3
  nr = 8 16 24 32
  ku = 1 2 4 8
  prefetch = choice 0 1
  require $mr * ($nr // 8) + min($mr, $nr // 8) + 1 <= 16
  require $nr // 8 <= 1 || ($nr // 8 - 1) * 8 < 80
  require 8 <= $mr * ($nr // 8) || (3 <= $mr || 4 <= $nr // 8)
  reorder@1 (Y.m,Y.n,Y.k)
  split@1 Y.n->(Y_vp,Y_vi) size=$nr
  split@1 Y.m->(Y_p,Y_m1) parts=2
  split@1 Y.k->(Y_qo,Y_qi) size=$ku
  split@1 Y_m1->(Y_mt,Y_mi) max=$mr
  reorder@1 (Y_p,Y_vp,Y_mt,Y_qo,Y_qi,Y_mi,Y_vi)
  reorder@1 (Y_vi,Y_mi) when $mr < $nr // 8
  stage@1 Y->Y_acc inside=Y_mt scope=register
  relayout@1 W->Y_packed dims=(Y_vp,Y.k,Y_vi)
  precompute@1 Y_packed
  parallel@1 Y_p
  unroll@1 Y_qi
  unroll@1 Y_mi
  vectorize@1 Y_vi lanes=8
  prefetch@1 Y_packed next=Y_vp at=Y_qo to=L2 when $prefetch
)");
}

// A pair of products has no rest: an odd depth gets vectors. Of columns that no vector divides, the
// last panel begins early, in sketches whose workers have whole rows.
TEST(ContractionRuleTest, InstructionsTakeWholePairsAndVectors) {
  const auto names = [](int64_t depth, int64_t columns) {
    return NamesOf(DraftsOf("contraction", WidenedProduct(3, depth, columns), kTarget));
  };
  EXPECT_THAT(names(12, 80), ElementsAre("contraction/panels/dot2_i8x8", "contraction/panels",
                                         "contraction/rows/dot2_i8x8", "contraction/rows"));
  EXPECT_THAT(names(12, 84), ElementsAre("contraction/panels/dot2_i8x4", "contraction/panels",
                                         "contraction/rows/dot2_i8x4", "contraction/rows"));
  EXPECT_THAT(names(13, 80), ElementsAre("contraction/panels", "contraction/rows"));
  EXPECT_THAT(names(12, 83), ElementsAre("contraction/panels", "contraction/rows/shifted/dot2_i8x8",
                                         "contraction/rows"));
  EXPECT_THAT(names(12, 5), ElementsAre("contraction/panels", "contraction/rows/shifted/dot2_i8x4",
                                        "contraction/rows"));
  EXPECT_THAT(names(12, 3), ElementsAre("contraction/panels", "contraction/rows"));
}

// A row of an instruction is all that another architecture needs.
TEST(ContractionRuleTest, RowsOfAnotherArchitectureGetSketches) {
  const Program bytes = WidenedProduct(3, 12, 80);
  EXPECT_THAT(NamesOf(DraftsOf("contraction", bytes, NeonDevice())),
              ElementsAre("contraction/panels/sdot_s8x4", "contraction/panels",
                          "contraction/rows/sdot_s8x4", "contraction/rows"));
  const std::string drafts = TestedDrafts("contraction", bytes, NeonDevice());
  EXPECT_THAT(drafts, HasSubstr("intrinsic=sdot_s8x4"));
  EXPECT_THAT(TestedDrafts("contraction", Product(DType::kF32), NeonDevice()),
              HasSubstr("contraction/panels\n  mr = 1 2 3\n  nr = 4 8 12 16"));
}

// The same rule for a device of another kind: blocks, warps and lanes instead of workers and
// vectors. Extents that no tile divides are guarded.
TEST(ContractionRuleTest, GridsOfThreadsHaveATileForEachThread) {
  EXPECT_EQ(TestedDrafts("contraction", Product(DType::kF32), GpuLikeDevice()),
            R"(contraction/blocks
  mr = 1 2 3
  nr = 32 64 96
  ku = 1 2 4 8
  warps = 1 2 4 8
  require $mr * ($nr // 32) + $mr + $nr // 32 <= 231
  require ($nr // 32 - 1) * 32 < 80
  require $warps <= 1 || ($warps - 1) * $mr < 3
  require $warps <= 32
  reorder@1 (b2.i0,b2.i1,b2.i2)
  split@1 b2.i1->(b2_vp,b2_vi) size=$nr tail=guard
  split@1 b2_vi->(b2_vv,b2_vl) size=32
  split@1 b2.i0->(b2_mt,b2_mb) size=($mr * $warps) tail=guard
  split@1 b2_mb->(b2_mw,b2_mi) size=$mr
  reorder@1 (b2_mt,b2_vp,b2_mw,b2_vl)
  fuse@1 (b2_mt,b2_vp)->b2_p
  split@1 b2.i2->(b2_qo,b2_qi) size=$ku
  reorder@1 (b2_p,b2_mw,b2_vl,b2_qo,b2_qi,b2_mi,b2_vv)
  reorder@1 (b2_vv,b2_mi) when $mr < $nr // 32
  stage@1 b2->b2_acc inside=b2_vl scope=register
  relayout@1 b1->b2_packed dims=(b2_vp,b2.i2,b2_vv,b2_vl)
  precompute@1 b2_packed
  bind@1 b2_p thread=block.x
  bind@1 b2_mw thread=thread.y
  bind@1 b2_vl thread=thread.x
  unroll@1 b2_qi
  unroll@1 b2_mi
  unroll@1 b2_vv
)");
}

TEST(ContractionRuleTest, DeepProductsAreAlsoBlockedAndManyWorkersShareAGrid) {
  const Program deep =
      WorkloadOf({.name = "dense", .op = "dense", .inputs = {{5, 600}, {24, 600}}});
  EXPECT_THAT(NamesOf(DraftsOf("contraction", deep, kTarget)),
              ElementsAre("contraction/panels", "contraction/rows", "contraction/panels/blocked",
                          "contraction/rows/blocked"));
  EXPECT_THAT(NamesOf(DraftsOf("contraction", deep, "cpu:arch=znver3,threads=8")),
              ElementsAre("contraction/panels", "contraction/panels/blocked", "contraction/grid"));
}

// From the first draft that leaves the vector operand where it lies.
std::string DirectDrafts(DType dtype) {
  const std::string text = TestedDrafts("contraction",
                                        WorkloadOf({.name = "matmul",
                                                    .op = "matmul",
                                                    .inputs = {{3, 12}, {12, 20}},
                                                    .all_inputs = true,
                                                    .dtype = dtype}),
                                        kTarget);
  return text.substr(std::min(text.size(), text.find("contraction/panels/direct")));
}

TEST(ContractionRuleTest, OperandsOfFloatsMadeAtRunTimeMayStayWhereTheyLie) {
  EXPECT_EQ(DirectDrafts(DType::kF32), R"(contraction/panels/direct
  mr = 1 2 3
  nr = 8 16 24
  ku = 1 2 4 8
  require $mr * ($nr // 8) + min($mr, $nr // 8) + 1 <= 16
  require 2 <= (20 + ($nr - 1)) // $nr
  require $nr // 8 <= 1 || ($nr // 8 - 1) * 8 < 20
  require 8 <= $mr * ($nr // 8) || (3 <= $mr || 3 <= $nr // 8)
  reorder@1 (b2.i0,b2.i1,b2.i2)
  split@1 b2.i1->(b2_vp,b2_vi) size=$nr
  split@1 b2_vp->(b2_p,b2_pq) parts=2
  split@1 b2.i2->(b2_qo,b2_qi) size=$ku
  split@1 b2.i0->(b2_mt,b2_mi) max=$mr
  reorder@1 (b2_p,b2_pq,b2_mt,b2_qo,b2_qi,b2_mi,b2_vi)
  reorder@1 (b2_vi,b2_mi) when $mr < $nr // 8
  stage@1 b2->b2_acc inside=b2_mt scope=register
  parallel@1 b2_p
  unroll@1 b2_qi
  unroll@1 b2_mi
  vectorize@1 b2_vi lanes=8
contraction/rows/direct
  mr = 1 2 3
  nr = 8 16 24
  ku = 1 2 4 8
  require $mr * ($nr // 8) + min($mr, $nr // 8) + 1 <= 16
  require $nr // 8 <= 1 || ($nr // 8 - 1) * 8 < 20
  require 8 <= $mr * ($nr // 8) || (3 <= $mr || 3 <= $nr // 8)
  reorder@1 (b2.i0,b2.i1,b2.i2)
  split@1 b2.i1->(b2_vp,b2_vi) size=$nr
  split@1 b2.i0->(b2_p,b2_m1) parts=2
  split@1 b2.i2->(b2_qo,b2_qi) size=$ku
  split@1 b2_m1->(b2_mt,b2_mi) max=$mr
  reorder@1 (b2_p,b2_vp,b2_mt,b2_qo,b2_qi,b2_mi,b2_vi)
  reorder@1 (b2_vi,b2_mi) when $mr < $nr // 8
  stage@1 b2->b2_acc inside=b2_mt scope=register
  parallel@1 b2_p
  unroll@1 b2_qi
  unroll@1 b2_mi
  vectorize@1 b2_vi lanes=8
)");
}

TEST(ContractionRuleTest, OperandsOfDoublesMadeAtRunTimeMayStayWhereTheyLie) {
  EXPECT_EQ(DirectDrafts(DType::kF64), R"(contraction/panels/direct
  mr = 1 2 3
  nr = 4 8 12 16
  ku = 1 2 4 8
  require $mr * ($nr // 4) + min($mr, $nr // 4) + 1 <= 16
  require 2 <= (20 + ($nr - 1)) // $nr
  require $nr // 4 <= 1 || ($nr // 4 - 1) * 4 < 20
  require 8 <= $mr * ($nr // 4) || (3 <= $mr || 4 <= $nr // 4)
  reorder@1 (b2.i0,b2.i1,b2.i2)
  split@1 b2.i1->(b2_vp,b2_vi) size=$nr
  split@1 b2_vp->(b2_p,b2_pq) parts=2
  split@1 b2.i2->(b2_qo,b2_qi) size=$ku
  split@1 b2.i0->(b2_mt,b2_mi) max=$mr
  reorder@1 (b2_p,b2_pq,b2_mt,b2_qo,b2_qi,b2_mi,b2_vi)
  reorder@1 (b2_vi,b2_mi) when $mr < $nr // 4
  stage@1 b2->b2_acc inside=b2_mt scope=register
  parallel@1 b2_p
  unroll@1 b2_qi
  unroll@1 b2_mi
  vectorize@1 b2_vi lanes=4
contraction/rows/direct
  mr = 1 2 3
  nr = 4 8 12 16
  ku = 1 2 4 8
  require $mr * ($nr // 4) + min($mr, $nr // 4) + 1 <= 16
  require $nr // 4 <= 1 || ($nr // 4 - 1) * 4 < 20
  require 8 <= $mr * ($nr // 4) || (3 <= $mr || 4 <= $nr // 4)
  reorder@1 (b2.i0,b2.i1,b2.i2)
  split@1 b2.i1->(b2_vp,b2_vi) size=$nr
  split@1 b2.i0->(b2_p,b2_m1) parts=2
  split@1 b2.i2->(b2_qo,b2_qi) size=$ku
  split@1 b2_m1->(b2_mt,b2_mi) max=$mr
  reorder@1 (b2_p,b2_vp,b2_mt,b2_qo,b2_qi,b2_mi,b2_vi)
  reorder@1 (b2_vi,b2_mi) when $mr < $nr // 4
  stage@1 b2->b2_acc inside=b2_mt scope=register
  parallel@1 b2_p
  unroll@1 b2_qi
  unroll@1 b2_mi
  vectorize@1 b2_vi lanes=4
)");
}

TEST(ContractionRuleTest, OperandsOfBytesMadeAtRunTimeMayStayWhereTheyLie) {
  EXPECT_EQ(DirectDrafts(DType::kI8), R"(contraction/panels/direct
  mr = 1 2 3
  nr = 16 32
  ku = 1 2 4 8
  require $mr * ($nr // 16) + min($mr, $nr // 16) + 1 <= 16
  require 2 <= (20 + ($nr - 1)) // $nr
  require $nr // 16 <= 1 || ($nr // 16 - 1) * 16 < 20
  require 8 <= $mr * ($nr // 16) || (3 <= $mr || 2 <= $nr // 16)
  reorder@1 (b2.i0,b2.i1,b2.i2)
  split@1 b2.i1->(b2_vp,b2_vi) size=$nr
  split@1 b2_vp->(b2_p,b2_pq) parts=2
  split@1 b2.i2->(b2_qo,b2_qi) size=$ku
  split@1 b2.i0->(b2_mt,b2_mi) max=$mr
  reorder@1 (b2_p,b2_pq,b2_mt,b2_qo,b2_qi,b2_mi,b2_vi)
  reorder@1 (b2_vi,b2_mi) when $mr < $nr // 16
  stage@1 b2->b2_acc inside=b2_mt scope=register
  parallel@1 b2_p
  unroll@1 b2_qi
  unroll@1 b2_mi
  vectorize@1 b2_vi lanes=16
contraction/rows/direct
  mr = 1 2 3
  nr = 16 32
  ku = 1 2 4 8
  require $mr * ($nr // 16) + min($mr, $nr // 16) + 1 <= 16
  require $nr // 16 <= 1 || ($nr // 16 - 1) * 16 < 20
  require 8 <= $mr * ($nr // 16) || (3 <= $mr || 2 <= $nr // 16)
  reorder@1 (b2.i0,b2.i1,b2.i2)
  split@1 b2.i1->(b2_vp,b2_vi) size=$nr
  split@1 b2.i0->(b2_p,b2_m1) parts=2
  split@1 b2.i2->(b2_qo,b2_qi) size=$ku
  split@1 b2_m1->(b2_mt,b2_mi) max=$mr
  reorder@1 (b2_p,b2_vp,b2_mt,b2_qo,b2_qi,b2_mi,b2_vi)
  reorder@1 (b2_vi,b2_mi) when $mr < $nr // 16
  stage@1 b2->b2_acc inside=b2_mt scope=register
  parallel@1 b2_p
  unroll@1 b2_qi
  unroll@1 b2_mi
  vectorize@1 b2_vi lanes=16
)");
}

// What lies as vectors load it and is read for each of several tiles of rows also goes in blocks.
TEST(ContractionRuleTest, DeepProductsInPlaceAreAlsoBlocked) {
  const auto drafts = [](int64_t rows, int64_t depth) {
    return DraftsOf("contraction",
                    WorkloadOf({.name = "matmul",
                                .op = "matmul",
                                .inputs = {{4, rows, depth}, {4, depth, 24}},
                                .all_inputs = true}),
                    kTarget);
  };
  constexpr char kBlocked[] = "contraction/panels/blocked/direct";
  EXPECT_THAT(NamesOf(drafts(24, 256)), Contains(kBlocked));
  EXPECT_THAT(NamesOf(drafts(24, 255)), Not(Contains(kBlocked)));
  EXPECT_THAT(NamesOf(drafts(8, 256)), Not(Contains(kBlocked)));
  const std::string text = ToText(SketchOf(drafts(24, 256).back()));
  EXPECT_THAT(text, HasSubstr("kb = 128\n"));
  EXPECT_THAT(text, HasSubstr("reorder@1 (b2_p,b2_pq,b2_kb,b2_mt,b2_qo,b2_qi,b2_mi,b2_vi)\n"));
  EXPECT_THAT(text, Not(HasSubstr("relayout")));
}

TEST(ContractionRuleTest, OperandsThatLieApartOrAreConstantsArePacked) {
  const auto names = [](bool all_inputs, int64_t trans_b) {
    const Ints b = trans_b != 0 ? Ints{20, 12} : Ints{12, 20};
    return NamesOf(DraftsOf("contraction",
                            WorkloadOf({.name = "matmul",
                                        .op = "matmul",
                                        .inputs = {{3, 12}, b},
                                        .attributes = {{"trans_b", trans_b}},
                                        .all_inputs = all_inputs}),
                            kTarget));
  };
  EXPECT_THAT(names(true, 0), ElementsAre("contraction/panels", "contraction/rows",
                                          "contraction/panels/direct", "contraction/rows/direct"));
  EXPECT_THAT(names(true, 1), ElementsAre("contraction/panels", "contraction/rows"));
  EXPECT_THAT(names(false, 0), ElementsAre("contraction/panels", "contraction/rows"));
}

TEST(ContractionRuleTest, MaximaAreNoProducts) {
  const Program maxima = WorkloadOf({.name = "reduce_max",
                                     .op = "reduce_max",
                                     .inputs = {{5, 128}},
                                     .attributes = {{"axes", Ints{1}}}});
  EXPECT_THAT(DraftsOf("contraction", maxima, kTarget), IsEmpty());
}

}  // namespace
}  // namespace burnish
