// Elementwise nests.
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program Sum(DType dtype) {
  return WorkloadOf({.name = "add",
                     .op = "add",
                     .inputs = {{130, 130}, {130, 130}},
                     .relu = true,
                     .all_inputs = true,
                     .dtype = dtype});
}

TEST(SpatialRuleTest, VectorsAlongRowsOfFloats) {
  EXPECT_EQ(TestedDrafts("spatial", Sum(DType::kF32), kTarget), R"(spatial
  width = 8 16 32
  reorder@1 (b2.i0,b2.i1)
  split@1 b2.i1->(b2_vo,b2_vi) size=$width
  reorder@1 (b2_vo,b2_vi)
  split@1 b2.i0->(b2_p,b2_p1) parts=2
  parallel@1 b2_p
  vectorize@1 b2_vi lanes=8
)");
}

TEST(SpatialRuleTest, VectorsAlongRowsOfDoubles) {
  EXPECT_EQ(TestedDrafts("spatial", Sum(DType::kF64), kTarget), R"(spatial
  width = 4 8 16
  reorder@1 (b2.i0,b2.i1)
  split@1 b2.i1->(b2_vo,b2_vi) size=$width
  reorder@1 (b2_vo,b2_vi)
  split@1 b2.i0->(b2_p,b2_p1) parts=2
  parallel@1 b2_p
  vectorize@1 b2_vi lanes=4
)");
}

TEST(SpatialRuleTest, VectorsAlongRowsOfBytes) {
  EXPECT_EQ(TestedDrafts("spatial", Sum(DType::kI8), kTarget), R"(spatial
  width = 32 64 128
  reorder@1 (b2.i0,b2.i1)
  split@1 b2.i1->(b2_vo,b2_vi) size=$width
  reorder@1 (b2_vo,b2_vi)
  split@1 b2.i0->(b2_p,b2_p1) parts=2
  parallel@1 b2_p
  vectorize@1 b2_vi lanes=32
)");
}

}  // namespace
}  // namespace burnish
