#include "tuner/study/search_preset.h"

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SearchPresetTest, EveryNameOfTheCommandLineIsOne) {
  for (const char* name :
       {"burnish", "templates", "generator", "auto_scheduler", "meta_schedule", "default"}) {
    EXPECT_THAT(FindSearchPreset(name), IsOk()) << name;
  }
  EXPECT_THAT(FindSearchPreset("ansor"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("ansor"), HasSubstr("auto_scheduler"))));
}

TEST(SearchPresetTest, AnsorsRulesAreTheGeneratorsAndItsSearchHasNoAnalyticModel) {
  ASSERT_OK_AND_ASSIGN(const SearchPreset ansor, FindSearchPreset("auto_scheduler"));
  EXPECT_EQ(ansor.spaces, kGenerator);
  EXPECT_FALSE(ansor.analytic);
  EXPECT_FALSE(ansor.algorithms);
  EXPECT_FALSE(ansor.prefetch);
}

TEST(SearchPresetTest, BurnishKeepsWholeSpace) {
  ASSERT_OK_AND_ASSIGN(const SearchPreset all, FindSearchPreset("burnish"));
  EXPECT_TRUE(all.analytic && all.algorithms && all.prefetch && all.tunes);
  EXPECT_EQ(all.spaces, kTemplates | kGenerator);
  ASSERT_OK_AND_ASSIGN(const SearchPreset templates, FindSearchPreset("templates"));
  EXPECT_EQ(templates.spaces, kTemplates);
}

TEST(SearchPresetTest, DefaultMeasuresNothing) {
  ASSERT_OK_AND_ASSIGN(const SearchPreset preset, FindSearchPreset("default"));
  EXPECT_FALSE(preset.tunes);
}

}  // namespace
}  // namespace burnish
