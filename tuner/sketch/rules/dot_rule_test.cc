// Sums of products in which nothing is broadcast.
#include "gtest/gtest.h"
#include "tuner/sketch/rules/rule_test_util.h"

namespace burnish {
namespace {

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

Program OneChannel(DType dtype) {
  return WorkloadOf({.name = "one_channel",
                     .op = "conv",
                     .inputs = {{1, 20, 30, 32}, {1, 32, 3, 3}},
                     .attributes = {{"channels_last", int64_t{1}}},
                     .dtype = dtype});
}

TEST(DotRuleTest, LanesOfFloats) {
  EXPECT_EQ(TestedDrafts("dot", OneChannel(DType::kF32), kTarget), R"(dot
  fuse@1 (b2.i0,b2.i1,b2.i2,b2.i3)->b2_r
  fuse@1 (b2.i5,b2.i6)->b2_q
  split@1 b2_q->(b2_qo,b2_qi) size=8
  rfactor@1 b2->b2_lanes loop=b2_qi
  stage@1 b2_lanes->b2_acc inside=b2_r scope=register
  relayout@1 b1->b2_packed dims=(b2.i4,b2_qo,b2_qi)
  precompute@1 b2_packed
  split@1 b2_r->(b2_p,b2_r1) parts=2
  parallel@1 b2_p
  vectorize@1 b2_qi lanes=8
)");
}

TEST(DotRuleTest, LanesOfDoubles) {
  EXPECT_EQ(TestedDrafts("dot", OneChannel(DType::kF64), kTarget), R"(dot
  fuse@1 (b2.i0,b2.i1,b2.i2,b2.i3)->b2_r
  fuse@1 (b2.i5,b2.i6)->b2_q
  split@1 b2_q->(b2_qo,b2_qi) size=4
  rfactor@1 b2->b2_lanes loop=b2_qi
  stage@1 b2_lanes->b2_acc inside=b2_r scope=register
  relayout@1 b1->b2_packed dims=(b2.i4,b2_qo,b2_qi)
  precompute@1 b2_packed
  split@1 b2_r->(b2_p,b2_r1) parts=2
  parallel@1 b2_p
  vectorize@1 b2_qi lanes=4
)");
}

// Both sides lie along the reduction; nothing is laid out.
TEST(DotRuleTest, LanesOfBytes) {
  EXPECT_EQ(TestedDrafts("dot",
                         WorkloadOf({.name = "by_vector",
                                     .op = "matmul",
                                     .inputs = {{9, 64}, {64, 1}},
                                     .dtype = DType::kI8}),
                         kTarget),
            R"(dot
  fuse@1 (b2.i0,b2.i1)->b2_r
  split@1 b2.i2->(b2_qo,b2_qi) size=32
  rfactor@1 b2->b2_lanes loop=b2_qi
  stage@1 b2_lanes->b2_acc inside=b2_r scope=register
  vectorize@1 b2_qi lanes=32
)");
}

// What is broadcast is a register tile's, and what shares out into no lanes stays as it was.
TEST(DotRuleTest, LeavesTheRest) {
  const auto conv = [](int64_t channels, int64_t outputs) {
    return WorkloadOf({.name = "conv",
                       .op = "conv",
                       .inputs = {{1, 20, 30, channels}, {outputs, channels, 3, 3}},
                       .attributes = {{"channels_last", int64_t{1}}}});
  };
  EXPECT_EQ(TestedDrafts("dot", conv(32, 2), kTarget), "");
  EXPECT_EQ(TestedDrafts("dot", conv(33, 1), kTarget), "");
}

}  // namespace
}  // namespace burnish
