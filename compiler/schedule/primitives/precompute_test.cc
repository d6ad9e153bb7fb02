#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(PrecomputeTest, PackedWeightsAreWrittenOnce) {
  EXPECT_EQ(After(kMatmulText, R"(relayout@1 W->Wp dims=(n,k)
precompute@1 Wp)"),
            R"(program/1 matmul

input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]
packed Wp: f32[9, 5]

var Y.m in 7
var Y.n in 9
var Y.k in 5 reduce
var Wp.n in 9
var Wp.k in 5

block Y(Y.m, Y.n; Y.k) {
  step Y[Y.m, Y.n] += X[Y.m, Y.k] * Wp[Y.n, Y.k]
  finish max(self, 0.0)
}

block Wp(Wp.n, Wp.k) {
  step Wp[Wp.n, Wp.k] = W[Wp.k, Wp.n]
}

kernel {
  for Y.m in 7 {
    for Y.n in 9 {
      for Y.k in 5 {
        run Y
      }
    }
  }
}

pack {
  for Wp.n in 9 {
    for Wp.k in 5 {
      run Wp
    }
  }
}
)");
}

TEST(PrecomputeTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "", .step = "precompute@1 X", .reason = "no block writes X"},
      {.before = "", .step = "precompute@1 Y", .reason = "Y is not private"},
      {.before = "compute_at@1 P->(a,b) inside=Y.y\n",
       .step = "precompute@1 P",
       .reason = "P has no nest of its own",
       .program_text = kConvText},
      {.before = "relayout@1 W->L dims=(n,k)\nprecompute@1 L\n",
       .step = "precompute@1 L",
       .reason = "L is not private"},
      {.before = "relayout@1 X->L dims=(m,k)\n",
       .step = "precompute@1 L",
       .reason = "L reads X, not a constant"},
  });
}

}  // namespace
}  // namespace burnish
