#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(UnrollTest, BodyIsWrittenOut) {
  EXPECT_EQ(After(kMatmulText, R"(unroll@1 k)"), R"(program/1 matmul

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
  for Y.m in 7 {
    for Y.n in 9 {
      unroll Y.k in 5 {
        run Y
      }
    }
  }
}
)");
}

TEST(UnrollTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "unroll@1 k\n", .step = "unroll@1 k", .reason = "annotated already"},
      {.before = "split@1 n->(a,b) size=128 tail=guard\n",
       .step = "unroll@1 b",
       .reason = "over 64 iterations"},
  });
}

}  // namespace
}  // namespace burnish
