#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(ParallelTest, OutermostLoopIsDealtOut) {
  EXPECT_EQ(After(kMatmulText, R"(parallel@1 m)"), R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]

var Y.m in 7
var Y.n in 9
var Y.k in 5 reduce

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += X[Y.m, Y.k] * W[Y.k, Y.n]
  finish max(self, 0.0)
}

kernel {
  parallel Y.m in 7 {
    for Y.n in 9 {
      for Y.k in 5 {
        run Y
      }
    }
  }
}
)");
}

TEST(ParallelTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "parallel@1 m\n", .step = "parallel@1 m", .reason = "annotated already"},
      {.before = "reorder@1 (k,m)\n", .step = "parallel@1 k", .reason = "is a reduction loop"},
      {.before = "split@1 m->(a,b) size=4 tail=shift\n",
       .step = "parallel@1 a",
       .reason = "iterations of a share elements of Y.m"},
      {.before = "", .step = "parallel@1 n", .reason = "loop n is not outermost"},
      {.before = "", .step = "parallel@1 (m,n)", .reason = "got 2 names"},
  });
}

}  // namespace
}  // namespace burnish
