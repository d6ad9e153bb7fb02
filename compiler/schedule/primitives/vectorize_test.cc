#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

const char kLongText[] = R"(program/1 long
input X: f32[300]
output Y: f32[300]
block Y(i in 300) {
  step Y[i] = X[i]
}
)";

TEST(VectorizeTest, LoopRunsInVectors) {
  EXPECT_EQ(After(kMatmulText, R"(reorder@1 (k,n)
vectorize@1 n lanes=4
stage@1 Y->acc inside=m scope=register)"),
            R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]
temp acc: f32[] register

var Y.m in 7
var Y.n in 9
var Y.k in 5 reduce

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += X[Y.m, Y.k] * W[Y.k, Y.n]
  finish max(self, 0.0)
}

kernel {
  for Y.m in 7 {
    stage Y in acc {
      for Y.k in 5 {
        vectorize(4) Y.n in 9 {
          run Y
        }
      }
    }
  }
}
)");
}

TEST(VectorizeTest, LanesOfAReductionAreCombined) {
  EXPECT_EQ(After(kMatmulText, "vectorize@1 k lanes=4\n"),
            R"(program/1 matmul

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
  for Y.m in 7 {
    for Y.n in 9 {
      vectorize(4) Y.k in 5 {
        run Y
      }
    }
  }
}
)");
}

// Tiles that overlap, each of which is computed whole: its own elements are distinct.
TEST(VectorizeTest, OneShiftedTileIsAVector) {
  EXPECT_THAT(After(kMatmulText,
                    "split@1 n->(a,b) size=4 tail=shift\n"
                    "reorder@1 (a,k,b)\nvectorize@1 b lanes=4"),
              ::testing::HasSubstr("var Y.n in 9 repeats = min(a * 4, 5) + b\n"));
}

TEST(VectorizeTest, GuardsThatRfactorMadeConditionsAreNoHindrance) {
  EXPECT_THAT(After(kMatmulText,
                    "split@1 k->(ko,ki) size=2 tail=guard\n"
                    "rfactor@1 Y->Yr loop=ki\nreorder@1 (ko,ki)\n"
                    "vectorize@1 ki lanes=2"),
              ::testing::HasSubstr("vectorize(2) ki in 2 {\n          run Yr"));
}

TEST(VectorizeTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "unroll@1 n\n", .step = "vectorize@1 n lanes=4", .reason = "annotated already"},
      {.before = "reorder@1 (k,n)\n",
       .step = "vectorize@1 k lanes=4",
       .reason = "only its sum may be"},
      {.before = "", .step = "vectorize@1 n", .reason = "needs lanes="},
      {.before = "", .step = "vectorize@1 n lanes=6", .reason = "power of two from 2 to 64"},
      {.before = "", .step = "vectorize@1 n lanes=128", .reason = "power of two from 2 to 64"},
      {.before = "",
       .step = "vectorize@1 i lanes=8",
       .reason = "over 256 elements",
       .program_text = kLongText},
      {.before = "vectorize@1 m lanes=4\n",
       .step = "vectorize@1 n lanes=4",
       .reason = "inside a loop that is a vector already"},
      {.before = "vectorize@1 n lanes=4\n",
       .step = "vectorize@1 m lanes=4",
       .reason = "around a loop that is a vector already"},
      {.before = "split@1 n->(a,b) size=4 tail=guard\n",
       .step = "vectorize@1 b lanes=4",
       .reason = "would be guarded one by one"},
      {.before = "split@1 n->(a,b) size=4 tail=shift\nreorder@1 (b,a)\n",
       .step = "vectorize@1 b lanes=4",
       .reason = "iterations of b share elements of Y.n"},
  });
}

}  // namespace
}  // namespace burnish
