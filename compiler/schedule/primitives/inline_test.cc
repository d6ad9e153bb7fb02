#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

const char kTransposedText[] = R"(program/1 transposed
input X: f32[4, 4]
output Y: f32[4, 4]
temp T: f32[4, 4]
block T(i in 4, j in 4) {
  step T[j, i] = X[i, j]
}
block Y(i in 4, j in 4) {
  step Y[i, j] = T[i, j]
}
)";

const char kThreeText[] = R"(program/1 three
input X: f32[4, 4]
output Y: f32[4, 4]
temp E: f32[4, 4]
temp F: f32[4, 4]
block E(i in 4, j in 4) {
  step E[i, j] = X[i, j] + 1.0
}
block F(i in 4, j in 4) {
  step F[i, j] = E[i, j] * 2.0
}
block Y(i in 4, j in 4) {
  step Y[i, j] = F[i, j]
}
)";

TEST(InlineTest, TheReaderComputesTheValue) {
  EXPECT_EQ(After(kConvText, R"(inline@1 P)"), R"(program/1 conv

input X: f32[10, 3]
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
  step Y[Y.y, Y.o] += (0 <= Y.y + Y.k - 1 && Y.y + Y.k - 1 < 10 ? X[Y.y + Y.k - 1, Y.d] : 0.0) * W[Y.o, Y.k, Y.d]
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

TEST(InlineTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "",
       .step = "inline@1 Y",
       .reason = "Y has a reduction",
       .program_text = kConvText},
      {.before = "",
       .step = "inline@1 Z",
       .reason = "output of Z is not private",
       .program_text = kConvText},
      {.before = "",
       .step = "inline@1 T",
       .reason = "does not write its elements in order",
       .program_text = kTransposedText},
      {.before = "relayout@1 X->L dims=(P.h,P.c)\nsplit@1 P.h->(a,b) size=4\nrelayout@1 L->LL "
                 "dims=(a,b,P.c)\n",
       .step = "inline@1 P",
       .reason = "reads by its loop a",
       .program_text = kConvText},
      {.before = "compute_at@1 E->(a,b) inside=F.i\n",
       .step = "inline@1 F",
       .reason = "F reads E, which is computed in its loops",
       .program_text = kThreeText},
  });
}

}  // namespace
}  // namespace burnish
