// What workers summed is added up.
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/generator/generator_test_util.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CombineRuleTest, PartsAreAddedUpInVectorsAlongTheOutput) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(DerivedText(LongProductOf(dtype), kRuleTarget, "nest/parts/i1/SRUS/packed"),
                HasSubstr(absl::StrFormat(R"(
  fuse@1 (b2_parts.b2.i0,b2_parts.b2.i1)->b2_cr
  split@1 b2_cr->(b2_cv,b2_ci) size=%1$d
  reorder@1 (b2_cv,b2_parts.b2_w,b2_ci)
  stage@1 b2->b2_total inside=b2_cv scope=register
  vectorize@1 b2_ci lanes=%1$d
)",
                                          lanes)));
  }
}

TEST(CombineRuleTest, OneElementIsAddedUpByOneLoop) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    const Program sum = WorkloadOf({.name = "sum",
                                    .op = "reduce_sum",
                                    .inputs = {{3, 40001}},
                                    .attributes = {{"axes", Ints{0, 1}}, {"keepdims", int64_t{0}}},
                                    .dtype = dtype});
    EXPECT_THAT(DerivedText(sum, kRuleTarget, "nest/parts/sums/SRUS"),
                AllOf(HasSubstr("rfactor@1 b1->b1_parts loop=b1_w\n"), Not(HasSubstr("b1_cr"))));
  }
}

}  // namespace
}  // namespace burnish
