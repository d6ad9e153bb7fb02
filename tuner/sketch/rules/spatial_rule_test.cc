// Elementwise nests.
#include "base/check.h"
#include "compiler/ir/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program Sum(DType dtype) {
  return WorkloadOf({.name = "add",
                     .op = "add",
                     .inputs = {{130, 130}, {130, 130}},
                     .relu = true,
                     .all_inputs = true,
                     .dtype = dtype});
}

TEST(SpatialRuleTest, VectorsAlongRowsOfFloats) {
  EXPECT_EQ(TestedDrafts("spatial", Sum(DType::kF32), kTarget), R"(spatial
  width = 8 16 32
  reorder@1 (b2.i0,b2.i1)
  split@1 b2.i1->(b2_vo,b2_vi) size=$width
  reorder@1 (b2_vo,b2_vi)
  split@1 b2.i0->(b2_p,b2_p1) parts=2
  parallel@1 b2_p
  vectorize@1 b2_vi lanes=8
)");
}

TEST(SpatialRuleTest, VectorsAlongRowsOfDoubles) {
  EXPECT_EQ(TestedDrafts("spatial", Sum(DType::kF64), kTarget), R"(spatial
  width = 4 8 16
  reorder@1 (b2.i0,b2.i1)
  split@1 b2.i1->(b2_vo,b2_vi) size=$width
  reorder@1 (b2_vo,b2_vi)
  split@1 b2.i0->(b2_p,b2_p1) parts=2
  parallel@1 b2_p
  vectorize@1 b2_vi lanes=4
)");
}

TEST(SpatialRuleTest, VectorsAlongRowsOfBytes) {
  EXPECT_EQ(TestedDrafts("spatial", Sum(DType::kI8), kTarget), R"(spatial
  width = 32 64 128
  reorder@1 (b2.i0,b2.i1)
  split@1 b2.i1->(b2_vo,b2_vi) size=$width
  reorder@1 (b2_vo,b2_vi)
  split@1 b2.i0->(b2_p,b2_p1) parts=2
  parallel@1 b2_p
  vectorize@1 b2_vi lanes=32
)");
}

Program Parsed(absl::string_view text) {
  absl::StatusOr<Program> program = ParseProgram(text);
  CHECK_OK(program);
  return *std::move(program);
}

TEST(SpatialRuleTest, LanesOfAnEnlargedImageLoadOneByOne) {
  const Program twice = Parsed(R"(program/1 twice
input X: f32[130, 70]
output Y: f32[130, 140]
block Y(r in 130, c in 140) {
  step Y[r, c] = X[r, c // 2]
}
)");
  EXPECT_EQ(TestedDrafts("spatial", twice, kTarget), R"(spatial
  reorder@1 (Y.r,Y.c)
  split@1 Y.r->(Y_p,Y_p1) parts=2
  parallel@1 Y_p
spatial/gathers
  width = 8 16 32
  reorder@1 (Y.r,Y.c)
  split@1 Y.c->(Y_vo,Y_vi) size=$width
  reorder@1 (Y_vo,Y_vi)
  split@1 Y.r->(Y_p,Y_p1) parts=2
  parallel@1 Y_p
  vectorize@1 Y_vi lanes=8
)");
}

TEST(SpatialRuleTest, RowsThatAnIndexChoosesAreCheckedOnceForAllLanes) {
  const Program words = Parsed(R"(program/1 words
const T: f64[256, 200]
input I: u8[100]
output Y: f64[100, 200]
block Y(r in 100, c in 200) {
  step Y[r, c] = T[bounds_check(i64(I[r]), 256), c]
}
)");
  EXPECT_EQ(TestedDrafts("spatial", words, kTarget), R"(spatial
  reorder@1 (Y.r,Y.c)
  split@1 Y.r->(Y_p,Y_p1) parts=2
  parallel@1 Y_p
spatial/checked
  width = 4 8 16
  reorder@1 (Y.r,Y.c)
  split@1 Y.c->(Y_vo,Y_vi) size=$width
  reorder@1 (Y_vo,Y_vi)
  split@1 Y.r->(Y_p,Y_p1) parts=2
  parallel@1 Y_p
  vectorize@1 Y_vi lanes=4
)");
}

TEST(SpatialRuleTest, ElementsThatEachHaveACheckOfTheirOwnStayApart) {
  const Program letters = Parsed(R"(program/1 letters
const T: f32[256]
input I: u8[100, 200]
output Y: f32[100, 200]
block Y(r in 100, c in 200) {
  step Y[r, c] = T[bounds_check(i64(I[r, c]), 256)]
}
)");
  EXPECT_THAT(NamesOf(DraftsOf("spatial", letters, kTarget)), ::testing::ElementsAre("spatial"));
}

// Every other element of a row, and a row with padding: lanes still are vectors.
TEST(SpatialRuleTest, RowsBySteps) {
  const Program program = Parsed(R"(program/1 steps
input X: f32[60, 700]
output Y: f32[60, 350]
block Y(i in 60, j in 350) {
  step Y[i, j] = X[i, j * 2 + 1] + (3 <= j ? X[i, j + -3] : 0.0)
}
)");
  EXPECT_EQ(TestedDrafts("spatial", program, kTarget), R"(spatial
  reorder@1 (Y.i,Y.j)
  split@1 Y.i->(Y_p,Y_p1) parts=2
  parallel@1 Y_p
spatial/steps
  width = 8 16 32
  reorder@1 (Y.i,Y.j)
  split@1 Y.j->(Y_vo,Y_vi) size=$width
  reorder@1 (Y_vo,Y_vi)
  split@1 Y.i->(Y_p,Y_p1) parts=2
  parallel@1 Y_p
  vectorize@1 Y_vi lanes=8
)");
}

}  // namespace
}  // namespace burnish
