#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(BindTest, LoopRunsOnAThreadAxis) {
  EXPECT_EQ(After(kMatmulText, R"(bind@1 m thread=block.x)"), R"(program/1 matmul

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
  bind(block.x) Y.m in 7 {
    for Y.n in 9 {
      for Y.k in 5 {
        run Y
      }
    }
  }
}
)");
}

TEST(BindTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "", .step = "bind@1 k thread=block.x", .reason = "is a reduction loop"},
      {.before = "", .step = "bind@1 m thread=warp.x", .reason = "want block.x .. thread.z"},
      {.before = "", .step = "bind@1 m", .reason = "needs thread="},
      {.before = "bind@1 m thread=block.x\n",
       .step = "bind@1 n thread=block.x",
       .reason = "block.x is taken by an outer loop"},
      {.before = "bind@1 m thread=block.x\n",
       .step = "bind@1 m thread=block.y",
       .reason = "annotated already"},
  });
}

}  // namespace
}  // namespace burnish
