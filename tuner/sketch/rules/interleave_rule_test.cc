// Few rows that are interleaved.
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program Interleaved(DType dtype) {
  return WorkloadOf({.name = "turn",
                     .op = "transpose",
                     .inputs = {{3, 2, 200}},
                     .attributes = {{"perm", Ints{0, 2, 1}}},
                     .dtype = dtype});
}

TEST(InterleaveRuleTest, VectorsOfBothRowsOfFloats) {
  EXPECT_EQ(TestedDrafts("interleave", Interleaved(DType::kF32), kTarget), R"(interleave
  width = 8 16 32 64
  reorder@1 (b1.i0,b1.i1,b1.i2)
  fuse@1 (b1.i1,b1.i2)->b1_v
  split@1 b1_v->(b1_vo,b1_vi) size=$width
  vectorize@1 b1_vi lanes=8
)");
}

TEST(InterleaveRuleTest, VectorsOfBothRowsOfDoubles) {
  EXPECT_EQ(TestedDrafts("interleave", Interleaved(DType::kF64), kTarget), R"(interleave
  width = 4 8 16 32
  reorder@1 (b1.i0,b1.i1,b1.i2)
  fuse@1 (b1.i1,b1.i2)->b1_v
  split@1 b1_v->(b1_vo,b1_vi) size=$width
  vectorize@1 b1_vi lanes=4
)");
}

TEST(InterleaveRuleTest, VectorsOfBothRowsOfBytes) {
  EXPECT_EQ(TestedDrafts("interleave", Interleaved(DType::kI8), kTarget), R"(interleave
  width = 32 64 128 256
  reorder@1 (b1.i0,b1.i1,b1.i2)
  fuse@1 (b1.i1,b1.i2)->b1_v
  split@1 b1_v->(b1_vo,b1_vi) size=$width
  vectorize@1 b1_vi lanes=32
)");
}

}  // namespace
}  // namespace burnish
