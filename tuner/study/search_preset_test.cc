#include "tuner/study/search_preset.h"

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Sketch PrefetchingSketch() {
  return {.name = "test",
          .steps = {{.text = "prefetch@1 b0 this=l to=L1", .when = "prefetch"}},
          .decisions = {{.name = "mr", .values = {2, 4}},
                        {.name = "prefetch", .values = {0, 1}},
                        {.name = "prefetch_b2", .values = {0, 1}}}};
}

TEST(SearchPresetTest, EveryNameOfTheCommandLineIsOne) {
  for (const char* name : {"burnish", "auto_scheduler", "meta_schedule", "default"}) {
    EXPECT_THAT(FindSearchPreset(name), IsOk()) << name;
  }
  EXPECT_THAT(FindSearchPreset("ansor"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("ansor"), HasSubstr("auto_scheduler"))));
}

TEST(SearchPresetTest, AnsorsRulesHaveNoPrefetchAndItsSearchNoAnalyticModel) {
  ASSERT_OK_AND_ASSIGN(const SearchPreset ansor, FindSearchPreset("auto_scheduler"));
  EXPECT_FALSE(ansor.analytic);
  EXPECT_FALSE(ansor.algorithms);
  std::vector<Sketch> sketches = {PrefetchingSketch()};
  ApplyPreset(ansor, sketches);
  EXPECT_THAT(EnumeratePoints(sketches[0], 10), ElementsAre(Point{2, 0, 0}, Point{4, 0, 0}));
}

TEST(SearchPresetTest, BurnishKeepsWholeSpace) {
  ASSERT_OK_AND_ASSIGN(const SearchPreset all, FindSearchPreset("burnish"));
  EXPECT_TRUE(all.analytic && all.algorithms && all.tunes);
  std::vector<Sketch> sketches = {PrefetchingSketch()};
  ApplyPreset(all, sketches);
  EXPECT_EQ(SpaceSize(sketches[0]), 8);
}

TEST(SearchPresetTest, DefaultMeasuresNothing) {
  ASSERT_OK_AND_ASSIGN(const SearchPreset preset, FindSearchPreset("default"));
  EXPECT_FALSE(preset.tunes);
}

}  // namespace
}  // namespace burnish
