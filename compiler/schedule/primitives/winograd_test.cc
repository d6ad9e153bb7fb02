#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/substitute.h"
#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/schedule/primitives/primitive_test_util.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

const char kConv2dText[] = R"(program/1 conv2d
input X: f32[1, 5, 6, 3]
const W: f32[4, 3, 3, 3]
output Y: f32[1, 5, 6, 4]
temp P: f32[1, 7, 8, 3]
block P(n in 1, h in 7, w in 8, c in 3) {
  step P[n, h, w, c] = 0 <= h - 1 && h - 1 < 5 && 0 <= w - 1 && w - 1 < 6 ? X[n, h - 1, w - 1, c] : 0.0
}
block Y(n in 1, y in 5, x in 6, o in 4; ky in 3, kx in 3, c in 3) {
  step Y[n, y, x, o] += P[n, y + ky, x + kx, c] * W[o, c, ky, kx]
  finish max(self, 0.0)
}
)";

const char kStrideText[] = R"(program/1 stride
input X: f32[1, 7, 7, 3]
const W: f32[4, 3, 3, 3]
output Y: f32[1, 3, 2, 4]
block Y(n in 1, y in 3, x in 2, o in 4; ky in 3, kx in 3, c in 3) {
  step Y[n, y, x, o] += X[n, y * 2 + ky, x * 3 + kx, c] * W[o, c, ky, kx]
}
)";

// Three outputs of each group, from that group's two channels.
const char kGroupedText[] = R"(program/1 grouped
input X: f32[1, 6, 6, 4]
const W: f32[6, 2, 3, 3]
output Y: f32[1, 4, 4, 6]
block Y(n in 1, y in 4, x in 4, o in 6; ky in 3, kx in 3, c in 2) {
  step Y[n, y, x, o] += X[n, y + ky, x + kx, o // 3 * 2 + c] * W[o, c, ky, kx]
}
)";

TEST(WinogradTest, AGroupsOutputsSumOverItsOwnChannels) {
  const std::string text = After(kGroupedText, R"(winograd@1 Y->(U,V0,V,M,T) m=4)");
  EXPECT_THAT(text, ::testing::HasSubstr("temp V: f32[6, 6, 1, 4]\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("M.o // 3 * 2 + M.c] * U[M.a, M.b, M.c, M.o]"));
}

// 5 x 6 outputs are no whole tiles: the padding grows.
TEST(WinogradTest, TransformsProductAndTransformBack) {
  EXPECT_EQ(After(kConv2dText, R"(winograd@1 Y->(U,V0,V,M,T) m=2)"),
            R"(program/1 conv2d
numerics winograd(2)

input X: f32[1, 5, 6, 3]
const W: f32[4, 3, 3, 3]
output Y: f32[1, 5, 6, 4]
temp P: f32[1, 8, 8, 3]
temp U: f32[4, 4, 3, 4]
temp V0: f32[4, 4, 9, 3]
temp V: f32[4, 4, 9, 3]
temp M: f32[4, 4, 9, 4]
temp T: f32[2, 4, 9, 4]
table $0: f32[2, 4] {1.0, 1.0, 1.0, 0.0, 0.0, 1.0, -1.0, 1.0}
table $1: f32[4, 3] {-1.0, -0.0, -0.0, 0.5, 0.5, 0.5, 0.5, -0.5, 0.5, 0.0, 0.0, 1.0}
table $2: f32[4, 4] {-1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, -1.0, 1.0, 0.0, 0.0, -1.0, 0.0, 1.0}

var P.n in 1
var P.h in 8
var P.w in 8
var P.c in 3
var Y.n in 1
var Y.y in 5
var Y.x in 6
var Y.o in 4
var U.a in 4
var U.b in 4
var U.c in 3
var U.o in 4
var U.ky in 3 reduce
var U.kx in 3 reduce
var V0.a in 4
var V0.j in 4
var V0.t in 9
var V0.c in 3
var V0.i in 4 reduce
var V.a in 4
var V.b in 4
var V.t in 9
var V.c in 3
var V.j in 4 reduce
var M.a in 4
var M.b in 4
var M.t in 9
var M.o in 4
var M.c in 3 reduce
var T.p in 2
var T.b in 4
var T.t in 9
var T.o in 4
var T.a in 4 reduce
var Y.b in 4 reduce

block P(P.n, P.h, P.w, P.c) {
  step P[P.n, P.h, P.w, P.c] = 0 <= P.h - 1 && P.h - 1 < 5 && 0 <= P.w - 1 && P.w - 1 < 6 && P.h - 1 < 5 ? X[P.n, P.h - 1, P.w - 1, P.c] : 0.0
}

block Y(Y.n, Y.y, Y.x, Y.o; Y.b) {
  step Y[Y.n, Y.y, Y.x, Y.o] += $0[Y.x % 2, Y.b] * T[Y.y % 2, Y.b, (Y.n * 3 + Y.y // 2) * 3 + Y.x // 2, Y.o]
  finish max(self, 0.0)
}

block U(U.a, U.b, U.c, U.o; U.ky, U.kx) {
  step U[U.a, U.b, U.c, U.o] += $1[U.a, U.ky] * $1[U.b, U.kx] * W[U.o, U.c, U.ky, U.kx]
}

block V0(V0.a, V0.j, V0.t, V0.c; V0.i) {
  step V0[V0.a, V0.j, V0.t, V0.c] += $2[V0.a, V0.i] * P[V0.t // 9, V0.t // 3 % 3 * 2 + V0.i, V0.t % 3 * 2 + V0.j, V0.c]
}

block V(V.a, V.b, V.t, V.c; V.j) {
  step V[V.a, V.b, V.t, V.c] += $2[V.b, V.j] * V0[V.a, V.j, V.t, V.c]
}

block M(M.a, M.b, M.t, M.o; M.c) {
  step M[M.a, M.b, M.t, M.o] += V[M.a, M.b, M.t, M.c] * U[M.a, M.b, M.c, M.o]
}

block T(T.p, T.b, T.t, T.o; T.a) {
  step T[T.p, T.b, T.t, T.o] += $0[T.p, T.a] * M[T.a, T.b, T.t, T.o]
}

kernel {
  for P.n in 1 {
    for P.h in 8 {
      for P.w in 8 {
        for P.c in 3 {
          run P
        }
      }
    }
  }
  for U.a in 4 {
    for U.b in 4 {
      for U.c in 3 {
        for U.o in 4 {
          for U.ky in 3 {
            for U.kx in 3 {
              run U
            }
          }
        }
      }
    }
  }
  for V0.a in 4 {
    for V0.j in 4 {
      for V0.t in 9 {
        for V0.c in 3 {
          for V0.i in 4 {
            run V0
          }
        }
      }
    }
  }
  for V.a in 4 {
    for V.b in 4 {
      for V.t in 9 {
        for V.c in 3 {
          for V.j in 4 {
            run V
          }
        }
      }
    }
  }
  for M.a in 4 {
    for M.b in 4 {
      for M.t in 9 {
        for M.o in 4 {
          for M.c in 3 {
            run M
          }
        }
      }
    }
  }
  for T.p in 2 {
    for T.b in 4 {
      for T.t in 9 {
        for T.o in 4 {
          for T.a in 4 {
            run T
          }
        }
      }
    }
  }
  for Y.n in 1 {
    for Y.y in 5 {
      for Y.x in 6 {
        for Y.o in 4 {
          for Y.b in 4 {
            run Y
          }
        }
      }
    }
  }
}
)");
}

// Heights and widths that are no multiples of a tile, pads that are not symmetric, a batch, a bias.
TEST(WinogradTest, EveryTileSizeComputesTheConvolution) {
  struct Pads {
    int top, left, bottom, right;
  };
  for (const int stride : {1, 2}) {
    for (const Pads& pads : {Pads{1, 1, 1, 1}, {2, 0, 1, 1}, {0, 1, 0, 2}}) {
      const int in_h = 7 + pads.top + pads.bottom, in_w = 9 + pads.left + pads.right;
      const std::string text = absl::Substitute(
          R"(program/1 conv2d
             input X: f32[2, 7, 9, 3]  const W: f32[4, 3, 3, 3]  const B: f32[4]
             output Y: f32[2, $0, $1, 4]  temp P: f32[2, $2, $3, 3]
             block P(n in 2, h in $2, w in $3, c in 3) {
               step P[n, h, w, c] = $4 <= h && h < $4 + 7 && $5 <= w && w < $5 + 9
                                    ? X[n, h - $4, w - $5, c] : 0.0
             }
             block Y(n in 2, y in $0, x in $1, o in 4; ky in 3, kx in 3, c in 3) {
               init B[o]
               step Y[n, y, x, o] += P[n, y * $6 + ky, x * $6 + kx, c] * W[o, c, ky, kx]
             })",
          (in_h - 3) / stride + 1, (in_w - 3) / stride + 1, in_h, in_w, pads.top, pads.left,
          stride);
      for (const int m : {2, 4, 6}) {
        const std::string after =
            After(text, absl::Substitute("winograd@1 Y->(U,V0,V,M,T) m=$0", m));
        EXPECT_NE(after.find(absl::Substitute("numerics winograd($0)", m)), std::string::npos);
      }
    }
  }
}

// Rows and columns that the padding never reached lie outside once it grows to whole tiles.
TEST(WinogradTest, ConditionThatLeftOutWhatWasAlwaysSoIsCompleted) {
  const std::string after = After(R"(program/1 conv2d
      input X: f32[1, 5, 6, 1]  const W: f32[4, 1, 3, 3]
      output Y: f32[1, 3, 5, 4]  temp P: f32[1, 5, 7, 1]
      block P(n in 1, h in 5, w in 7, c in 1) {
        step P[n, h, w, c] = 1 <= w ? X[n, h, w - 1, c] : 0.0
      }
      block Y(n in 1, y in 3, x in 5, o in 4; ky in 3, kx in 3, c in 1) {
        step Y[n, y, x, o] += P[n, y + ky, x + kx, c] * W[o, c, ky, kx]
      })",
                                  "winograd@1 Y->(U,V0,V,M,T) m=4");
  EXPECT_NE(after.find("1 <= P.w && P.h < 5 && P.w - 1 < 6 ?"), std::string::npos) << after;
}

const char kNarrowText[] = R"(program/1 narrow
input X: bf16[1, 10, 9, 3]
const W: bf16[4, 3, 3, 3]
output Y: f32[1, 8, 7, 4]
block Y(n in 1, y in 8, x in 7, o in 4; ky in 3, kx in 3, c in 3) {
  step Y[n, y, x, o] += f32(X[n, y + ky, x + kx, c]) * f32(W[o, c, ky, kx])
}
)";

// Root mean square of the difference, in that of the output. Weights of normal size, and such that
// G g Gt would be below the least normal number of binary16, 6e-5.
TEST(WinogradTest, WeightsInBinary16CostLessThanTheirRoundingToBfloat16) {
  ASSERT_OK_AND_ASSIGN(const Program defined, ParseProgram(kNarrowText));
  for (const int m : {2, 4}) {
    ASSERT_OK_AND_ASSIGN(const Trace trace, ParseTrace(absl::Substitute(
                                                "winograd@1 Y->(U,V0,V,M,T) m=$0 weights=f16", m)));
    ASSERT_OK_AND_ASSIGN(const Program rewritten, ApplyTrace(trace, defined));
    EXPECT_EQ(rewritten.numerics.algorithm, "winograd_half");
    EXPECT_EQ(rewritten.numerics.parameter, m);
    EXPECT_EQ(rewritten.buffers[FindBuffer(rewritten, "U")].dtype, DType::kF16);
    EXPECT_EQ(rewritten.buffers[FindBuffer(rewritten, "V")].dtype, DType::kF32);
    ASSERT_OK_AND_ASSIGN(const Program lowered, Lower(rewritten));
    for (const double scale : {1.0, 0.01, 1e-4}) {
      std::vector<TensorValue> arguments = RandomArguments(defined, 1);
      for (double& weight : arguments[1].floats) {
        weight = RoundToStorage(DType::kBf16, weight * scale);
      }
      ASSERT_OK_AND_ASSIGN(const auto want, Interpret(defined, arguments));
      ASSERT_OK_AND_ASSIGN(const auto got, Interpret(lowered, arguments));
      double error = 0, norm = 0;
      for (size_t i = 0; i < want[0].floats.size(); ++i) {
        error += std::pow(got[0].floats[i] - want[0].floats[i], 2);
        norm += std::pow(want[0].floats[i], 2);
      }
      EXPECT_GT(error, 0);
      // Weights in bfloat16 are off by 0.0017.
      EXPECT_LT(std::sqrt(error / norm), m == 2 ? 0.0004 : 0.003) << m << " " << scale;
    }
  }
}

TEST(WinogradTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "",
       .step = "winograd@1 Y->(U,V,M,T) m=2",
       .reason = "got 1 names and 4 results",
       .program_text = kConv2dText},
      {.before = "",
       .step = "winograd@1 Y->(U,V0,V,M,T)",
       .reason = "needs m=",
       .program_text = kConv2dText},
      {.before = "",
       .step = "winograd@1 Y->(U,V0,V,M,T) m=3",
       .reason = "want 2, 4 or 6",
       .program_text = kConv2dText},
      {.before = "",
       .step = "winograd@1 Y->(U,V0,V,M,W) m=2",
       .reason = "there is a buffer 'W' already",
       .program_text = kConv2dText},
      {.before = "",
       .step = "winograd@1 P->(U,V0,V,M,T) m=2",
       .reason = "is no convolution over n, y, x, o",
       .program_text = kConv2dText},
      {.before = "split@1 Y.y->(a,b) size=2\n",
       .step = "winograd@1 Y->(U,V0,V,M,T) m=2",
       .reason = "is scheduled already",
       .program_text = kConv2dText},
      {.before = "split@1 P.h->(a,b) size=2\n",
       .step = "winograd@1 Y->(U,V0,V,M,T) m=2",
       .reason = "P is scheduled already",
       .program_text = kConv2dText},
      {.before = "",
       .step = "winograd@1 Y->(U,V0,V,M,T) m=2",
       .reason = "is no 3x3 convolution of stride 1 or 2",
       .program_text = kStrideText},
      {.before = "compute_at@1 P->(a,b,c,d) inside=Y.n\n",
       .step = "winograd@1 Y->(U,V0,V,M,T) m=2",
       .reason = "has no nest of its own",
       .program_text = kConv2dText},
      {.before = "",
       .step = "winograd@1 Y->(U,V0,V,M,T) m=2 weights=f16",
       .reason = "are not stored in 16 bits",
       .program_text = kConv2dText},
      {.before = "",
       .step = "winograd@1 Y->(U,V0,V,M,T) m=2 weights=bf16",
       .reason = "got weights=bf16, want f16",
       .program_text = kNarrowText},
      {.before = "",
       .step = "winograd@1 Y->(U,V0,V,M,T) m=6 weights=f16",
       .reason = "want 2 or 4",
       .program_text = kNarrowText},
  });
}

}  // namespace
}  // namespace burnish
