// Operands that are made at run time in the order of use.
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/generator/generator_test_util.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Y[64,128] = X[64,96] * B[96,128], both made at run time; B's elements lie along the output, or,
// turned, along the sums.
Program ProductOfInputs(DType dtype, int64_t rows, bool turned) {
  return WorkloadOf({.name = "inputs",
                     .op = "matmul",
                     .inputs = {{rows, 96}, turned ? Ints{128, 96} : Ints{96, 128}},
                     .attributes = {{"trans_b", int64_t{turned}}},
                     .all_inputs = true,
                     .dtype = dtype});
}

TEST(CopyRuleTest, WholeInFront) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(DerivedText(ProductOfInputs(dtype, 64, true), kRuleTarget, "nest/i1/SRUS/copied"),
                HasSubstr(absl::StrFormat(R"(
  relayout@1 b1->b2_copy0 dims=(b2_s1_0,b2.i2,b2_s1_1)
  fuse@1 (b2_s0_0,b2_s1_0)->b2_p
  split@1 b2_p->(b2_w0,b2_w1) parts=$parts
  parallel@1 b2_w0
  parallel@1 b2_copy0.b2_s1_0
  vectorize@1 b2_copy0.b2_s1_1 lanes=%d
)",
                                          lanes)));
  }
}

// By the worker that reads them, for the tiles inside.
TEST(CopyRuleTest, TileByTile) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(
        DerivedText(ProductOfInputs(dtype, 64, true), kRuleTarget, "nest/i1/SSRUS/copied_tiles"),
        HasSubstr(absl::StrFormat(R"(
  relayout@1 b1->b2_copy0 dims=(b2_s1_0,b2_s1_1,b2.i2,b2_s1_2)
  fuse@1 (b2_s0_0,b2_s1_0)->b2_p
  split@1 b2_p->(b2_w0,b2_w1) parts=$parts
  parallel@1 b2_w0
  compute_at@1 b2_copy0->(b2_copy0_0,b2_copy0_1,b2_copy0_2,b2_copy0_3) inside=b2_w1
  vectorize@1 b2_copy0_3 lanes=%d
)",
                                  lanes)));
  }
}

// In blocks of the reduction those of the block: inside of its loop.
TEST(CopyRuleTest, BlockByBlock) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(
        DerivedText(ProductOfInputs(dtype, 64, true), kRuleTarget, "nest/i1/SSRSRUS/copied_tiles"),
        HasSubstr(R"(inside=b2_r0_0
)"));
  }
}

// Lanes would load single elements.
TEST(CopyRuleTest, OnlyCopiedWhereLanesAreFarApart) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(DerivedText(ProductOfInputs(dtype, 64, true), kRuleTarget, ""),
                AllOf(HasSubstr("nest/i1/SRUS/copied\n"), HasSubstr("nest/sums/SRUS\n"),
                      Not(HasSubstr("nest/i1/SRUS\n"))));
  }
}

// Each element is loaded a few times: lanes lie along the sums.
TEST(CopyRuleTest, FewRowsNeedNoCopy) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_EQ(DerivedText(ProductOfInputs(dtype, 8, true), kRuleTarget, ""),
              "nest/sums/SRUS\nunscheduled\n");
  }
}

// Side by side they are as fast where they lie.
TEST(CopyRuleTest, ElementsAlongTheLanesStayWhereTheyAre) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(DerivedText(ProductOfInputs(dtype, 64, false), kRuleTarget, ""),
                AllOf(HasSubstr("nest/i1/SRUS\n"), Not(HasSubstr("copied"))));
  }
}

}  // namespace
}  // namespace burnish
