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

// Rows that run across groups have no layout of weights to go with them.
TEST(ReadCacheRuleTest, NoneApartBesideOthers) {
  const Program grouped =
      WorkloadOf({.name = "grouped",
                  .op = "conv",
                  .inputs = {{1, 6, 6, 48}, {96, 24, 1, 1}},
                  .attributes = {{"channels_last", int64_t{1}}, {"group", int64_t{2}}}});
  const std::string names = DerivedText(grouped, kRuleTarget, "");
  EXPECT_THAT(names, HasSubstr("/SRUS/packed\n"));
  EXPECT_THAT(names, Not(HasSubstr("/flat/SRUS\n")));
}

}  // namespace
}  // namespace burnish
