#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(FuseTest, TheLastLoopRunsFastest) {
  EXPECT_EQ(After(kMatmulText, R"(fuse@1 (m,n)->f)"), R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]

var Y.m in 7 = f // 9
var Y.n in 9 = f % 9
var Y.k in 5 reduce
var f in 63

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += X[Y.m, Y.k] * W[Y.k, Y.n]
  finish max(self, 0.0)
}

kernel {
  for f in 63 {
    for Y.k in 5 {
      run Y
    }
  }
}
)");
}

TEST(FuseTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "", .step = "fuse@1 m->f", .reason = "got one loop, want at least two"},
      {.before = "", .step = "fuse@1 (m,n)->Y.k", .reason = "already"},
      {.before = "unroll@1 n\n",
       .step = "fuse@1 (m,n)->f",
       .reason = "loop n is annotated already"},
      {.before = "", .step = "fuse@1 (m,k)->f", .reason = "loop k is not directly inside Y.m"},
      {.before = "", .step = "fuse@1 (n,m)->f", .reason = "is not directly inside"},
      {.before = "",
       .step = "fuse@1 (n,k)->f",
       .reason = "cannot fuse a reduction loop with a spatial one"},
      {.before = "split@1 m->(a,b) max=3\n",
       .step = "fuse@1 (a,b)->f",
       .reason = "extent of inner loop b is not constant"},
  });
}

}  // namespace
}  // namespace burnish
