// Constants in the order of use.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/generator/generator_test_util.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReadCacheRuleTest, PanelsOfTilesOfTheVectorLoop) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(DerivedText(ProductOf(dtype), kRuleTarget, "nest/i1/SRUS/packed"), HasSubstr(R"(
  relayout@1 b1->b2_packed0 dims=(b2_s1_0,b2.i2,b2_s1_1)
  precompute@1 b2_packed0
)"));
  }
}

// Elements lie along the lanes: as good where they are.
TEST(ReadCacheRuleTest, BesideItInPlace) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(DerivedText(ProductOf(dtype), kRuleTarget, "nest/i1/SRUS"),
                AllOf(HasSubstr("vectorize@1 b2_s1_1"), Not(HasSubstr("relayout"))));
  }
}

// Lanes would load them one by one.
TEST(ReadCacheRuleTest, OnlyInOrderWhereLanesAreFarApart) {
  for (const auto& [dtype, lanes] : kRuleTypes) {
    EXPECT_THAT(DerivedText(LongProductOf(dtype), kRuleTarget, ""),
                AllOf(HasSubstr("nest/i1/SRUS/packed\n"), Not(HasSubstr("nest/i1/SRUS\n"))));
  }
}

}  // namespace
}  // namespace burnish
