#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

const char kReversedText[] = R"(program/1 pad
input X: f32[10]
output Y: f32[12]
temp P: f32[12]
block P(h in 12) {
  step P[11 - h] = 0 <= h - 1 && h - 1 < 10 ? X[h - 1] : 0.0
}
block Y(h in 12) {
  step Y[h] = P[h]
}
)";

const char kStridedText[] = R"(program/1 pad
input X: f32[10]
output Y: f32[12]
temp P: f32[12]
block P(h in 12) {
  step P[h] = h < 5 ? X[h * 2] : 0.0
}
block Y(h in 12) {
  step Y[h] = P[h]
}
)";

const char kCutText[] = R"(program/1 pad
input X: f32[10]
output Y: f32[8]
temp P: f32[8]
block P(h in 8) {
  step P[h] = h < 8 ? X[h] : 0.0
}
block Y(h in 8) {
  step Y[h] = P[h]
}
)";

const char kOtherText[] = R"(program/1 pad
input X: f32[10]
output Y: f32[12]
temp P: f32[12]
block P(h in 12) {
  step P[h] = 0 <= h - 1 && h - 1 < 9 ? X[h - 1] : 0.0
}
block Y(h in 12) {
  step Y[h] = P[h]
}
)";

const char kThresholdText[] = R"(program/1 threshold
input X: f32[10]
output Y: f32[10]
temp P: f32[10]
block P(h in 10) {
  step P[h] = 1.0 < X[h] ? X[h] : 0.0
}
block Y(h in 10) {
  step Y[h] = P[h]
}
)";

const char kGoodText[] = R"(program/1 pad
input X: f32[10]
output Y: f32[12]
temp P: f32[12]
block P(h in 12) {
  step P[h] = 0 <= h - 1 && h - 1 < 10 ? X[h - 1] : 0.0
}
block Y(h in 12) {
  step Y[h] = P[h]
}
)";

const char kBorderedText[] = R"(program/1 pad
input X: f32[10] border [(1, 0)] 0.0
output Y: f32[12]
temp P: f32[12]
block P(h in 12) {
  step P[h] = 0 <= h - 1 && h - 1 < 10 ? X[h - 1] : 0.0
}
block Y(h in 12) {
  step Y[h] = P[h]
}
)";

const char kRankText[] = R"(program/1 rank
input X: f32[10]
output Y: f32[2, 12]
temp P: f32[2, 12]
block P(i in 2, h in 12) {
  step P[i, h] = 0 <= h - 1 && h - 1 < 10 ? X[h - 1] : 0.0
}
block Y(i in 2, h in 12) {
  step Y[i, h] = P[i, h]
}
)";

TEST(BorderTest, PaddingBecomesStorage) {
  EXPECT_EQ(After(kConvText, R"(border@1 P->X)"), R"(program/1 conv

input X: f32[10, 3] border [(1, 1), (0, 0)] 0.0
const W: f32[4, 3, 3]
output Z: f32[10, 4]
temp Y: f32[10, 4]

var Y.y in 10
var Y.o in 4
var Y.k in 3 reduce
var Y.d in 3 reduce
var Z.y in 10
var Z.o in 4

block Y(Y.y, Y.o; Y.k, Y.d) {
  step Y[Y.y, Y.o] += X[Y.y + Y.k - 1, Y.d] * W[Y.o, Y.k, Y.d]
}

block Z(Z.y, Z.o) {
  step Z[Z.y, Z.o] = max(Y[Z.y, Z.o], 0.0)
}

kernel {
  for Y.y in 10 {
    for Y.o in 4 {
      for Y.k in 3 {
        for Y.d in 3 {
          run Y
        }
      }
    }
  }
  for Z.y in 10 {
    for Z.o in 4 {
      run Z
    }
  }
}
)");
}

TEST(BorderTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "",
       .step = "border@1 P->Y",
       .reason = "Y is written here",
       .program_text = kConvText},
      {.before = "",
       .step = "border@1 Z->W",
       .reason = "output of Z is not private",
       .program_text = kConvText},
      {.before = "",
       .step = "border@1 Y->X",
       .reason = "is not (inside ? X[..] : value)",
       .program_text = kConvText},
      {.before = "",
       .step = "border@1 P->W",
       .reason = "is not (inside ? W[..] : value)",
       .program_text = kConvText},
      {.before = "",
       .step = "border@1 P->X",
       .reason = "is not (inside ? X[..] : value)",
       .program_text = kThresholdText},
      {.before = "",
       .step = "border@1 P->X",
       .reason = "does not write its elements in order",
       .program_text = kReversedText},
      {.before = "",
       .step = "border@1 P->X",
       .reason = "does not read one element further on a step",
       .program_text = kStridedText},
      {.before = "",
       .step = "border@1 P->X",
       .reason = "cuts elements off",
       .program_text = kCutText},
      {.before = "",
       .step = "border@1 P->X",
       .reason = "the condition of P is not: inside X",
       .program_text = kOtherText},
      {.before = "",
       .step = "border@1 P->X",
       .reason = "has another border already",
       .program_text = kBorderedText},
      {.before = "relayout@1 X->L dims=(P.h)\n",
       .step = "border@1 P->X",
       .reason = "is not (inside",
       .program_text = kGoodText},
      {.before = "",
       .step = "border@1 P->X",
       .reason = "has other dimensions than X",
       .program_text = kRankText},
  });
}

}  // namespace
}  // namespace burnish
