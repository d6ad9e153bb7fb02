#include "compiler/ir/parser.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/ir/printer.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

void ExpectRoundTrip(const std::string& text) {
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(text));
  EXPECT_EQ(Print(program), text);
}

// 3x3 convolution with padding, residual and ReLU, tiled 6 x 16 in registers: what the design's
// first example becomes, with every kind of statement that a scheduled program has.
constexpr char kConvolution[] = R"(program/1 conv

input X: f32[1, 14, 14, 8] border [(0, 0), (1, 1), (1, 1), (0, 0)] 0.0
const W: f32[16, 3, 3, 8]
const B: f32[16]
input R: f32[1, 14, 14, 16]
output Y: f32[1, 14, 14, 16]
packed Wp: f32[3, 24, 16]
temp acc: f32[6, 16] register
table $0: i64[33] {6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5, 5, 5, 5, 5, 5, 10}
table $1: i64[33] {0, 6, 12, 18, 24, 30, 36, 42, 48, 54, 60, 66, 72, 78, 84, 90, 96, 102, 108, 114, 120, 126, 132, 138, 144, 150, 156, 161, 166, 171, 176, 181, 186}

var mt in 33
var mi in $0[mt]
var oi in 16
var ky in 3 reduce
var q in 24 reduce
var m in 196 = $1[mt] + mi
var Y.n in 1 = m // 196
var Y.y in 14 = m % 196 // 14
var Y.x in 14 = m % 14
var Y.o in 16 = oi
var Y.ky in 3 reduce = ky
var Y.kx in 3 reduce = q // 8
var Y.c in 8 reduce = q % 8
var Wp.ky in 3
var Wp.q in 24
var Wp.o in 16

block Wp(Wp.ky, Wp.q, Wp.o) {
  step Wp[Wp.ky, Wp.q, Wp.o] = W[Wp.o, Wp.ky, Wp.q // 8, Wp.q % 8]
}

block Y(Y.n, Y.y, Y.x, Y.o; Y.ky, Y.kx, Y.c) {
  init B[Y.o]
  step Y[Y.n, Y.y, Y.x, Y.o] += X[Y.n, Y.y + Y.ky - 1, Y.x + Y.kx - 1, Y.c] * Wp[Y.ky, Y.kx * 8 + Y.c, Y.o]
  finish max(self + R[Y.n, Y.y, Y.x, Y.o], 0.0)
}

kernel {
  parallel mt in 33 {
    stage Y in acc {
      for ky in 3 {
        for q in 24 {
          prefetch(2) Wp[ky, q, 0] when mt == 0
          unroll mi in $0[mt] {
            vectorize(8) oi in 16 {
              run Y
            }
          }
        }
      }
    }
  }
}

pack {
  for Wp.ky in 3 {
    for Wp.q in 24 {
      for Wp.o in 16 {
        run Wp
      }
    }
  }
}
)";

TEST(ParseProgramTest, ScheduledConvolutionPrintsTheSameTextAgain) {
  ExpectRoundTrip(kConvolution);
}

TEST(ParseProgramTest, LoweredProgramPrintsTheSameTextAgain) {
  ExpectRoundTrip(R"(program/1 "a name"
numerics reassociated
lowered

input X: f32[10]
output Y: f32[10] strides [2] offset 1 align 32
temp acc: f32[4] register

var i in 3
var j in 4

kernel {
  parallel i in 3 {
    unroll j in 4 {
      if i * 4 + j < 10 {
        acc[j] = X[i * 4 + j]
        acc[j] += 0x1.99999ap-4
      } else {
        acc[j] = inf
      }
    }
    bind(thread.x) j in 4 {
      if i * 4 + j < 10 {
        Y[i * 4 + j] max= X[i * 4 + j] * 2.0
      }
    }
  }
}
)");
}

TEST(ParseProgramTest, EveryOperatorPrintsTheSameTextAgain) {
  ExpectRoundTrip(R"(program/1 operators

input X: f32[8]
input D: f64[8]
input I: i64[8]
input J: i32[8]
output A: f32[8]
output B: f64[8]
output C: u8[8]
output E: bool[8]
table $0: f32[2] {0.5, -0x1.99999ap-4}

var A.i in 8
var B.i in 8
var C.i in 8
var E.i in 8
var E.k in 2 reduce

block A(A.i) {
  step A[A.i] = -abs(sqrt(exp(log(tanh(erf(sin(cos(floor(ceil(round(sign(X[A.i])))))))))))) + pow(X[A.i], -1.5) / $0[A.i % 2]
}

block B(B.i) {
  step B[B.i] = min(D[B.i], 0.5_f64) * (B.i < 4 ? inf_f64 : f64(X[bounds_check(I[B.i], 8)])) - -0x1.999999999999ap-4_f64
}

block C(C.i) {
  step C[C.i] = u8(max(J[C.i] // 3_i32, -2147483648_i32) % 7_i32 - (J[C.i] - -(5_i32)))
}

block E(E.i; E.k) {
  init false
  step E[E.i] max= !is_nan(X[E.i]) && (E.k == 0 || I[E.i] != -9223372036854775808) && (I[E.i] <= 3) == true
}

kernel {
  for A.i in 8 {
    run A
  }
  for B.i in 8 {
    run B
  }
  for C.i in 8 {
    run C
  }
  for E.i in 8 {
    for E.k in 2 {
      run E
    }
  }
}
)");
}

// Found by the fuzzer: the name's spelling is four times as long when it is printed.
TEST(ParseProgramTest, LongNameOfControlCharactersPrintsTheSameTextAgain) {
  const std::string copy = " input X: f32[4] output Y: f32[4] block Y(i in 4) { step Y[i] = X[i] }";
  ASSERT_OK_AND_ASSIGN(const Program program,
                       ParseProgram("program/1 \"" + std::string(900, '\x01') + "\"" + copy));
  ExpectRoundTrip(Print(program));
  EXPECT_THAT(ParseProgram("program/1 \"" + std::string(1001, 'a') + "\"" + copy),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("of at most 1000 bytes")));
}

// The block's own i, not the loop's.
TEST(ParseProgramTest, AxisDeclaredInTheBlockHidesAVariableOfItsName) {
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(R"(program/1 p
    input X: f32[4]
    output Y: f32[4]
    var i in 2
    block Y(i in 4) { step Y[i] = X[i] })"));
  EXPECT_EQ(PrintExpr(program, program.blocks[0].step), "X[Y.i]");
}

// What is built is what is written: `x - 0` does not become `x`.
TEST(ParseProgramTest, NothingIsFolded) {
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(R"(program/1 p
    input X: f32[4]
    output Y: f32[4]
    block Y(i in 4) { step Y[i + 0] = 1 < 2 ? X[(i - 0) * 1] : 0.1 })"));
  const Block& block = program.blocks[0];
  EXPECT_EQ(PrintExpr(program, block.output_indices[0]), "Y.i + 0");
  EXPECT_EQ(PrintExpr(program, block.step), "1 < 2 ? X[(Y.i - 0) * 1] : 0x1.99999ap-4");
}

TEST(ParseProgramTest, AxesDeclaredInTheBlockGetDefaultNests) {
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(R"(program/1 matmul
    input A: f32[4, 8]
    input B: f32[8, 3]
    output C: f32[4, 3]
    block C(i in 4, j in 3; k in 8) { step C[i, j] += A[i, k] * B[k, j] })"));
  EXPECT_EQ(Print(program), R"(program/1 matmul

input A: f32[4, 8]
input B: f32[8, 3]
output C: f32[4, 3]

var C.i in 4
var C.j in 3
var C.k in 8 reduce

block C(C.i, C.j; C.k) {
  step C[C.i, C.j] += A[C.i, C.k] * B[C.k, C.j]
}

kernel {
  for C.i in 4 {
    for C.j in 3 {
      for C.k in 8 {
        run C
      }
    }
  }
}
)");
}

// ---- What is refused, and in what words. LINE stands for a statement of a small right program.

std::string WithLine(const std::string& line) {
  return absl::StrCat("program/1 p\ninput X: f32[4]\noutput Y: f32[4]\n", line,
                      "\nblock Y(i in 4) { step Y[i] = X[i] }\n");
}
std::string WithStep(const std::string& step) {
  return absl::StrCat("program/1 p\ninput X: f32[4]\noutput Y: f32[4]\ntable $0: i64[2] {1, 2}\n",
                      "block Y(i in 4) { step Y[i] = ", step, " }\n");
}
std::string WithKernel(const std::string& body) {
  return absl::StrCat(WithLine(""), "kernel { ", body, " }\n");
}
std::string Repeat(const std::string& piece, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += piece;
  return text;
}

struct BadText {
  std::string text;
  std::string message;
};

class BadTextTest : public ::testing::TestWithParam<BadText> {};

TEST_P(BadTextTest, IsRefusedWithPlaceAndReason) {
  EXPECT_THAT(ParseProgram(GetParam().text),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().message)))
      << GetParam().text.substr(0, 1000);
}

INSTANTIATE_TEST_SUITE_P(
    Statements, BadTextTest,
    ::testing::Values(
        BadText{"", "line 1, column 1: got the end of the text, want 'program' or 'workload'"},
        BadText{"program/2 p", "line 1, column 9: got '2', want a text version in [1, 1]"},
        BadText{"program/1 block", "column 11: got 'block', want the program's name"},
        BadText{WithLine("inputs Z: f32[4]"), "line 4, column 1: got 'inputs', want a buffer"},
        BadText{WithLine("input X: f32[4]"), "line 4, column 7: got 'X', want a name that is not"},
        BadText{WithLine("input Z: f8[4]"), "got 'f8', want an element type"},
        BadText{WithLine("input Z: f32[0]"), "got '0', want a dimension in [1, 2147483648]"},
        BadText{WithLine("input Z: f32[2147483649]"), "got '2147483649', want a dimension"},
        BadText{WithLine("input Z: f32[99999999999999999999]"), "want a dimension"},
        BadText{WithLine("input Z: f32[2147483648, 1024]"), "want a buffer of fewer than 2^40"},
        BadText{WithLine("input Z: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"),
                "want at most 24 dimensions"},
        BadText{WithLine("input Z: f32[4] border [] 0.0"), "got ']', want '('"},
        BadText{WithLine("input Z: f32[4] border [(1, -1)] 0.0"), "want a border in [0,"},
        BadText{WithLine("input Z: f32[4] strides [1, 2]"), "buffer Z: got 2 strides"},
        BadText{WithLine("input Z: f32[4] strides [-1]"), "buffer Z: its strides, border and"},
        BadText{WithLine("input Z: f32[4] align 48"), "got an alignment of 48 bytes"},
        BadText{WithLine("input \"Z: f32[4]"), "(no closing quote)"},
        BadText{WithLine("input \"a\\n\": f32[4]"), "want a buffer's name with escapes"},
        BadText{WithLine("table $1: i64[1] {1}"), "got '$1', want $0"},
        BadText{WithLine("table $0: i64[2] {1}"), "got '}', want ','"},
        BadText{WithLine("table $0: i64[1, 65537] {1}"), "want a dimension in [1, 65536]"},
        BadText{WithLine("table $0: i64[1] {9007199254740993}"), "an integer that a double holds"},
        BadText{WithLine("var a in 4 var a in 4"), "got 'a', want a name that is not taken"},
        BadText{WithLine("var a in b"), "got 'b', want a declared variable"},
        BadText{WithLine("var a in 4 = a"), "variable a: its map needs itself"},
        BadText{WithLine("var a in 4 = b var b in 4 = a"), "its map needs itself"},
        BadText{WithLine("var a in 0"), "variable a: got extent 0, want 1 to 2^31"},
        BadText{WithLine("block Y(i in 4) { step Y[i] = X[i] }"), "'Y', want a name that is not"},
        BadText{WithLine("block Z(i) { step Y[i] = X[i] }"), "got 'i', want a declared variable"},
        BadText{WithLine("block Z(i in 4) { Y[i] = X[i] }"), "got 'Y', want 'step'"},
        BadText{WithLine("numerics fast"), "want exact, reassociated or winograd"},
        BadText{WithLine("?"), "line 4, column 1: got '?'"}, BadText{WithLine("\x01"), "'\\x01'"}));

INSTANTIATE_TEST_SUITE_P(
    Expressions, BadTextTest,
    ::testing::Values(
        BadText{WithStep("X[i] +"), "line 5, column 38: got '}', want an expression"},
        BadText{WithStep("X[i"), "got '}', want ']'"},
        BadText{WithStep("(X[i]"), "got '}', want ')'"},
        BadText{WithStep("Z[i]"), "got 'Z', want a declared buffer"},
        BadText{WithStep("z"), "got 'z', want a declared variable"},
        BadText{WithStep("self"), "got 'self', want 'self' in a finish only"},
        BadText{WithStep("X[i] + 1"), "'+', want operands of one type, not f32 and i64"},
        BadText{WithStep("X[i] < 1.0 < 2.0"), "got '<', want no chained comparison"},
        BadText{WithStep("exp(X[i], 1.0)"), "got 'exp', want 1 operands, not 2"},
        BadText{WithStep("1.0_i32"), "want a number whose suffix fits it"},
        BadText{WithStep("f32(300_u8)"), "got '300_u8', want a number of type u8"},
        BadText{WithStep("f32(9223372036854775808)"), "want a number of type i64"},
        BadText{WithStep("1.5.2"), "got '1.5.2', want a finite f32"},
        BadText{WithStep("0x1p+200"), "got '0x1p+200', want a finite f32"},
        BadText{WithStep("f32($1[0])"), "got '$1', want a declared table"},
        BadText{WithStep("f32($0[0, 1])"), "got '$0', want 1 indices, not 2"},
        BadText{WithStep("f32($0[2])"), "index 0 of a table, 2, takes values [2, 2], want [0, 1]"},
        BadText{WithStep("X[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"),
                "want at most 24 operands"},
        BadText{WithStep("X[i, i]"), "got 2 indices of X, want 1"},
        BadText{WithStep("X[i] ? 1.0 : 2.0"), "a condition that is not bool"}));

// Nesting in every form that recurses.
INSTANTIATE_TEST_SUITE_P(
    Depth, BadTextTest,
    ::testing::Values(
        BadText{WithStep(Repeat("(", 100000)), "want at most 500 nested expressions"},
        BadText{WithStep(Repeat("-", 100000)), "want at most 500 nested expressions"},
        BadText{WithStep(Repeat("!-", 100000)), "want at most 500 nested expressions"},
        BadText{WithStep(Repeat("exp(", 100000)), "want at most 500 nested expressions"},
        BadText{WithStep(Repeat("X[", 100000)), "want at most 500 nested expressions"},
        BadText{WithStep(Repeat("true ? 1.0 : ", 100000)), "want at most 500 nested expressions"},
        BadText{WithStep("X[i]" + Repeat(" + X[i]", 100000)), "an expression of depth at most 500"},
        BadText{WithKernel(Repeat("seq {", 100000)), "want a tree of depth at most 200"},
        BadText{WithKernel(Repeat("if true {", 100000)), "want a tree of depth at most 200"},
        BadText{std::string((4 << 20) + 1, ' '), "got a program of 4194305 bytes, want at most"}));

INSTANTIATE_TEST_SUITE_P(
    Trees, BadTextTest,
    ::testing::Values(
        BadText{WithKernel("for Y.i in 5 { run Y }"), "the extent that the variable was declared"},
        BadText{WithKernel("for j { run Y }"), "got 'j', want a declared variable, or an extent"},
        BadText{WithKernel("for Y.i { run Z }"), "got 'Z', want a declared block"},
        BadText{WithKernel("vectorize(-1) Y.i { run Y }"), "want lanes in [0, 4096]"},
        BadText{WithKernel("stage Y on X { run Y }"), "got 'on', want 'in'"},
        BadText{WithKernel("prefetch(3) X[0]"), "got '3', want a cache level in [1, 2]"},
        BadText{WithKernel("X[0] -= 1.0"), "got '-', want = += *= max= or min="},
        BadText{WithKernel("5"), "got '5', want a statement"},
        BadText{WithKernel("for Y.i { run Y"), "got the end of the text"},
        BadText{WithKernel("for Y.i { run Y } } kernel { "), "got 'kernel', want no second one"}));

// A map that doubles at each step has 2^40 nodes when it is written out.
TEST(ParseProgramTest, MapThatExplodesIsRefused) {
  std::string text = "var v0 in 4\n";
  for (int i = 1; i <= 40; ++i) {
    absl::StrAppend(&text, "var v", i, " in 4 = v", i - 1, " + v", i - 1, "\n");
  }
  EXPECT_THAT(ParseProgram(WithLine(text)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("its map has over")));
}

// Bytes changed, dropped, doubled and moved: never a crash, and what is accepted prints and parses
// to itself.
TEST(ParseProgramTest, DamagedTextIsRefusedOrIsAProgram) {
  Rng rng(1);
  int accepted_count = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = kConvolution;
    for (uint64_t edits = 1 + rng.Below(3); edits > 0; --edits) {
      const size_t at = rng.Below(text.size()), size = rng.Below(12);
      switch (rng.Below(5)) {
        case 0:
          text[at] = static_cast<char>(rng.Below(128));
          break;
        case 1:
          text.erase(at, size);
          break;
        case 2:
          text.insert(rng.Below(text.size()), text.substr(at, size));
          break;
        case 3:
          text[at] = "0123456789+-*/%<=!?:,;()[]{}$_.ek\n"[rng.Below(34)];
          break;
        default:
          text.insert(at, std::string(1 + size, "9(-{!"[rng.Below(5)]));
      }
    }
    const absl::StatusOr<Program> program = ParseProgram(text);
    if (!program.ok()) {
      EXPECT_EQ(program.status().code(), absl::StatusCode::kInvalidArgument) << text;
      continue;
    }
    ++accepted_count;
    const std::string printed = Print(*program);
    ASSERT_OK_AND_ASSIGN(const Program again, ParseProgram(printed));
    EXPECT_EQ(Print(again), printed) << text;
  }
  EXPECT_GT(accepted_count, 20);  // Else the edits test the header only.
}

TEST(ParseProgramTest, CommentsAndBlanksMeanNothing) {
  EXPECT_THAT(ParseProgram("program/1 p # a comment\r\n#another\n\tinput X:f32[4]\noutput Y :f32 "
                           "[ 4 ] block Y(i in 4){step Y[i]=X[i]}#"),
              IsOk());
}

}  // namespace
}  // namespace burnish
