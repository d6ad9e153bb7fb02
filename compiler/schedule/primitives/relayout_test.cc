#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

const char kBiasText[] = R"(program/1 bias
input X: f32[7, 6]
const B: f32[7]
output Y: f32[7]
block Y(m in 7; k in 6) {
  init B[m]
  step Y[m] += X[m, k]
}
)";

const char kTwiceText[] = R"(program/1 twice
input X: f32[9]
output Y: f32[8]
block Y(i in 8) {
  step Y[i] = X[i] + X[i + 1]
}
)";

const char kGatherText[] = R"(program/1 gather
input X: f32[5, 3]
input I: i64[4]
output Y: f32[4, 3]
block Y(i in 4, j in 3) {
  step Y[i, j] = X[bounds_check(I[i], 5), j]
}
)";

const char kBroadcastText[] = R"(program/1 broadcast
input B: f32[3]
output Y: f32[700, 500]
block Y(i in 700, j in 500) {
  step Y[i, j] = B[0]
}
)";

const char kOneText[] = R"(program/1 one
input B: f32[3, 1]
output Y: f32[3, 1]
block Y(i in 3, j in 1) {
  step Y[i, j] = B[i, j]
}
)";

TEST(RelayoutTest, ReaderReadsTheCopyInItsOwnOrder) {
  EXPECT_EQ(After(kMatmulText, R"(split@1 n->(no,ni) size=4
relayout@1 W->Wp dims=(no,k,ni))"),
            R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]
temp Wp: f32[3, 5, 4]

var Y.m in 7
var Y.n in 9 = no * 4 + ni
var Y.k in 5 reduce
var no in 3
var ni in min(4, 9 - no * 4)
var Wp.no in 3
var Wp.k in 5
var Wp.ni in 4

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += X[Y.m, Y.k] * Wp[no, Y.k, ni]
  finish max(self, 0.0)
}

block Wp(Wp.no, Wp.k, Wp.ni) {
  step Wp[Wp.no, Wp.k, Wp.ni] = Wp.no * 4 + Wp.ni < 9 ? W[Wp.k, Wp.no * 4 + Wp.ni] : 0.0
}

kernel {
  for Wp.no in 3 {
    for Wp.k in 5 {
      for Wp.ni in 4 {
        run Wp
      }
    }
  }
  for Y.m in 7 {
    for no in 3 {
      for ni in min(4, 9 - no * 4) {
        for Y.k in 5 {
          run Y
        }
      }
    }
  }
}
)");
}

TEST(RelayoutTest, ABorderIsCopiedToo) {
  EXPECT_EQ(After(kConvText, R"(border@1 P->X
relayout@1 X->L dims=(Y.k,Y.y,Y.d))"),
            R"(program/1 conv

input X: f32[10, 3] border [(1, 1), (0, 0)] 0.0
const W: f32[4, 3, 3]
output Z: f32[10, 4]
temp Y: f32[10, 4]
temp L: f32[3, 10, 3]

var Y.y in 10
var Y.o in 4
var Y.k in 3 reduce
var Y.d in 3 reduce
var Z.y in 10
var Z.o in 4
var L.Y.k in 3
var L.Y.y in 10
var L.Y.d in 3

block Y(Y.y, Y.o; Y.k, Y.d) {
  step Y[Y.y, Y.o] += L[Y.k, Y.y, Y.d] * W[Y.o, Y.k, Y.d]
}

block Z(Z.y, Z.o) {
  step Z[Z.y, Z.o] = max(Y[Z.y, Z.o], 0.0)
}

block L(L.Y.k, L.Y.y, L.Y.d) {
  step L[L.Y.k, L.Y.y, L.Y.d] = X[L.Y.k + L.Y.y + -1, L.Y.d]
}

kernel {
  for L.Y.k in 3 {
    for L.Y.y in 10 {
      for L.Y.d in 3 {
        run L
      }
    }
  }
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

TEST(RelayoutTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "",
       .step = "relayout@1 W->X dims=(k,n)",
       .reason = "there is a buffer 'X' already"},
      {.before = "", .step = "relayout@1 W->L", .reason = "needs dims="},
      {.before = "", .step = "relayout@1 V->L dims=(k,n)", .reason = "no buffer 'V'"},
      {.before = "",
       .step = "relayout@1 Y->L dims=(m,n)",
       .reason = "want exactly one block that reads Y"},
      {.before = "",
       .step = "relayout@1 X->L dims=(i)",
       .reason = "X is read at several places",
       .program_text = kTwiceText},
      {.before = "", .step = "relayout@1 W->L dims=(k,k)", .reason = "dimension k is named twice"},
      {.before = "",
       .step = "relayout@1 W->L dims=(k)",
       .reason = "index 1 of W needs a variable that is no dimension"},
      {.before = "",
       .step = "relayout@1 W->L dims=(Y.o,Y.k,Y.d,P.h)",
       .reason = "P.h is no variable of Y",
       .program_text = kConvText},
      {.before = "",
       .step = "relayout@1 W->L dims=(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y)",
       .reason = "over 24 dimensions"},
      {.before = "relayout@1 W->L dims=(k,n)\nprecompute@1 L\n",
       .step = "relayout@1 W->LL dims=(L.k,L.n)",
       .reason = "is in the pack function"},
      {.before = "compute_at@1 P->(a,b) inside=Y.y\n",
       .step = "relayout@1 P->L dims=(Y.k,Y.d)",
       .reason = "is written in the nest that reads it",
       .program_text = kConvText},
      {.before = "",
       .step = "relayout@1 X->L dims=(i,j)",
       .reason = "is read from a table",
       .program_text = kGatherText},
      {.before = "",
       .step = "relayout@1 B->L dims=(i,j)",
       .reason = "over four times as large",
       .program_text = kBroadcastText},
      {.before = "fuse@1 (i,j)->f\n",
       .step = "relayout@1 B->L dims=(i,j)",
       .reason = "is constant",
       .program_text = kOneText},
      {.before = "",
       .step = "relayout@1 B->L dims=(m,k)",
       .reason = "is read by init or finish, outside of loop k",
       .program_text = kBiasText},
  });
}

}  // namespace
}  // namespace burnish
