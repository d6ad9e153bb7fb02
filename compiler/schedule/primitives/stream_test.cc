#include "compiler/schedule/primitives/primitive_test_util.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

const char kScaleText[] = R"(program/1 scale
input X: f32[64]
output Y: f32[64]
temp T: f32[64]
block T(i in 64) {
  step T[i] = X[i] + 1.0
}
block Y(i in 64) {
  step Y[i] = T[i] * 2.0
}
)";

TEST(StreamTest, OutputIsMarked) {
  EXPECT_EQ(After(kScaleText, "inline@1 T\nvectorize@1 Y.i lanes=8\nstream@1 Y"),
            R"(program/1 scale

input X: f32[64]
output Y: f32[64] streamed

var Y.i in 64

block Y(Y.i) {
  step Y[Y.i] = (X[Y.i] + 1.0) * 2.0
}

kernel {
  vectorize(8) Y.i in 64 {
    run Y
  }
}
)");
}

TEST(StreamTest, IllegalUsesAreRefusedWithAReason) {
  ExpectRefused({
      {.before = "", .step = "stream@1 Z", .reason = "Z"},
      {.before = "", .step = "stream@1 Y", .reason = "Y is a reduction"},
      {.before = "", .step = "stream@1 X", .reason = "X is no output"},
      {.before = "", .step = "stream@1 T", .reason = "T is no output", .program_text = kScaleText},
  });
}

}  // namespace
}  // namespace burnish
