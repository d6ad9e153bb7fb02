// Tiles for each worker.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/generator/generator_test_util.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(DealRuleTest, PartsOfTheOutermostTiles) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(DerivedText(ProductOf(dtype), kRuleTarget, "nest/i1/SRUS/packed"),
                AllOf(HasSubstr("  parts = 2 4 8 16\n"),
                      HasSubstr("  require $parts <= (64 + ($s0_1 - 1)) // $s0_1 *"
                                " ((48 + ($s1_1 - 1)) // $s1_1)\n"),
                      HasSubstr(R"(
  fuse@1 (b2_s0_0,b2_s1_0)->b2_p
  split@1 b2_p->(b2_w0,b2_w1) parts=$parts
  parallel@1 b2_w0
)")));
  }
}

TEST(DealRuleTest, OneWorkerHasThemAll) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(DerivedText(ProductOf(dtype), "cpu:arch=znver3,threads=1", "nest/i1/SRUS/packed"),
                AllOf(HasSubstr("vectorize@1 b2_s1_1"), Not(HasSubstr("parts")),
                      Not(HasSubstr("parallel"))));
  }
}

// Starting workers takes longer than the work.
TEST(DealRuleTest, SmallTasksStayWithOneWorker) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    const Program small = WorkloadOf({.name = "small",
                                      .op = "transpose",
                                      .inputs = {{32, 64}},
                                      .attributes = {{"perm", Ints{1, 0}}},
                                      .dtype = dtype});
    EXPECT_THAT(DerivedText(small, kRuleTarget, "nest/i1/SS"),
                AllOf(HasSubstr("vectorize@1 b1_s1_1"), Not(HasSubstr("parallel"))));
  }
}

}  // namespace
}  // namespace burnish
