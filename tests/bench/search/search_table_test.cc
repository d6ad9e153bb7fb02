#include "tests/bench/search/search_table.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_replace.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/bench/search/table_draw.h"
#include "tests/bench/search/table_space.h"
#include "tests/bench/search/test_tables.h"

namespace burnish {
namespace {

SearchTable TwoRows() {
  SearchTable table = EmptyTestTable();
  table.sketches = {{.name = "a", .decisions = {"x", "y"}}, {.name = "none", .decisions = {}}};
  table.rows = {{.index = 3,
                 .uniform = false,
                 .sketch = 0,
                 .point = {4, 16},
                 .latency_ns = {900, 700, 800},
                 .estimate_ns = 500,
                 .code = "0a1b2c3d"},
                {.index = 7, .sketch = 1, .failure = FailureKind::kCrashed, .estimate_ns = 1}};
  return table;
}

TEST(SearchTableTest, TextIsReadBack) {
  const SearchTable table = TwoRows();
  EXPECT_THAT(ParseTable(PrintTable(table)), IsOkAndHolds(table));
  SearchTable empty = EmptyTestTable();
  empty.spaces = kTemplates | kGenerator;
  EXPECT_THAT(ParseTable(PrintTable(empty)), IsOkAndHolds(empty));
}

TEST(SearchTableTest, TablesFromBeforeTheGeneratorAreOfTemplates) {
  const std::string old =
      absl::StrReplaceAll(PrintTable(TwoRows()), {{" \"rules\": \"templates\",\n", ""}});
  ASSERT_NE(old, PrintTable(TwoRows()));
  EXPECT_THAT(ParseTable(old), IsOkAndHolds(TwoRows()));
}

TEST(SearchTableTest, RankIsTheMedianAndNothingOfAFailure) {
  EXPECT_EQ(TwoRows().rows[0].rank_ns(), 800);
  EXPECT_EQ(TwoRows().rows[1].rank_ns(), 0);
}

TEST(SearchTableTest, WhatNoTableSaysIsRefused) {
  const std::string good = PrintTable(TwoRows());
  ASSERT_THAT(ParseTable(good).status(), IsOk());
  const std::pair<const char*, const char*> changes[] = {
      {"[900,700,800]", "[]"},
      {"[900,700,800]", "[900,-1]"},
      {"[900,700,800]", "99"},
      {"\"4 16\"", "\"4\""},
      {"\"4 16\"", "\"4 x\""},
      {"[7,1,1", "[7,1,2"},
      {"[7,1,1", "[3,1,1"},
      {"\"schema\": 1", "\"schema\": 2"},
      {"\"workload\"", "\"worklod\""},
      {"\"name\": \"small\"", "\"name\": 4"},
      {"\"rules\": \"templates\"", "\"rules\": \"tiles\""},
      {"[7,1,1", "[7,1"},
  };
  for (const auto& [from, to] : changes) {
    const std::string bad = absl::StrReplaceAll(good, {{from, to}});
    ASSERT_NE(bad, good) << from;
    EXPECT_THAT(ParseTable(bad).status(), StatusIs(absl::StatusCode::kInvalidArgument)) << to;
  }
  EXPECT_THAT(ParseTable("").status(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseTable(good.substr(0, good.size() / 2)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(TableDrawTest, IsTheSameEachTimeAndHasEachProgramOnce) {
  const TableDraw draw = TestDraw(), again = TestDraw();
  ASSERT_GT(draw.points.size(), 100);
  ASSERT_EQ(draw.points.size(), again.points.size());
  std::set<std::string> traces;
  for (size_t i = 0; i < draw.points.size(); ++i) {
    EXPECT_EQ(draw.points[i].proposal, again.points[i].proposal);
    EXPECT_TRUE(traces.insert(draw.points[i].proposal.trace).second);
    EXPECT_TRUE(draw.points[i].uniform);  // All of the space is in it.
  }
  EXPECT_TRUE(draw.space_exact);
  EXPECT_GE(draw.space_count, static_cast<int64_t>(draw.points.size()));
}

TEST(TableDrawTest, LargerSpaceGetsASampleAndTheBestEstimates) {
  const TableDraw whole = TestDraw();
  const TableDraw part = TestDraw({.uniform_max = 40, .estimated_max = 10});
  ASSERT_EQ(part.points.size(), 50);
  std::vector<double> others;  // Estimates of what is not in the sample.
  std::set<std::string> sample;
  double before = 0;
  for (size_t i = 0; i < part.points.size(); ++i) {
    const DrawnPoint& point = part.points[i];
    // 35 uniform ones and 5 estimated ones in turn, then what is left of both.
    EXPECT_EQ(point.uniform, i % 8 != 7 && i < 45) << i;
    if (point.uniform) {
      sample.insert(point.proposal.trace);
      continue;
    }
    EXPECT_GE(point.estimate_seconds, before);
    before = point.estimate_seconds;
  }
  // A smaller table's sample is the beginning of a larger one's.
  for (size_t i = 0; i < sample.size(); ++i) {
    EXPECT_TRUE(sample.contains(whole.points[i].proposal.trace));
  }
  for (const DrawnPoint& point : whole.points) {
    if (!sample.contains(point.proposal.trace)) others.push_back(point.estimate_seconds);
  }
  std::sort(others.begin(), others.end());
  EXPECT_EQ(before, others[9]);
}

TEST(TableDrawTest, SpaceThatIsNotListedIsDrawnFrom) {
  const TableDraw draw = TestDraw({.uniform_max = 30, .looked_max = 60, .listed_max = 10});
  std::set<int> sketches;
  for (const DrawnPoint& point : draw.points) sketches.insert(point.proposal.sketch_index);
  EXPECT_EQ(draw.points.size(), 60);
  EXPECT_GT(sketches.size(), 1);
}

TEST(TableSpaceTest, RowsFollowTheirSketchAndWhatIsGoneIsDropped) {
  SearchTable table = FullTestTable();
  const auto space = SpaceOfTable(table);
  ASSERT_THAT(space.status(), IsOk());
  const SearchTable full = table;
  EXPECT_EQ(MoveToSketches(space->whole->sketches(), table), 0);
  EXPECT_EQ(table, full);
  // The rules now write the sketches in another order, and one of them no more.
  std::vector<Sketch> sketches(space->whole->sketches().rbegin(), space->whole->sketches().rend());
  const std::string gone = sketches.back().name;
  const auto gone_count =
      std::count_if(table.rows.begin(), table.rows.end(),
                    [&](const TableRow& row) { return table.sketches[row.sketch].name == gone; });
  std::erase_if(sketches, [&](const Sketch& sketch) { return sketch.name == gone; });
  EXPECT_EQ(MoveToSketches(sketches, table), gone_count);
  ASSERT_EQ(table.rows.size(), full.rows.size() - gone_count);
  for (const TableRow& row : table.rows) EXPECT_TRUE(IsValid(sketches[row.sketch], row.point));
}

}  // namespace
}  // namespace burnish
