#include <string>

#include "absl/strings/str_cat.h"
#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

TEST(StageTest, WindowIsKeptUnderTheLoop) {
  EXPECT_EQ(After(kMatmulText, R"(split@1 n->(no,ni) size=4
reorder@1 (k,ni)
stage@1 Y->acc inside=no scope=register
unroll@1 ni)"),
            R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]
temp acc: f32[] register

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
      stage Y in acc {
        for Y.k in 5 {
          unroll ni in min(4, 9 - no * 4) {
            run Y
          }
        }
      }
    }
  }
}
)");
}

// A reduction loop stays outside the stage.
TEST(StageTest, PartialSumsArePutBack) {
  EXPECT_EQ(After(kMatmulText, R"(split@1 k->(ko,ki) size=2
reorder@1 (ko,m,n)
stage@1 Y->acc inside=m scope=scratch)"),
            R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]
temp acc: f32[] scratch

var Y.m in 7
var Y.n in 9
var Y.k in 5 reduce = ko * 2 + ki
var ko in 3 reduce
var ki in min(2, 5 - ko * 2) reduce

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += X[Y.m, Y.k] * W[Y.k, Y.n]
  finish max(self, 0.0)
}

kernel {
  for ko in 3 {
    for Y.m in 7 {
      stage Y in acc {
        for Y.n in 9 {
          for ki in min(2, 5 - ko * 2) {
            run Y
          }
        }
      }
    }
  }
}
)");
}

TEST(StageTest, WindowMayLieInTheMemoryOfABlockOrAThread) {
  const char* const steps = "bind@1 m thread=block.x\nbind@1 n thread=thread.x\n";
  for (const char* scope : {"shared", "local"}) {
    const std::string inside = scope == std::string("shared") ? "m" : "n";
    const std::string text =
        After(kMatmulText, absl::StrCat(steps, "stage@1 Y->acc inside=", inside, " scope=", scope));
    EXPECT_THAT(text, HasSubstr(absl::StrCat("temp acc: f32[] ", scope)));
  }
}

TEST(StageTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "", .step = "stage@1 Q->acc inside=m scope=register", .reason = "no block 'Q'"},
      {.before = "", .step = "stage@1 Y->acc scope=register", .reason = "needs inside="},
      {.before = "",
       .step = "stage@1 Y->acc inside=m scope=attic",
       .reason = "want register, tile, scratch, shared or local"},
      {.before = "",
       .step = "stage@1 Y->X inside=m scope=register",
       .reason = "there is a buffer 'X' already"},
      {.before = "",
       .step = "stage@1 Z->acc inside=Z.y scope=register",
       .reason = "has no reduction",
       .program_text = kConvText},
      {.before = "",
       .step = "stage@1 Y->acc inside=Z.y scope=register",
       .reason = "is not inside loop Z.y",
       .program_text = kConvText},
      {.before = "stage@1 Y->acc inside=n scope=scratch\n",
       .step = "stage@1 Y->more inside=m scope=scratch",
       .reason = "staged already"},
      {.before = "stage@1 Y->acc inside=m scope=scratch\n",
       .step = "stage@1 Y->more inside=n scope=scratch",
       .reason = "staged already"},
      {.before = "",
       .step = "stage@1 Y->acc inside=k scope=register",
       .reason = "no reduction loop of Y is inside k"},
      {.before = "compute_at@1 Y->(a,b) inside=Z.y\n",
       .step = "stage@1 Y->acc inside=Z.y scope=scratch",
       .reason = "Z reads Y inside Z.y",
       .program_text = kConvText},
  });
}

}  // namespace
}  // namespace burnish
