#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(ReorderTest, LoopsTakeTheirPlacesInTheGivenOrder) {
  EXPECT_EQ(After(kMatmulText, R"(reorder@1 (k,n,m))"), R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]

var Y.m in 7
var Y.n in 9
var Y.k in 5 reduce

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += X[Y.m, Y.k] * W[Y.k, Y.n]
  finish max(self, 0.0)
}

kernel {
  for Y.k in 5 {
    for Y.n in 9 {
      for Y.m in 7 {
        run Y
      }
    }
  }
}
)");
}

// Each tile is summed up whole: the shift is outside of the reduction.
TEST(ReorderTest, AReductionMayRunInsideTheTilesOfAShift) {
  EXPECT_THAT(After(kMatmulText, "split@1 n->(a,b) size=4 tail=shift\nreorder@1 (a,k,b)"),
              ::testing::HasSubstr("    for a in 3 {\n      for Y.k in 5 {\n        for b in 4 {"));
  // A tile that is split again is a tile still.
  EXPECT_THAT(After(kMatmulText,
                    "split@1 n->(a,b) size=4 tail=shift\nsplit@1 b->(c,d) size=2\n"
                    "reorder@1 (a,k,c,d)"),
              ::testing::HasSubstr("for Y.k in 5 {\n        for c in 2 {\n          for d in 2 {"));
}

TEST(ReorderTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "", .step = "reorder@1 (m,m)", .reason = "named twice"},
      {.before = "stage@1 Y->acc inside=m scope=scratch\n",
       .step = "reorder@1 (n,m)",
       .reason = "something other than a loop lies between"},
      {.before = "compute_at@1 P->(a,b) inside=Y.y\n",
       .step = "reorder@1 (Y.y,Y.o)",
       .reason = "not nested perfectly",
       .program_text = kConvText},
      {.before = "split@1 m->(a,b) max=3\n",
       .step = "reorder@1 (b,a)",
       .reason = "extent of b depends on a"},
      {.before = "parallel@1 m\n",
       .step = "reorder@1 (n,m)",
       .reason = "parallel loop Y.m would not be outermost"},
      {.before = "split@1 n->(a,b) size=4 tail=shift\n",
       .step = "reorder@1 (k,a)",
       .reason = "would be outside a shifted tile"},
  });
}

}  // namespace
}  // namespace burnish
