// Sums of rows.
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

using ::testing::IsEmpty;

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program SumOfRows(DType dtype, Ints shape = {3, 21, 40}) {
  return WorkloadOf({.name = "sum",
                     .op = "reduce_sum",
                     .inputs = {std::move(shape)},
                     .attributes = {{"axes", Ints{1}}, {"keepdims", int64_t{0}}},
                     .dtype = dtype});
}

TEST(OuterReductionRuleTest, BlocksOfRowsOfFloats) {
  EXPECT_EQ(TestedDrafts("outer_reduction", SumOfRows(DType::kF32), kTarget), R"(outer_reduction
  width = 8 16 32
  rows = 8 16
  split@1 b1.i1->(b1_vo,b1_vi) size=$width
  split@1 b1.i2->(b1_ko,b1_ki) size=$rows
  reorder@1 (b1.i0,b1_ko,b1_vo,b1_ki,b1_vi)
  stage@1 b1->b1_acc inside=b1_vo scope=register
  vectorize@1 b1_vi lanes=8
)");
}

TEST(OuterReductionRuleTest, BlocksOfRowsOfDoubles) {
  EXPECT_EQ(TestedDrafts("outer_reduction", SumOfRows(DType::kF64), kTarget), R"(outer_reduction
  width = 4 8 16 32
  rows = 8 16
  split@1 b1.i1->(b1_vo,b1_vi) size=$width
  split@1 b1.i2->(b1_ko,b1_ki) size=$rows
  reorder@1 (b1.i0,b1_ko,b1_vo,b1_ki,b1_vi)
  stage@1 b1->b1_acc inside=b1_vo scope=register
  vectorize@1 b1_vi lanes=4
)");
}

TEST(OuterReductionRuleTest, BlocksOfRowsOfIntegers) {
  EXPECT_EQ(TestedDrafts("outer_reduction", SumOfRows(DType::kI32), kTarget), R"(outer_reduction
  width = 8 16 32
  rows = 8 16
  split@1 b1.i1->(b1_vo,b1_vi) size=$width
  split@1 b1.i2->(b1_ko,b1_ki) size=$rows
  reorder@1 (b1.i0,b1_ko,b1_vo,b1_ki,b1_vi)
  stage@1 b1->b1_acc inside=b1_vo scope=register
  vectorize@1 b1_vi lanes=8
)");
}

TEST(OuterReductionRuleTest, BlocksOfRowsOfBytes) {
  EXPECT_EQ(TestedDrafts("outer_reduction", SumOfRows(DType::kI8, {3, 21, 64}), kTarget),
            R"(outer_reduction
  width = 32 64
  rows = 8 16
  split@1 b1.i1->(b1_vo,b1_vi) size=$width
  split@1 b1.i2->(b1_ko,b1_ki) size=$rows
  reorder@1 (b1.i0,b1_ko,b1_vo,b1_ki,b1_vi)
  stage@1 b1->b1_acc inside=b1_vo scope=register
  vectorize@1 b1_vi lanes=32
)");
}

TEST(OuterReductionRuleTest, MeansAreDividedAtTheEnd) {
  const Program mean = WorkloadOf({.name = "mean",
                                   .op = "reduce_mean",
                                   .inputs = {{3, 2, 21, 40}},
                                   .attributes = {{"axes", Ints{1, 2}}, {"keepdims", int64_t{0}}}});
  EXPECT_NE(TestedDrafts("outer_reduction", mean, kTarget), "");
}

// `constant`: the matrices are.
Program VectorsByMatrices(DType dtype, Ints vectors, Ints matrices, bool constant = false) {
  return WorkloadOf({.name = "product",
                     .op = "matmul",
                     .inputs = {std::move(vectors), std::move(matrices)},
                     .all_inputs = !constant,
                     .dtype = dtype});
}

// One query by keys that lie along the output.
TEST(OuterReductionRuleTest, RowsTimesANumberEach) {
  EXPECT_EQ(TestedDrafts("outer_reduction", VectorsByMatrices(DType::kF32, {3, 1, 21}, {3, 21, 40}),
                         kTarget),
            R"(outer_reduction
  width = 8 16 32
  rows = 8 16
  split@1 b2.i2->(b2_vo,b2_vi) size=$width
  split@1 b2.i3->(b2_ko,b2_ki) size=$rows
  fuse@1 (b2.i0,b2.i1)->b2_r
  reorder@1 (b2_r,b2_ko,b2_vo,b2_ki,b2_vi)
  stage@1 b2->b2_acc inside=b2_vo scope=register
  vectorize@1 b2_vi lanes=8
)");
  for (const DType dtype : {DType::kF64, DType::kI32}) {
    EXPECT_NE(
        TestedDrafts("outer_reduction", VectorsByMatrices(dtype, {3, 1, 21}, {3, 21, 40}), kTarget),
        "");
  }
}

// Several rows share what is read, and constants are laid out in the order of use.
TEST(OuterReductionRuleTest, OtherProductsAreTheContractions) {
  EXPECT_THAT(
      DraftsOf("outer_reduction", VectorsByMatrices(DType::kF32, {3, 2, 21}, {3, 21, 40}), kTarget),
      IsEmpty());
  EXPECT_THAT(DraftsOf("outer_reduction",
                       VectorsByMatrices(DType::kF32, {3, 1, 21}, {3, 21, 40}, true), kTarget),
              IsEmpty());
}

// A few rows, short rows, and one row for both workers, who share its columns instead.
TEST(OuterReductionRuleTest, OthersAreTheWindows) {
  EXPECT_THAT(DraftsOf("outer_reduction", SumOfRows(DType::kF32, {3, 15, 40}), kTarget), IsEmpty());
  EXPECT_THAT(DraftsOf("outer_reduction", SumOfRows(DType::kF32, {3, 40, 15}), kTarget), IsEmpty());
  EXPECT_THAT(DraftsOf("outer_reduction", SumOfRows(DType::kF32, {1, 2000, 400}), kTarget),
              IsEmpty());
}

}  // namespace
}  // namespace burnish
