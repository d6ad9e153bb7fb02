#include "tests/bench/search/replay_table.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/bench/search/test_tables.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

const Arm& ArmOf(const char* name) {
  return *std::find_if(Arms().begin(), Arms().end(),
                       [&](const Arm& arm) { return std::strcmp(arm.name, name) == 0; });
}

TEST(ReplayTableTest, EveryArmFindsItsWayThroughTheWholeTable) {
  SearchTable table = FullTestTable();
  table.rows.resize(150);
  ASSERT_OK_AND_ASSIGN(const auto replayed, ReplayedTable::Create(table));
  EXPECT_EQ(replayed->dropped_count(), 0);
  for (const Arm& arm : Arms()) {
    if (!replayed->Suits(arm)) continue;
    ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> best, replayed->Replay(arm, 1, 10'000));
    // Each point is a trial once.
    EXPECT_THAT(best, SizeIs(table.rows.size())) << arm.name;
    EXPECT_TRUE(std::is_sorted(best.rbegin(), best.rend())) << arm.name;
    EXPECT_EQ(best.back(), replayed->best_ns()) << arm.name;
    EXPECT_THAT(replayed->Replay(arm, 1, 10'000), IsOkAndHolds(best)) << arm.name;
  }
}

TEST(ReplayTableTest, OracleFindsTheBestAtOnceAndRandomSeedsDiffer) {
  ASSERT_OK_AND_ASSIGN(const auto replayed, ReplayedTable::Create(FullTestTable()));
  ASSERT_OK_AND_ASSIGN(const auto oracle, replayed->Replay(ArmOf("oracle"), 0, 40));
  ASSERT_THAT(oracle, SizeIs(40));
  EXPECT_EQ(oracle[15], replayed->best_ns());
  ASSERT_OK_AND_ASSIGN(const auto random, replayed->Replay(ArmOf("random"), 0, 40));
  ASSERT_OK_AND_ASSIGN(const auto again, replayed->Replay(ArmOf("random again"), 0, 40));
  ASSERT_OK_AND_ASSIGN(const auto other, replayed->Replay(ArmOf("random"), 1, 40));
  EXPECT_GT(random[15], replayed->best_ns());
  EXPECT_NE(random, again);
  EXPECT_NE(random, other);
}

TEST(ReplayTableTest, RowsByEstimateAreNotForArmsThatDoNotKnowIt) {
  SearchTable table = FullTestTable();
  for (size_t i = 10; i < table.rows.size(); ++i) table.rows[i].uniform = false;
  ASSERT_OK_AND_ASSIGN(const auto replayed, ReplayedTable::Create(table));
  for (const Arm& arm : Arms()) {
    if (!replayed->Suits(arm)) continue;
    ASSERT_OK_AND_ASSIGN(const auto best, replayed->Replay(arm, 0, 100));
    EXPECT_THAT(best, SizeIs(arm.uniform ? 10 : 100)) << arm.name;
    EXPECT_EQ(arm.uniform,
              arm.guidance == Guidance::kNothing || arm.guidance == Guidance::kLearned);
  }
}

TEST(ReplayTableTest, ArmsOfAPartOfTheSpaceStayInIt) {
  const SearchTable table = FullTestTable(
      kTemplates | kGenerator,
      {.uniform_max = 120, .estimated_max = 20, .looked_max = 200, .listed_max = 1000});
  ASSERT_OK_AND_ASSIGN(const auto replayed, ReplayedTable::Create(table));
  EXPECT_EQ(replayed->dropped_count(), 0);
  // The unscheduled program may be among the rows, and is in both.
  size_t nests = 0, unscheduled = 0;
  for (const TableRow& row : table.rows) {
    nests += absl::StrContains(table.sketches[row.sketch].name, "nest");
    unscheduled += table.sketches[row.sketch].name == "unscheduled";
  }
  ASSERT_GT(nests, 10u);
  ASSERT_LT(nests + unscheduled, table.rows.size());
  EXPECT_THAT(replayed->Replay(ArmOf("generator alone"), 0, 1000),
              IsOkAndHolds(SizeIs(nests + unscheduled)));
  EXPECT_THAT(replayed->Replay(ArmOf("templates alone"), 0, 1000),
              IsOkAndHolds(SizeIs(table.rows.size() - nests)));
  EXPECT_TRUE(replayed->Suits(ArmOf("generator alone")));
  ASSERT_OK_AND_ASSIGN(const auto of_templates, ReplayedTable::Create(FullTestTable()));
  EXPECT_FALSE(of_templates->Suits(ArmOf("generator alone")));
  EXPECT_TRUE(of_templates->Suits(ArmOf("prior and trees")));
}

TEST(ReplayTableTest, FailuresAreTrialsWithoutALatency) {
  SearchTable table = FullTestTable();
  table.rows.resize(3);
  for (int i : {0, 1}) {
    table.rows[i].latency_ns.clear();
    table.rows[i].failure = FailureKind::kCrashed;
  }
  const int64_t only = table.rows[2].rank_ns();
  ASSERT_OK_AND_ASSIGN(const auto replayed, ReplayedTable::Create(table));
  ASSERT_OK_AND_ASSIGN(const auto best, replayed->Replay(ArmOf("oracle"), 0, 9));
  EXPECT_THAT(best, ElementsAre(::testing::AnyOf(0, only), ::testing::AnyOf(0, only), only));
  table.rows.resize(2);
  EXPECT_THAT(ReplayedTable::Create(table).status(), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace burnish
