// Sums and maxima along rows.
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program RowMaxima(DType dtype) {
  return WorkloadOf({.name = "reduce_max",
                     .op = "reduce_max",
                     .inputs = {{5, 128}},
                     .attributes = {{"axes", Ints{1}}},
                     .dtype = dtype});
}

TEST(RowReductionRuleTest, LanesOfMaximaOfFloats) {
  EXPECT_EQ(TestedDrafts("row_reduction", RowMaxima(DType::kF32), kTarget), R"(row_reduction
  fuse@1 (b1.i0,b1.i1)->b1_r
  split@1 b1.i2->(b1_ko,b1_ki) size=8
  rfactor@1 b1->b1_lanes loop=b1_ki
  stage@1 b1_lanes->b1_acc inside=b1_r scope=register
  vectorize@1 b1_ki lanes=8
)");
}

TEST(RowReductionRuleTest, LanesOfMaximaOfDoubles) {
  EXPECT_EQ(TestedDrafts("row_reduction", RowMaxima(DType::kF64), kTarget), R"(row_reduction
  fuse@1 (b1.i0,b1.i1)->b1_r
  split@1 b1.i2->(b1_ko,b1_ki) size=4
  rfactor@1 b1->b1_lanes loop=b1_ki
  stage@1 b1_lanes->b1_acc inside=b1_r scope=register
  vectorize@1 b1_ki lanes=4
)");
}

TEST(RowReductionRuleTest, LanesOfMaximaOfBytes) {
  EXPECT_EQ(TestedDrafts("row_reduction", RowMaxima(DType::kI8), kTarget), R"(row_reduction
  fuse@1 (b1.i0,b1.i1)->b1_r
  split@1 b1.i2->(b1_ko,b1_ki) size=32
  rfactor@1 b1->b1_lanes loop=b1_ki
  stage@1 b1_lanes->b1_acc inside=b1_r scope=register
  vectorize@1 b1_ki lanes=32
)");
}

}  // namespace
}  // namespace burnish
