#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

const char kMaximumText[] = R"(program/1 maximum
input X: f32[7, 5]
output Z: f32[7]
temp E: f32[7]
block E(i in 7; k in 5) {
  step E[i] max= X[i, k]
}
block Z(i in 7) {
  step Z[i] = E[i]
}
)";

TEST(SplitTest, MaxGivesTilesThatDifferByAtMostOne) {
  EXPECT_EQ(After(kMatmulText, R"(split@1 m->(mt,mi) max=3)"), R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]

var Y.m in 7 = mt * 2 + min(mt, 1) + mi
var Y.n in 9
var Y.k in 5 reduce
var mt in 3
var mi in mt < 1 ? 3 : 2

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += X[Y.m, Y.k] * W[Y.k, Y.n]
  finish max(self, 0.0)
}

kernel {
  for mt in 3 {
    for mi in mt < 1 ? 3 : 2 {
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

// Output channels of a grouped convolution: o // 4 is the group, whatever becomes of the rest.
TEST(SplitTest, QuotientsByTheSizeOfAnEvenSplitAreItsLoops) {
  const char text[] = R"(program/1 grouped
input X: f32[5, 6]
const W: f32[12, 2]
output Y: f32[5, 12]
block Y(m in 5, o in 12; c in 2) {
  step Y[m, o] += X[m, o // 4 * 2 + c] * W[o, c]
}
)";
  EXPECT_EQ(After(text, R"(split@1 o->(g,i) size=4
split@1 i->(ia,ib) size=3)"),
            R"(program/1 grouped

input X: f32[5, 6]
const W: f32[12, 2]
output Y: f32[5, 12]

var Y.m in 5
var Y.o in 12 = g * 4 + i
var Y.c in 2 reduce
var g in 3
var i in 4 = ia * 3 + ib
var ia in 2
var ib in min(3, 4 - ia * 3)

block Y(Y.m, Y.o; Y.c) {
  step Y[Y.m, Y.o] += X[Y.m, g * 2 + Y.c] * W[Y.o, Y.c]
}

kernel {
  for Y.m in 5 {
    for g in 3 {
      for ia in 2 {
        for ib in min(3, 4 - ia * 3) {
          for Y.c in 2 {
            run Y
          }
        }
      }
    }
  }
}
)");
}

TEST(SplitTest, PartsGiveThatManyTiles) {
  EXPECT_EQ(After(kMatmulText, R"(split@1 n->(p,n1) parts=2)"), R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]

var Y.m in 7
var Y.n in 9 = p * 4 + min(p, 1) + n1
var Y.k in 5 reduce
var p in 2
var n1 in p < 1 ? 5 : 4

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += X[Y.m, Y.k] * W[Y.k, Y.n]
  finish max(self, 0.0)
}

kernel {
  for Y.m in 7 {
    for p in 2 {
      for n1 in p < 1 ? 5 : 4 {
        for Y.k in 5 {
          run Y
        }
      }
    }
  }
}
)");
}

TEST(SplitTest, RaggedCutsTheLastTileShort) {
  EXPECT_EQ(After(kMatmulText, R"(split@1 n->(no,ni) size=4)"), R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]

var Y.m in 7
var Y.n in 9 = no * 4 + ni
var Y.k in 5 reduce
var no in 3
var ni in min(4, 9 - no * 4)

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += X[Y.m, Y.k] * W[Y.k, Y.n]
  finish max(self, 0.0)
}

kernel {
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

TEST(SplitTest, GuardSkipsWhatIsBeyondTheEnd) {
  EXPECT_EQ(After(kMatmulText, R"(split@1 n->(no,ni) size=4 tail=guard)"), R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]

var Y.m in 7
var Y.n in 9 guarded = no * 4 + ni
var Y.k in 5 reduce
var no in 3
var ni in 4

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += X[Y.m, Y.k] * W[Y.k, Y.n]
  finish max(self, 0.0)
}

kernel {
  for Y.m in 7 {
    for no in 3 {
      for ni in 4 {
        for Y.k in 5 {
          run Y
        }
      }
    }
  }
}
)");
}

TEST(SplitTest, PadLengthensAPrivateBuffer) {
  EXPECT_EQ(After(kConvText, R"(split@1 Y.o->(oo,oi) size=3 tail=pad)"), R"(program/1 conv

input X: f32[10, 3]
const W: f32[4, 3, 3]
output Z: f32[10, 4]
temp P: f32[12, 3]
temp Y: f32[10, 6]

var P.h in 12
var P.c in 3
var Y.y in 10
var Y.o in 6 = oo * 3 + oi
var Y.k in 3 reduce
var Y.d in 3 reduce
var Z.y in 10
var Z.o in 4
var oo in 2
var oi in 3

block P(P.h, P.c) {
  step P[P.h, P.c] = 0 <= P.h - 1 && P.h - 1 < 10 ? X[P.h - 1, P.c] : 0.0
}

block Y(Y.y, Y.o; Y.k, Y.d) {
  step Y[Y.y, Y.o] += Y.o < 4 ? P[Y.y + Y.k, Y.d] * W[Y.o, Y.k, Y.d] : 0.0
}

block Z(Z.y, Z.o) {
  step Z[Z.y, Z.o] = max(Y[Z.y, Z.o], 0.0)
}

kernel {
  for P.h in 12 {
    for P.c in 3 {
      run P
    }
  }
  for Y.y in 10 {
    for oo in 2 {
      for oi in 3 {
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

TEST(SplitTest, PadOfAReductionAddsNothing) {
  EXPECT_EQ(After(kMatmulText, R"(split@1 k->(ko,ki) size=3 tail=pad)"), R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]

var Y.m in 7
var Y.n in 9
var Y.k in 6 reduce = ko * 3 + ki
var ko in 2 reduce
var ki in 3 reduce

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += Y.k < 5 ? X[Y.m, Y.k] * W[Y.k, Y.n] : 0.0
  finish max(self, 0.0)
}

kernel {
  for Y.m in 7 {
    for Y.n in 9 {
      for ko in 2 {
        for ki in 3 {
          run Y
        }
      }
    }
  }
}
)");
}

TEST(SplitTest, ShiftComputesTheOverlapTwice) {
  EXPECT_EQ(After(kMatmulText, R"(split@1 n->(no,ni) size=4 tail=shift)"), R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]

var Y.m in 7
var Y.n in 9 repeats = min(no * 4, 5) + ni
var Y.k in 5 reduce
var no in 3
var ni in 4

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += X[Y.m, Y.k] * W[Y.k, Y.n]
  finish max(self, 0.0)
}

kernel {
  for Y.m in 7 {
    for no in 3 {
      for ni in 4 {
        for Y.k in 5 {
          run Y
        }
      }
    }
  }
}
)");
}

TEST(SplitTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "",
       .step = "split@1 (m,n)->(a,b) size=2",
       .reason = "got 2 names and 2 results, want 1 and 2"},
      {.before = "", .step = "split@1 m->a size=2", .reason = "got 1 names and 1 results"},
      {.before = "", .step = "split@1 q->(a,b) size=2", .reason = "no variable 'q'"},
      {.before = "split@1 m->(a,b) size=2\n",
       .step = "split@1 m->(c,d) size=2",
       .reason = "'m' is no loop any more"},
      {.before = "unroll@1 m\n", .step = "split@1 m->(a,b) size=2", .reason = "annotated already"},
      {.before = "",
       .step = "split@1 m->(Y.n,b) size=2",
       .reason = "there is a variable 'Y.n' already"},
      {.before = "",
       .step = "split@1 m->(a,a) size=2",
       .reason = "the two new loops have one name"},
      {.before = "", .step = "split@1 m->(a,b)", .reason = "split needs size="},
      {.before = "", .step = "split@1 m->(a,b) size=0", .reason = "got size out of range"},
      {.before = "", .step = "split@1 m->(a,b) max=-1", .reason = "got max out of range"},
      {.before = "", .step = "split@1 m->(a,b) parts=8", .reason = "more parts than elements"},
      {.before = "",
       .step = "split@1 m->(a,b) size=2 tail=torn",
       .reason = "want ragged, guard, pad or shift"},
      {.before = "",
       .step = "split@1 m->(a,b) size=8 tail=shift",
       .reason = "constant extent of at least the size"},
      {.before = "",
       .step = "split@1 k->(a,b) size=2 tail=shift",
       .reason = "add terms of a reduction twice"},
      {.before = "reorder@1 (k,n)\n",
       .step = "split@1 n->(a,b) size=4 tail=shift",
       .reason = "would be outside a shifted tile"},
      {.before = "split@1 m->(mt,mi) max=3\nsplit@1 mi->(a,b) max=2\n",
       .step = "split@1 b->(c,d) size=2 tail=pad",
       .reason = "tail=pad wants a constant extent"},
      {.before = "",
       .step = "split@1 m->(a,b) size=4 tail=pad",
       .reason = "beyond the end of Y, which is not private"},
      {.before = "split@1 k->(a,b) parts=1\n",
       .step = "split@1 b->(c,d) size=3 tail=pad",
       .reason = "tail=pad wants an axis of Y itself"},
      {.before = "compute_at@1 P->(a,b) inside=Y.y\n",
       .step = "split@1 Y.y->(c,d) size=3 tail=pad",
       .reason = "a loop around one block",
       .program_text = kConvText},
      {.before = "",
       .step = "split@1 E.i->(c,d) size=3 tail=pad",
       .reason = "tail=pad wants a sum",
       .program_text = kMaximumText},
      {.before = "split@1 m->(mt,mi) max=4\nsplit@1 mi->(a,b) size=3\n",
       .step = "split@1 mt->(c,d) size=3 tail=guard",
       .reason = "depends on mt"},
  });
}

}  // namespace
}  // namespace burnish
