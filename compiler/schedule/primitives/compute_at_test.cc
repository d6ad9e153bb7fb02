#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gmock/gmock.h"
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

TEST(ComputeAtTest, RegionThatTheBodyReads) {
  EXPECT_EQ(After(kConvText, R"(split@1 Y.y->(yo,yi) size=4
compute_at@1 P->(ph,pc) inside=yo)"),
            R"(program/1 conv

input X: f32[10, 3]
const W: f32[4, 3, 3]
output Z: f32[10, 4]
temp P: f32[6, 3]
temp Y: f32[10, 4]

var P.h in 12 = yo * 4 + ph
var P.c in 3 = pc
var Y.y in 10 = yo * 4 + yi
var Y.o in 4
var Y.k in 3 reduce
var Y.d in 3 reduce
var Z.y in 10
var Z.o in 4
var yo in 3
var yi in min(4, 10 - yo * 4)
var ph in min(6, 12 - yo * 4)
var pc in 3

block P(P.h, P.c) {
  step P[ph, pc] = 0 <= P.h - 1 && P.h - 1 < 10 ? X[P.h - 1, P.c] : 0.0
}

block Y(Y.y, Y.o; Y.k, Y.d) {
  step Y[Y.y, Y.o] += P[Y.y + Y.k - yo * 4, Y.d] * W[Y.o, Y.k, Y.d]
}

block Z(Z.y, Z.o) {
  step Z[Z.y, Z.o] = max(Y[Z.y, Z.o], 0.0)
}

kernel {
  for yo in 3 {
    for ph in min(6, 12 - yo * 4) {
      for pc in 3 {
        run P
      }
    }
    for yi in min(4, 10 - yo * 4) {
      for Y.o in 4 {
        for Y.k in 3 {
          for Y.d in 3 {
            run Y
          }
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

// What others call cache_read.
TEST(ComputeAtTest, CopyOfTheWindowThatTheBodyReads) {
  EXPECT_EQ(After(kMatmulText, R"(split@1 m->(mo,mi) size=3
relayout@1 X->L dims=(m,k)
compute_at@1 L->(lm,lk) inside=mo)"),
            R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]
temp L: f32[3, 5]

var Y.m in 7 = mo * 3 + mi
var Y.n in 9
var Y.k in 5 reduce
var mo in 3
var mi in min(3, 7 - mo * 3)
var L.m in 7 = mo * 3 + lm
var L.k in 5 = lk
var lm in min(3, 7 - mo * 3)
var lk in 5

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += L[Y.m - mo * 3, Y.k] * W[Y.k, Y.n]
  finish max(self, 0.0)
}

block L(L.m, L.k) {
  step L[lm, lk] = X[L.m, L.k]
}

kernel {
  for mo in 3 {
    for lm in min(3, 7 - mo * 3) {
      for lk in 5 {
        run L
      }
    }
    for mi in min(3, 7 - mo * 3) {
      for Y.n in 9 {
        for Y.k in 5 {
          run Y
        }
      }
    }
  }
}
)");
}

TEST(ComputeAtTest, RowsMayBeginAtMultiples) {
  EXPECT_THAT(After(kConvText, "compute_at@1 P->(a,b) inside=Y.y align=4"),
              ::testing::HasSubstr("temp P: f32[3, 3] strides [4, 1]\n"));
}

TEST(ComputeAtTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "",
       .step = "compute_at@1 Z->(a,b) inside=Y.y",
       .reason = "output of Z is not private",
       .program_text = kConvText},
      {.before = "compute_at@1 P->(a,b) inside=Y.y\n",
       .step = "compute_at@1 P->(c,d) inside=Y.y",
       .reason = "inside the loop already",
       .program_text = kConvText},
      {.before = "split@1 P.h->(a,b) size=2\n",
       .step = "compute_at@1 P->(c,d) inside=Y.y",
       .reason = "scheduled already",
       .program_text = kConvText},
      {.before = "split@1 Y.k->(a,b) size=2\n",
       .step = "compute_at@1 Y->(c,d) inside=Z.y",
       .reason = "scheduled already",
       .program_text = kConvText},
      {.before = "unroll@1 P.c\n",
       .step = "compute_at@1 P->(c,d) inside=Y.y",
       .reason = "scheduled already",
       .program_text = kConvText},
      {.before = "prefetch@1 X this=P.h to=L1\n",
       .step = "compute_at@1 P->(c,d) inside=Y.y",
       .reason = "scheduled already",
       .program_text = kConvText},
      {.before = "compute_at@1 P->(a,b) inside=Y.y\n",
       .step = "compute_at@1 Y->(c,d) inside=Z.y",
       .reason = "Y shares its nest",
       .program_text = kConvText},
      {.before = "",
       .step = "compute_at@1 P->(a,b) inside=Z.y",
       .reason = "Y reads P outside the loop",
       .program_text = kConvText},
      {.before = "stage@1 Y->acc inside=Y.y scope=scratch\n",
       .step = "compute_at@1 P->(a,b) inside=Y.o",
       .reason = "the loop is inside a stage",
       .program_text = kConvText},
      {.before = "",
       .step = "compute_at@1 P->a inside=Y.y",
       .reason = "want a name for each of the 2 axes",
       .program_text = kConvText},
      {.before = "",
       .step = "compute_at@1 P->(a,Y.k) inside=Y.y",
       .reason = "there is a variable 'Y.k' already",
       .program_text = kConvText},
      {.before = "split@1 Y.y->(a,b) size=9 tail=guard\n",
       .step = "compute_at@1 P->(c,d) inside=b",
       .reason = "is needed in some iterations of b",
       .program_text = kConvText},
      {.before = "",
       .step = "compute_at@1 P->(a,b) inside=Y.y align=0",
       .reason = "align must be 1 to 1024",
       .program_text = kConvText},
      {.before = "",
       .step = "compute_at@1 T->(a,b) inside=Y.i",
       .reason = "does not write its elements in order",
       .program_text = kTransposedText},
  });
}

}  // namespace
}  // namespace burnish
