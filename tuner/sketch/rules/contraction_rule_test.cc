// Register tiles of matrix products.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program Product(DType dtype) {
  return WorkloadOf({.name = "dense",
                     .op = "dense",
                     .inputs = {{3, 12}, {24, 12}},
                     .relu = true,
                     .dtype = dtype});
}

TEST(ContractionRuleTest, TilesOfSumsOfFloats) {
  EXPECT_EQ(TestedDrafts("contraction", Product(DType::kF32), kTarget), R"(contraction/panels
  mr = 1 2 3
  nr = 8 16 24
  ku = 1 2 4 8
  prefetch = choice 0 1
  require $mr * ($nr // 8) + min($mr, $nr // 8) + 1 <= 16
  require 2 <= (24 + ($nr - 1)) // $nr
  require $nr // 8 <= 1 || ($nr // 8 - 1) * 8 < 24
  require 8 <= $mr * ($nr // 8) || (3 <= $mr || 3 <= $nr // 8)
  reorder@1 (b2.i0,b2.i1,b2.i2)
  split@1 b2.i1->(b2_vp,b2_vi) size=$nr
  split@1 b2_vp->(b2_p,b2_pq) parts=2
  split@1 b2.i2->(b2_qo,b2_qi) size=$ku
  split@1 b2.i0->(b2_mt,b2_mi) max=$mr
  reorder@1 (b2_p,b2_pq,b2_mt,b2_qo,b2_qi,b2_mi,b2_vi)
  reorder@1 (b2_vi,b2_mi) when $mr < $nr // 8
  stage@1 b2->b2_acc inside=b2_mt scope=register
  relayout@1 b1->b2_packed dims=(b2_vp,b2.i2,b2_vi)
  precompute@1 b2_packed
  parallel@1 b2_p
  unroll@1 b2_qi
  unroll@1 b2_mi
  vectorize@1 b2_vi lanes=8
  prefetch@1 b2_packed next=b2_pq at=b2_qo to=L2 when $prefetch
contraction/rows
  mr = 1 2 3
  nr = 8 16 24
  ku = 1 2 4 8
  prefetch = choice 0 1
  require $mr * ($nr // 8) + min($mr, $nr // 8) + 1 <= 16
  require $nr // 8 <= 1 || ($nr // 8 - 1) * 8 < 24
  require 8 <= $mr * ($nr // 8) || (3 <= $mr || 3 <= $nr // 8)
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

TEST(ContractionRuleTest, DeepProductsAreAlsoBlockedAndManyWorkersShareAGrid) {
  const Program deep =
      WorkloadOf({.name = "dense", .op = "dense", .inputs = {{5, 600}, {24, 600}}});
  EXPECT_THAT(NamesOf(DraftsOf("contraction", deep, kTarget)),
              ElementsAre("contraction/panels", "contraction/rows", "contraction/panels/blocked",
                          "contraction/rows/blocked"));
  EXPECT_THAT(NamesOf(DraftsOf("contraction", deep, "cpu:arch=znver3,threads=8")),
              ElementsAre("contraction/panels", "contraction/panels/blocked", "contraction/grid"));
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
