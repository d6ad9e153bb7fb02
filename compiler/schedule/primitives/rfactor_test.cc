#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

const char kWeightsText[] = R"(program/1 weights
input X: f32[4]
const W: f32[4, 6, 3]
output Y: f32[4]
temp U: f32[4]
block U(i in 4; j in 6, l in 3) {
  step U[i] += W[i, j, l]
}
block Y(i in 4; k in 4) {
  step Y[i] += U[i] * X[k]
}
)";

const char kBiasText[] = R"(program/1 bias
input X: f32[7, 6]
const B: f32[7]
output Y: f32[7]
block Y(m in 7; k in 6) {
  init B[m]
  step Y[m] += X[m, k]
}
)";

TEST(RfactorTest, PartialResultsAndABlockThatCombinesThem) {
  EXPECT_EQ(After(kMatmulText, R"(split@1 k->(ko,ki) size=2 tail=guard
rfactor@1 Y->Yr loop=ki)"),
            R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]
temp Yr: f32[7, 9, 2]

var Y.m in 7
var Y.n in 9
var Y.k in 5 reduce guarded = ko * 2 + ki
var ko in 3 reduce
var ki in 2
var Yr.Y.m in 7
var Yr.Y.n in 9
var Yr.ki in 2 reduce

block Y(Yr.Y.m, Yr.Y.n; Yr.ki) {
  step Y[Yr.Y.m, Yr.Y.n] += Yr[Yr.Y.m, Yr.Y.n, Yr.ki]
  finish max(self, 0.0)
}

block Yr(Y.m, Y.n, ki; ko) {
  step Yr[Y.m, Y.n, ki] += ko * 2 + ki < 5 ? X[Y.m, ko * 2 + ki] * W[ko * 2 + ki, Y.n] : 0.0
}

kernel {
  for Y.m in 7 {
    for Y.n in 9 {
      for ko in 3 {
        for ki in 2 {
          run Yr
        }
      }
    }
  }
  for Yr.Y.m in 7 {
    for Yr.Y.n in 9 {
      for Yr.ki in 2 {
        run Y
      }
    }
  }
}
)");
}

TEST(RfactorTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "", .step = "rfactor@1 Y->X loop=k", .reason = "there is a buffer 'X' already"},
      {.before = "",
       .step = "rfactor@1 P->R loop=Y.k",
       .reason = "Y.k is no reduction loop of P",
       .program_text = kConvText},
      {.before = "", .step = "rfactor@1 Y->R loop=m", .reason = "m is no reduction loop of Y"},
      {.before = "split@1 k->(a,b) max=3\n",
       .step = "rfactor@1 Y->R loop=b",
       .reason = "extent of b is not constant"},
      {.before = "split@1 k->(a,b) max=3\n",
       .step = "rfactor@1 Y->R loop=a",
       .reason = "extent of b is not constant"},
      {.before = "compute_at@1 P->(a,b) inside=Y.y\n",
       .step = "rfactor@1 Y->R loop=Y.k",
       .reason = "Y shares its nest",
       .program_text = kConvText},
      {.before = "stage@1 Y->acc inside=n scope=scratch\n",
       .step = "rfactor@1 Y->R loop=k",
       .reason = "Y is staged"},
      {.before = "",
       .step = "rfactor@1 Y->R loop=k",
       .reason = "k is the only reduction loop: split it first"},
      {.before = "split@1 k->(a,b) size=2\nprecompute@1 U\n",
       .step = "rfactor@1 U->R loop=U.j",
       .reason = "is in the pack function",
       .program_text = kWeightsText},
      {.before = "",
       .step = "rfactor@1 Y->Z loop=Y.k",
       .reason = "there is a buffer 'Z' already",
       .program_text = kConvText},
      {.before =
           "split@1 m->(a,b) size=4\nsplit@1 k->(ko,ki) size=2\nrelayout@1 B->BL dims=(a,b)\n",
       .step = "rfactor@1 Y->R loop=ki",
       .reason = "reads by its loop",
       .program_text = kBiasText},
  });
}

}  // namespace
}  // namespace burnish
