#include "compiler/driver/trim_step.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/ir/join_parallel.h"
#include "compiler/ir/lower.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;
const SizeTerm kB = SizeTerm::OfExtent(0), kS = SizeTerm::OfExtent(1);

// exp of [rows, 6], with the trace's steps; "ROW" in it stands for the loop over rows.
Program Lowered(int64_t rows, std::string trace, const char* op = "exp", bool joined = false) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {rows, 6}});
  const ValueId y = Op(graph, op, {x});
  const Program program = DefineNode(graph, graph.nodes[graph.value(y).producer]);
  const std::string row = program.vars[program.blocks[0].spatial[0]].name;
  for (size_t at; (at = trace.find("ROW")) != std::string::npos;) trace.replace(at, 3, row);
  const auto steps = ParseTrace(trace);
  EXPECT_THAT(steps, IsOk());
  auto scheduled = ApplyTrace(*steps, program);
  EXPECT_THAT(scheduled, IsOk());
  if (joined) JoinParallel(*scheduled);
  const auto lowered = Lower(*scheduled);
  EXPECT_THAT(lowered, IsOk());
  return *lowered;
}
DemandedParts Rows(const AxisParts& rows) { return {rows, {{.holds = SizeTerm(6), .bound = 6}}}; }

TEST(TrimStepTest, TilesOfRowsAreLeftOutByWhatTheyHold) {
  const Program program = Lowered(30, "split@1 ROW->(o,i) size=4\nparallel@1 o");
  const auto trim = TrimOf(program, Rows({{kB, 3}, {kS, 10}}));
  ASSERT_TRUE(trim.has_value());
  EXPECT_EQ(trim->iterations, 8u);
  ASSERT_EQ(trim->axes.size(), 1u);
  // Rows 28 and 29 are a tile of their own.
  EXPECT_EQ(trim->axes[0].starts, (Shape{0, 4, 8, 12, 16, 20, 24, 28}));
  for (int64_t b = 1; b <= 3; ++b) {
    for (int64_t s = 1; s <= 10; ++s) {
      std::vector<uint32_t> want;
      for (uint32_t p = 0; p < 8; ++p) {
        bool any = false;
        for (int64_t row = 4 * p; row < std::min<int64_t>(4 * p + 4, 30); ++row) {
          any = any || (row / 10 < b && row % 10 < s);
        }
        if (any) want.push_back(p);
      }
      // Never less than what is read; a tile may look larger than it is.
      const std::vector<uint32_t> got = NeededIterations(*trim, Shape{b, s});
      EXPECT_TRUE(std::includes(got.begin(), got.end(), want.begin(), want.end()));
      EXPECT_LE(got.size(), want.size() + 1);
    }
  }
}

// The loop is cut for two threads, and a run's rows are shared by both all the same.
TEST(TrimStepTest, RowsOfAJoinedLoopAreSharedOutAsTheyAre) {
  const char* const trace = "split@1 ROW->(p,t) parts=2\nparallel@1 p";
  const AxisParts rows = {{kB, 3}, {kS, 10}};
  EXPECT_EQ(TrimOf(Lowered(30, trace), Rows(rows))->iterations, 2u);
  const auto trim = TrimOf(Lowered(30, trace, "exp", /*joined=*/true), Rows(rows));
  ASSERT_TRUE(trim.has_value());
  // With the six columns of each.
  EXPECT_EQ(trim->iterations, 30u * 6);
  std::vector<uint32_t> want(4 * 6);
  std::iota(want.begin(), want.end(), 0);
  EXPECT_EQ(NeededIterations(*trim, Shape{1, 4}), want);
}

// A part of many rows is wanted where any of its rows is.
TEST(TrimStepTest, PartsOfALongLoopAreWantedAsTheirRows) {
  constexpr int64_t kRows = 3 * 1000;
  const auto trim = TrimOf(Lowered(kRows, "parallel@1 ROW"), Rows({{kB, 3}, {kS, 1000}}));
  ASSERT_TRUE(trim.has_value());
  const int64_t parts = trim->iterations;
  ASSERT_EQ(parts, 1024);
  for (const auto& [b, s] : {std::pair(1, 1), {1, 1000}, {2, 37}, {3, 500}, {3, 1000}}) {
    std::vector<uint32_t> want;
    for (int64_t p = 0; p < parts; ++p) {
      bool any = false;
      for (int64_t row = p * kRows / parts; row < (p + 1) * kRows / parts; ++row) {
        any = any || (row / 1000 < b && row % 1000 < s);
      }
      if (any) want.push_back(static_cast<uint32_t>(p));
    }
    const std::vector<uint32_t> got = NeededIterations(*trim, Shape{b, s});
    EXPECT_TRUE(std::includes(got.begin(), got.end(), want.begin(), want.end())) << b << " " << s;
    EXPECT_LE(got.size(), want.size() + b) << b << " " << s;
  }
}

TEST(TrimStepTest, AValueIsReadInItsOwnShape) {
  const Program program = Lowered(30, "parallel@1 ROW");
  const DemandedParts whole = {{{kB, 3}}, {{kS, 10}}, {{SizeTerm(6), 6}}};
  const auto trim = TrimOf(program, whole);
  ASSERT_TRUE(trim.has_value());
  EXPECT_EQ(NeededIterations(*trim, Shape{2, 3}), (std::vector<uint32_t>{0, 1, 2, 10, 11, 12}));
}

// Of batch elements the first (s + 4) / 3 rows each, in tiles that go from one to the next.
TEST(TrimStepTest, QuotientsOfSizesCountRows) {
  const Program program = Lowered(30, "split@1 ROW->(o,i) size=4\nparallel@1 o");
  const AxisParts rows = {{kB, 3}, {.holds = *kS.Plus(SizeTerm(4)), .bound = 10, .divisor = 3}};
  const auto trim = TrimOf(program, Rows(rows));
  ASSERT_TRUE(trim.has_value());
  for (int64_t b = 1; b <= 3; ++b) {
    for (int64_t s = 1; s <= 26; ++s) {
      std::vector<uint32_t> want;
      for (uint32_t p = 0; p < 8; ++p) {
        bool any = false;
        for (int64_t row = 4 * p; row < std::min<int64_t>(4 * p + 4, 30); ++row) {
          any = any || (row / 10 < b && row % 10 < (s + 4) / 3);
        }
        if (any) want.push_back(p);
      }
      const std::vector<uint32_t> got = NeededIterations(*trim, Shape{b, s});
      EXPECT_TRUE(std::includes(got.begin(), got.end(), want.begin(), want.end()));
      EXPECT_LE(got.size(), want.size() + b) << b << " " << s;
    }
  }
}

TEST(TrimStepTest, WhatEachIterationWritesInAnyRunIsNotLeftOut) {
  const AxisParts rows = {{kS, 30}};
  EXPECT_FALSE(TrimOf(Lowered(30, ""), Rows(rows)).has_value()) << "no parallel loop";
  const Program parallel = Lowered(30, "parallel@1 ROW");
  EXPECT_TRUE(TrimOf(parallel, Rows(rows)).has_value());
  EXPECT_FALSE(TrimOf(parallel, {}).has_value()) << "all is read";
  EXPECT_FALSE(TrimOf(parallel, {{{SizeTerm(30), 30}}, {{kS, 6}}}).has_value())
      << "the columns of each row";
}

}  // namespace
}  // namespace burnish
