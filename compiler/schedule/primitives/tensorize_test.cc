#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_matchers.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

const char kDotText[] = R"(program/1 dot
input X: i8[3, 6]
const W: i8[16, 6]
output Y: i32[3, 16]
block Y(m in 3, n in 16; k in 6) {
  step Y[m, n] += i32(X[m, k]) * i32(W[n, k])
}
)";

// Loops over panels of eight columns and over pairs of terms; weights in this order.
const char kPanels[] = R"(split@1 n->(no,ni) size=8
split@1 k->(ko,ki) size=2
reorder@1 (no,ko,m,ni,ki)
)";
const char kPacked[] = R"(relayout@1 W->Wp dims=(no,ko,ni,ki)
)";

TEST(TensorizeTest, NestOfTheInstruction) {
  EXPECT_EQ(
      After(kDotText, std::string(kPanels) + kPacked + R"(stage@1 Y->acc inside=no scope=register
precompute@1 Wp
unroll@1 m
tensorize@1 ni intrinsic=dot2_i8x8
)"),
      R"(program/1 dot

input X: i8[3, 6]
const W: i8[16, 6]
output Y: i32[3, 16]
packed Wp: i8[2, 3, 8, 2]
temp acc: i32[] register

var Y.m in 3
var Y.n in 16 = no * 8 + ni
var Y.k in 6 reduce = ko * 2 + ki
var no in 2
var ni in 8
var ko in 3 reduce
var ki in 2 reduce
var Wp.no in 2
var Wp.ko in 3
var Wp.ni in 8
var Wp.ki in 2

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += i32(X[Y.m, Y.k]) * i32(Wp[no, ko, ni, ki])
}

block Wp(Wp.no, Wp.ko, Wp.ni, Wp.ki) {
  step Wp[Wp.no, Wp.ko, Wp.ni, Wp.ki] = W[Wp.no * 8 + Wp.ni, Wp.ko * 2 + Wp.ki]
}

kernel {
  for no in 2 {
    stage Y in acc {
      for ko in 3 {
        unroll Y.m in 3 {
          tensorize(dot2_i8x8) ni in 8 {
            for ki in 2 {
              run Y
            }
          }
        }
      }
    }
  }
}

pack {
  for Wp.no in 2 {
    for Wp.ko in 3 {
      for Wp.ni in 8 {
        for Wp.ki in 2 {
          run Wp
        }
      }
    }
  }
}
)");
}

TEST(TensorizeTest, ScheduledProgramIsReadBack) {
  const std::string text =
      After(kDotText, std::string(kPanels) + kPacked + "tensorize@1 ni intrinsic=dot2_i8x8\n");
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(text));
  EXPECT_EQ(Print(program), text);
}

TEST(TensorizeTest, IllegalUsesAreRefusedWithAReason) {
  const std::string panels = kPanels, packed = panels + kPacked;
  const auto use = [](const std::string& before, const std::string& step,
                      const std::string& reason) -> IllegalUse {
    return {.before = before, .step = step, .reason = reason, .program_text = kDotText};
  };
  ExpectRefused({
      use(packed, "tensorize@1 ni", "needs intrinsic="),
      use(packed, "tensorize@1 ni intrinsic=dot9", "there is no instruction dot9"),
      use(packed, "tensorize@1 (ni,ki) intrinsic=dot2_i8x8", "got 2 names"),
      use(packed, "tensorize@1 ni intrinsic=dot2_i8x16", "extent of ni is not 16"),
      use(packed, "tensorize@1 ki intrinsic=dot2_i8x8", "extent of ki is not 8"),
      use(packed, "tensorize@1 m intrinsic=dot2_i8x8", "extent of Y.m is not 8"),
      use(packed + "unroll@1 ni\n", "tensorize@1 ni intrinsic=dot2_i8x8", "annotated already"),
      use(packed + "unroll@1 ki\n", "tensorize@1 ni intrinsic=dot2_i8x8", "loop ki is annotated"),
      use(packed + "vectorize@1 m lanes=2\n", "tensorize@1 ni intrinsic=dot2_i8x8",
          "inside a loop that is a vector already"),
      use(packed + "tensorize@1 ni intrinsic=dot2_i8x8\n", "unroll@1 ki",
          "loop ki is part of instruction dot2_i8x8"),
      // Weights that lie in rows of six.
      use(panels, "tensorize@1 ni intrinsic=dot2_i8x8", "the step of Y is another"),
      use("split@1 k->(ko,ki) size=2\nsplit@1 ki->(a,b) size=1\nsplit@1 n->(no,ni) size=8\n"
          "reorder@1 (no,m,ko,ni,a,b)\n",
          "tensorize@1 ni intrinsic=dot2_i8x8", "this is no dot2_i8x8: the nest has more loops"),
      use("split@1 n->(no,ni) size=8\nreorder@1 (no,m,k,ni)\n",
          "tensorize@1 ni intrinsic=dot2_i8x8", "the nest has fewer loops"),
      use("split@1 n->(no,ni) size=8\nsplit@1 ni->(a,b) size=2\nreorder@1 (no,k,m,a,b)\n"
          "split@1 k->(ko,ki) size=2\nsplit@1 no->(p,q) size=8\n",
          "tensorize@1 a intrinsic=dot2_i8x4", "b is no reduction loop"),
      use("split@1 n->(no,ni) size=12 tail=guard\nsplit@1 ni->(a,b) size=4\n"
          "split@1 k->(ko,ki) size=2\nreorder@1 (no,ko,m,a,b,ki)\n",
          "tensorize@1 b intrinsic=dot2_i8x4", "iterations of b are guarded one by one"),
      {.before = "split@1 n->(no,ni) size=8\nsplit@1 k->(ko,ki) size=2 tail=pad\n"
                 "reorder@1 (no,m,ko,ni,ki)\n",
       .step = "tensorize@1 ni intrinsic=dot2_i8x8",
       .reason = "this is no dot2_i8x8"},
  });
}

// ---- Instructions of several rows.

const char kTilesText[] = R"(program/1 dot
input X: bf16[28, 64]
const W: bf16[32, 64]
output Y: f32[28, 32]
block Y(m in 28, n in 32; k in 64) {
  step Y[m, n] += f32(X[m, k]) * f32(W[n, k])
}
)";

// Tiles of `rows` rows.
std::string TileLoops(int rows) {
  return absl::StrReplaceAll(R"(split@1 m->(mo,mi) size=$rows
split@1 n->(no,ni) size=16
split@1 k->(ko,ks) size=32
split@1 ks->(kp,kv) size=2
reorder@1 (no,mo,ko,mi,ni,kp,kv)
relayout@1 W->Wp dims=(no,ko,kp,ni,kv)
)",
                             {{"$rows", absl::StrCat(rows)}});
}

TEST(TensorizeTest, TilesOfEachNumberOfRowsThatDivides) {
  for (const int rows : {1, 2, 4, 7, 14}) {
    const std::string text = After(kTilesText, TileLoops(rows) +
                                                   "stage@1 Y->acc inside=mo scope=tile\n"
                                                   "tensorize@1 mi intrinsic=amx_bf16\n");
    EXPECT_TRUE(absl::StrContains(text, "temp acc: f32[] tile")) << text;
    EXPECT_TRUE(absl::StrContains(text, absl::StrCat("tensorize(amx_bf16) mi in ", rows))) << text;
    ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(text));
    EXPECT_EQ(Print(program), text);
  }
}

// Rows of the last tile are those of its neighbour in part; in each tile they come once.
TEST(TensorizeTest, TileThatBeginsEarlyIsOne) {
  std::string loops = TileLoops(16);
  loops.replace(loops.find("size=16") + 7, 0, " tail=shift");
  const std::string text = After(kTilesText, loops +
                                                 "stage@1 Y->acc inside=mo scope=tile\n"
                                                 "tensorize@1 mi intrinsic=amx_bf16\n");
  EXPECT_TRUE(absl::StrContains(text, "tensorize(amx_bf16) mi in 16")) << text;
}

TEST(TensorizeTest, TilesThatAreNoneAreRefusedWithAReason) {
  const auto use = [](const std::string& before, const std::string& reason) -> IllegalUse {
    return {.before = before,
            .step = "tensorize@1 mi intrinsic=amx_bf16",
            .reason = reason,
            .program_text = kTilesText};
  };
  const std::string stage = "stage@1 Y->acc inside=mo scope=tile\n";
  ExpectRefused({
      use(TileLoops(14), "stage them with scope=tile"),
      use(TileLoops(14) + "stage@1 Y->acc inside=mo scope=register\n",
          "stage them with scope=tile"),
      use(TileLoops(28) + stage, "groups of amx_bf16 are 1 to 16"),
      use(TileLoops(16) + stage, "has not one constant extent"),
  });
}

}  // namespace
}  // namespace burnish
