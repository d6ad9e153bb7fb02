#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

const char kWideText[] = R"(program/1 wide
input X: f32[4, 2, 2000]
output Y: f32[4, 2]
block Y(i in 4, j in 2; k in 2000) {
  step Y[i, j] += X[i, j, k]
}
)";

TEST(PrefetchTest, WindowOfTheNextIteration) {
  EXPECT_EQ(After(kMatmulText, R"(split@1 n->(no,ni) size=4
prefetch@1 W next=no at=k to=L2)"),
            R"(program/1 matmul

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
          prefetch(2) W[(ni * 5 + Y.k) * 16 // 4, (no + 1) * 4 + (ni * 5 + Y.k) * 16 % 4] when ni * 5 + Y.k < 2
          run Y
        }
      }
    }
  }
}
)");
}

TEST(PrefetchTest, WindowOfThisIteration) {
  EXPECT_EQ(After(kMatmulText, R"(prefetch@1 W this=n to=L1)"), R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]

var Y.m in 7
var Y.n in 9
var Y.k in 5 reduce
var Y.k_line in 5

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += X[Y.m, Y.k] * W[Y.k, Y.n]
  finish max(self, 0.0)
}

kernel {
  for Y.m in 7 {
    for Y.n in 9 {
      unroll Y.k_line in 5 {
        prefetch(1) W[Y.k_line, Y.n]
      }
      for Y.k in 5 {
        run Y
      }
    }
  }
}
)");
}

TEST(PrefetchTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "", .step = "prefetch@1 W this=n to=L3", .reason = "want L1 or L2"},
      {.before = "", .step = "prefetch@1 W this=n", .reason = "needs to="},
      {.before = "", .step = "prefetch@1 V this=n to=L1", .reason = "no buffer 'V'"},
      {.before = "",
       .step = "prefetch@1 W next=n at=m to=L2",
       .reason = "loop m is not inside loop n"},
      {.before = "",
       .step = "prefetch@1 W next=n at=n to=L2",
       .reason = "loop n is not inside loop n"},
      {.before = "",
       .step = "prefetch@1 W next=m at=k to=L2",
       .reason = "W does not move with loop m"},
      {.before = "",
       .step = "prefetch@1 W this=Z.y to=L1",
       .reason = "nothing under Z.y touches W",
       .program_text = kConvText},
      {.before = "",
       .step = "prefetch@1 W next=Z.y at=Z.o to=L1",
       .reason = "nothing under the loop touches W",
       .program_text = kConvText},
      {.before = "",
       .step = "prefetch@1 X next=i at=j to=L2",
       .reason = "over 16 lines at each iteration of j",
       .program_text = kWideText},
      {.before = "",
       .step = "prefetch@1 X this=i to=L2",
       .reason = "over 64 lines under one iteration of i",
       .program_text = kWideText},
  });
}

}  // namespace
}  // namespace burnish
