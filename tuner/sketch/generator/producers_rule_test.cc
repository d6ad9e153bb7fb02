// Producers inside of the last block's tiles.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/generator/generator_test_util.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

TEST(ProducersRuleTest, SoftmaxRowByRow) {
  EXPECT_EQ(DerivedText(WorkloadOf({.name = "softmax",
                                    .op = "softmax",
                                    .inputs = {{256, 160}},
                                    .attributes = {{"axis", int64_t{1}}}}),
                        kTarget, "nest/i1/S|SS"),
            R"(nest/i1/S|SS
  s0_1 = 1 2 8 16 64 256
  s0_2 = 1 2 3 4 6 8 10 12 14 16
  s1_1 = 8 16 24 32 48 64
  parts = 2 4 8 16
  width = 8 16 32
  require $s0_2 <= $s0_1
  require $parts <= (256 + ($s0_1 - 1)) // $s0_1
  require min($s0_2, min($s0_1, 256)) * ((min($s1_1, 160) + 7) // 8) <= 16
  require min($s0_2, min($s0_1, 256)) * ((min($s1_1, 160) + 7) // 8) <= 512
  split@1 b1.i0->(b1_s0_0,b1_s0_1r) size=$s0_1
  split@1 b1_s0_1r->(b1_s0_1,b1_s0_2) max=$s0_2
  split@1 b1.i1->(b1_s1_0,b1_s1_1) size=$s1_1
  reorder@1 (b1_s0_0,b1_s0_1,b1_s1_0,b1_s0_2,b1_s1_1)
  split@1 b1_s0_0->(b1_w0,b1_w1) parts=$parts
  parallel@1 b1_w0
  split@1 b4.i2->(b4_ko,b4_kl) size=$width
  rfactor@1 b4->b4_lanes loop=b4_kl
  compute_at@1 b4->(b4_i0,b4_i1) inside=b1_w1
  stage@1 b4->b4_sum inside=b4_i1 scope=register
  vectorize@1 b4_lanes.b4_kl lanes=8
  compute_at@1 b4_lanes->(b4_i0l,b4_i1l,b4_kv) inside=b1_w1
  stage@1 b4_lanes->b4_acc inside=b4_i1l scope=register
  reorder@1 (b4_ko,b4_kv)
  vectorize@1 b4_kv lanes=8
  compute_at@1 b3->(b3_i0,b3_i1) inside=b1_w1
  split@1 b3_i1->(b3_vo,b3_vi) size=$width
  reorder@1 (b3_i0,b3_vo,b3_vi)
  vectorize@1 b3_vi lanes=8
  split@1 b2.i2->(b2_ko,b2_kl) size=$width
  rfactor@1 b2->b2_lanes loop=b2_kl
  compute_at@1 b2->(b2_i0,b2_i1) inside=b1_w1
  stage@1 b2->b2_sum inside=b2_i1 scope=register
  vectorize@1 b2_lanes.b2_kl lanes=8
  compute_at@1 b2_lanes->(b2_i0l,b2_i1l,b2_kv) inside=b1_w1
  stage@1 b2_lanes->b2_acc inside=b2_i1l scope=register
  reorder@1 (b2_ko,b2_kv)
  vectorize@1 b2_kv lanes=8
  unroll@1 b1_s0_2
  vectorize@1 b1_s1_1 lanes=8
)");
}

TEST(ProducersRuleTest, SoftmaxOfDoubles) {
  const std::string text = DerivedText(WorkloadOf({.name = "softmax",
                                                   .op = "softmax",
                                                   .inputs = {{256, 160}},
                                                   .attributes = {{"axis", int64_t{1}}},
                                                   .dtype = DType::kF64}),
                                       kTarget, "nest/i1/S|SS");
  EXPECT_THAT(text, HasSubstr("\n  width = 4 8 16\n"));
  EXPECT_THAT(text, HasSubstr(R"(
  compute_at@1 b3->(b3_i0,b3_i1) inside=b1_w1
  split@1 b3_i1->(b3_vo,b3_vi) size=$width
  reorder@1 (b3_i0,b3_vo,b3_vi)
  vectorize@1 b3_vi lanes=4
)"));
}

TEST(ProducersRuleTest, MaximaOfRowsOfBytes) {
  const std::string text = DerivedText(RowDistances(64, 160), kTarget, "nest/k/S|SS");
  EXPECT_THAT(text, HasSubstr("\n  width = 32 64 128\n"));
  EXPECT_THAT(text, HasSubstr(R"(
  split@1 M.k->(M_ko,M_kl) size=$width tail=guard
  rfactor@1 M->M_lanes loop=M_kl
  compute_at@1 M->(M_i0,M_i1) inside=Y_s0_0
  stage@1 M->M_sum inside=M_i1 scope=register
  vectorize@1 M_lanes.M_kl lanes=32
  compute_at@1 M_lanes->(M_i0l,M_i1l,M_kv) inside=Y_s0_0
)"));
}

// The names of what is derived of a softmax. A blank in one parts nests of several blocks.
std::string DerivedOfSoftmax(int64_t rows, int64_t columns, absl::string_view target) {
  return DerivedText(WorkloadOf({.name = "softmax",
                                 .op = "softmax",
                                 .inputs = {{rows, columns}},
                                 .attributes = {{"axis", int64_t{1}}}}),
                     target, "");
}

TEST(ProducersRuleTest, NestsBlockByBlockWhereWorkersCannotShareOneOfTheWholeProgram) {
  EXPECT_THAT(DerivedOfSoftmax(256, 160, "cpu:arch=znver4,threads=2"), Not(HasSubstr(" nest")));
  EXPECT_THAT(DerivedOfSoftmax(1, 65536, "cpu:arch=znver4,threads=1"), Not(HasSubstr(" nest")));
  EXPECT_THAT(DerivedOfSoftmax(1, 65536, "cpu:arch=znver4,threads=2"), HasSubstr(" nest"));
}

}  // namespace
}  // namespace burnish
