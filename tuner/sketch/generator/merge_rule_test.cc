// Loops that every access walks as one become one.
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/generator/generator_test_util.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(MergeRuleTest, RowsOfAnElementwiseBlock) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    const Program add = WorkloadOf({.name = "add",
                                    .op = "add",
                                    .inputs = {{64, 150}, {64, 150}},
                                    .all_inputs = true,
                                    .dtype = dtype});
    EXPECT_THAT(DerivedText(add, kRuleTarget, "nest/s02/SS"), HasSubstr(absl::StrFormat(R"(
  fuse@1 (b2.i0,b2.i1)->b2_s02
  split@1 b2_s02->(b2_s0_0,b2_s0_1) size=$s0_1
  reorder@1 (b2_s0_0,b2_s0_1)
  vectorize@1 b2_s0_1 lanes=%d
)",
                                                                                        lanes)));
  }
}

TEST(MergeRuleTest, PixelsOfAReduction) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    const Program maxima = WorkloadOf({.name = "maxima",
                                       .op = "reduce_max",
                                       .inputs = {{8, 18, 18, 64}},
                                       .attributes = {{"axes", Ints{1, 2}}},
                                       .dtype = dtype});
    EXPECT_THAT(DerivedText(maxima, kRuleTarget, "nest/i3/SRUS"),
                HasSubstr("\n  fuse@1 (b1.i4,b1.i5)->b1_r02\n"));
  }
}

// Rows of the input are longer than the window: its taps are no run.
TEST(MergeRuleTest, TapsOfAWindowStayApart) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    const Program pool =
        WorkloadOf({.name = "pool",
                    .op = "max_pool",
                    .inputs = {{1, 18, 18, 64}},
                    .attributes = {{"channels_last", int64_t{1}}, {"kernel_shape", Ints{3, 3}}},
                    .dtype = dtype});
    EXPECT_THAT(DerivedText(pool, kRuleTarget, "nest/s13/SRUS"),
                AllOf(HasSubstr("\n  fuse@1 (b1.i2,b1.i3)->b1_s13\n"),
                      HasSubstr("\n  split@1 b1.i4->(b1_r0_0,b1_r0_1)"),
                      HasSubstr("\n  split@1 b1.i5->(b1_r1_0,b1_r1_1)")));
  }
}

}  // namespace
}  // namespace burnish
