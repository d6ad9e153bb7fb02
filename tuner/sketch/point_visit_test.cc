#include "tuner/sketch/point_visit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ir/expr.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

// A block of two decisions that depend on each other; with a number, so that what is best differs.
Sketch Block(int number) {
  return {
      .name = absl::StrCat("block", number),
      .decisions = {{.name = "width", .values = {1, 2, 4}}, {.name = "rows", .values = {1, 2, 4}}},
      .constraints = {Lt(VarRef(0) * VarRef(1), Int(16))}};
}

Sketch Joined(int blocks) {
  Sketch sketch;
  for (int b = 0; b < blocks; ++b) sketch = Join(sketch, Block(b), absl::StrCat("_b", b));
  return sketch;
}

// Seconds that add up over blocks, each best at another point, which no decision by itself leads
// to.
double SecondsOf(const Point& point) {
  double seconds = 0;
  for (size_t d = 0; d < point.size(); d += 2) {
    const int64_t area = point[d] * point[d + 1];
    seconds += std::abs(static_cast<double>(area - (d % 3 == 0 ? 8 : 4)));
    if (point[d] == 4 && point[d + 1] == 2) seconds -= 0.5;
  }
  return seconds;
}

struct Visited {
  int64_t count = 0;
  double least = 1e9;
};

Visited Visit(const Sketch& sketch) {
  Visited visited;
  std::set<Point> seen;
  VisitPoints(sketch, [&](const Point& point) -> std::optional<double> {
    EXPECT_TRUE(IsValid(sketch, point));
    EXPECT_TRUE(seen.insert(point).second) << "twice";
    ++visited.count;
    visited.least = std::min(visited.least, SecondsOf(point));
    return SecondsOf(point);
  });
  return visited;
}

TEST(PointVisitTest, AFewPointsAreAllLookedAt) {
  EXPECT_EQ(Visit(Joined(1)).count, 8);
  EXPECT_EQ(Visit(Joined(2)).count, 64);
}

TEST(PointVisitTest, OneBlocksPointsAreAllLookedAt) {
  Sketch sketch = {.name = "one"};
  for (int d = 0; d < 10; ++d)
    sketch.decisions.push_back({.name = absl::StrCat(d), .values = {1, 2}});
  EXPECT_EQ(Visit(sketch).count, 1024);
}

TEST(PointVisitTest, SeveralBlocksFindTheBestOfAllCombinations) {
  double least = 1e9;
  const Sketch sketch = Joined(3);
  for (const Point& point : EnumeratePoints(sketch, 1000))
    least = std::min(least, SecondsOf(point));
  EXPECT_EQ(Visit(sketch).least, least);
}

TEST(PointVisitTest, WhatIsLookedAtGrowsWithTheBlocksAndNotWithTheirCombinations) {
  const Visited forty = Visit(Joined(40)), eighty = Visit(Joined(80));
  EXPECT_LE(forty.count, 40 * 8 * 2);
  EXPECT_LE(eighty.count, 2.5 * static_cast<double>(forty.count));
  // Each block at its best: one of three has a point of -0.5, the others of 0.
  EXPECT_EQ(forty.least, -0.5 * 14);
  EXPECT_EQ(eighty.least, -0.5 * 27);
}

// What does not apply is passed over, also where the walk begins.
TEST(PointVisitTest, APointThatDoesNotApplyIsNone) {
  const Sketch sketch = Joined(3);
  std::optional<Point> best;
  double least = 1e9;
  VisitPoints(sketch, [&](const Point& point) -> std::optional<double> {
    if (point[0] == 1) return std::nullopt;
    if (SecondsOf(point) < least) least = SecondsOf(point), best = point;
    return SecondsOf(point);
  });
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(*best, (Point{4, 2, 1, 4, 1, 4}));
}

// The first decision of each block is known, however sketches were joined.
TEST(PointVisitTest, JoinedSketchesKnowTheirParts) {
  EXPECT_THAT(Joined(1).parts, ::testing::ElementsAre(0));
  EXPECT_THAT(Joined(3).parts, ::testing::ElementsAre(0, 2, 4));
  EXPECT_THAT(Join(Block(0), Joined(2), "_c").parts, ::testing::ElementsAre(0, 2, 4));
  const Sketch none = {.name = "none"};
  EXPECT_THAT(Join(Joined(2), none, "_c").parts, ::testing::ElementsAre(0, 2));
}

}  // namespace
}  // namespace burnish
