// Rows that become columns.
#include <string>

#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program Turned(DType dtype) {
  return WorkloadOf({.name = "turn",
                     .op = "transpose",
                     .inputs = {{3, 33, 40}},
                     .attributes = {{"perm", Ints{0, 2, 1}}},
                     .dtype = dtype});
}

TEST(TransposeRuleTest, TilesOfLinesOfFloats) {
  EXPECT_EQ(TestedDrafts("transpose", Turned(DType::kF32), kTarget), R"(transpose
  columns = 16 32 64 128
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=8
  split@1 b1.i1->(b1_co,b1_ci) size=$columns
  reorder@1 (b1.i0,b1_vo,b1_co,b1_ci,b1_vi)
  vectorize@1 b1_vi lanes=8
transpose/squares
  squares = 2 4 8 16
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=8
  split@1 b1.i1->(b1_cs,b1_cr) size=8
  split@1 b1_cs->(b1_co,b1_ci) size=$squares
  reorder@1 (b1.i0,b1_vo,b1_co,b1_ci,b1_cr,b1_vi)
  unroll@1 b1_cr
  vectorize@1 b1_vi lanes=8
transpose/squares/rows
  squares = 2 4 8 16
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=8
  split@1 b1.i1->(b1_cs,b1_cr) size=8
  split@1 b1_cs->(b1_co,b1_ci) size=$squares
  reorder@1 (b1.i0,b1_co,b1_vo,b1_ci,b1_cr,b1_vi)
  unroll@1 b1_cr
  vectorize@1 b1_vi lanes=8
)");
}

TEST(TransposeRuleTest, TilesOfLinesOfDoubles) {
  EXPECT_EQ(TestedDrafts("transpose", Turned(DType::kF64), kTarget), R"(transpose
  columns = 8 16 32 64 128
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=4
  split@1 b1.i1->(b1_co,b1_ci) size=$columns
  reorder@1 (b1.i0,b1_vo,b1_co,b1_ci,b1_vi)
  vectorize@1 b1_vi lanes=4
transpose/squares
  squares = 2 4 8 16 32
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=4
  split@1 b1.i1->(b1_cs,b1_cr) size=4
  split@1 b1_cs->(b1_co,b1_ci) size=$squares
  reorder@1 (b1.i0,b1_vo,b1_co,b1_ci,b1_cr,b1_vi)
  unroll@1 b1_cr
  vectorize@1 b1_vi lanes=4
transpose/squares/rows
  squares = 2 4 8 16 32
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=4
  split@1 b1.i1->(b1_cs,b1_cr) size=4
  split@1 b1_cs->(b1_co,b1_ci) size=$squares
  reorder@1 (b1.i0,b1_co,b1_vo,b1_ci,b1_cr,b1_vi)
  unroll@1 b1_cr
  vectorize@1 b1_vi lanes=4
)");
}

TEST(TransposeRuleTest, TilesOfLinesOfBytes) {
  EXPECT_EQ(TestedDrafts("transpose", Turned(DType::kI8), kTarget), R"(transpose
  columns = 64 128
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=32
  split@1 b1.i1->(b1_co,b1_ci) size=$columns
  reorder@1 (b1.i0,b1_vo,b1_co,b1_ci,b1_vi)
  vectorize@1 b1_vi lanes=32
transpose/squares
  squares = 4 8
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=16
  split@1 b1.i1->(b1_cs,b1_cr) size=16
  split@1 b1_cs->(b1_co,b1_ci) size=$squares
  reorder@1 (b1.i0,b1_vo,b1_co,b1_ci,b1_cr,b1_vi)
  unroll@1 b1_cr
  vectorize@1 b1_vi lanes=16
transpose/squares/rows
  squares = 4 8
  reorder@1 (b1.i0,b1.i1,b1.i2)
  split@1 b1.i2->(b1_vo,b1_vi) size=16
  split@1 b1.i1->(b1_cs,b1_cr) size=16
  split@1 b1_cs->(b1_co,b1_ci) size=$squares
  reorder@1 (b1.i0,b1_co,b1_vo,b1_ci,b1_cr,b1_vi)
  unroll@1 b1_cr
  vectorize@1 b1_vi lanes=16
)");
}

// Pixels of an image are one row for squares, which 7 of them do not fill.
TEST(TransposeRuleTest, SquaresGoOnInTheNextRow) {
  const std::string drafts = TestedDrafts("transpose",
                                          WorkloadOf({.name = "turn",
                                                      .op = "transpose",
                                                      .inputs = {{2, 40, 7, 7}},
                                                      .attributes = {{"perm", Ints{0, 2, 3, 1}}}}),
                                          kTarget);
  EXPECT_NE(drafts.find("fuse@1 (b1.i1,b1.i2)->b1_c"), std::string::npos) << drafts;
}

// Workers write whole rows of their own, or each some columns of all.
TEST(TransposeRuleTest, WorkersShareTilesOrColumns) {
  const std::string drafts = TestedDrafts("transpose",
                                          WorkloadOf({.name = "turn",
                                                      .op = "transpose",
                                                      .inputs = {{1, 256, 512}},
                                                      .attributes = {{"perm", Ints{0, 2, 1}}}}),
                                          kTarget);
  const size_t rows = drafts.find("transpose/squares/rows");
  ASSERT_NE(rows, std::string::npos) << drafts;
  EXPECT_NE(drafts.find("split@1 b1_co->(b1_p,b1_p1)", rows), std::string::npos) << drafts;
  EXPECT_LT(drafts.find("split@1 b1_vo->(b1_p,b1_p1)"), rows) << drafts;
}

}  // namespace
}  // namespace burnish
