#include "tuner/search/search_space.h"

#include <set>

#include "base/status_matchers.h"
#include "compiler/ir/expr.h"
#include "compiler/schedule/primitive.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/record.h"
#include "proto/workload.h"
#include "tuner/search/synthetic_task.h"

namespace burnish {
namespace {

using ::testing::IsNull;
using ::testing::NotNull;
using ::testing::SizeIs;

TEST(SearchSpaceTest, SmallSpaceIsEnumeratedWithEachTraceOnce) {
  // One decision that no step names: two points, one trace.
  const Sketch sketch = {
      .steps = {{.step = {.primitive = FindPrimitive("split", 1),
                          .inputs = {"m"},
                          .outputs = {"a", "b"},
                          .arguments = {{"size", VarRef(0)}}}}},
      .decisions = {{.name = "x", .values = {1, 2, 3}}, {.name = "unused", .values = {0, 1}}},
      .constraints = {Binary(ExprKind::kNe, VarRef(0), Int(2))}};
  ASSERT_OK_AND_ASSIGN(const auto space, SearchSpace::Create({.sketches = {sketch}}));
  ASSERT_THAT(space->enumerated(), NotNull());
  ASSERT_THAT(*space->enumerated(), SizeIs(2));
  EXPECT_EQ((*space->enumerated())[1].trace, "split@1 m->(a,b) size=3\n");
}

TEST(SearchSpaceTest, LargeSpaceIsNotEnumerated) {
  const SyntheticTask task({.decision_count = 12, .value_count = 64 / 4});
  EXPECT_THAT(task.Space()->enumerated(), IsNull());
  EXPECT_THAT(SyntheticTask({.decision_count = 3}).Space(100)->enumerated(), IsNull());
  EXPECT_THAT(SyntheticTask({.decision_count = 3}).Space(1024)->enumerated(), NotNull());
}

TEST(SearchSpaceTest, CandidateIdIsThatOfTheWholeCandidate) {
  SearchSpaceOptions options = {.sketches = SyntheticTask({}).sketches(),
                                .workload_id = Sha256Bytes("w"),
                                .target = "cpu:arch=znver3",
                                .contract = "c",
                                .codegen_epoch = 7};
  ASSERT_OK_AND_ASSIGN(const auto space, SearchSpace::Create(options));
  ASSERT_OK_AND_ASSIGN(const Proposal proposal, space->Propose(1, Point{1, 2, 4, 8, 1, 1}));
  EXPECT_EQ(proposal.candidate_id,
            CandidateId(options.workload_id, options.target, "c", proposal.trace, 7));
  EXPECT_EQ(space->Recognize(proposal.trace), proposal);
}

TEST(SearchSpaceTest, NeighboursDifferInOneDecisionAndComeNearestFirst) {
  const SyntheticTask task({.sketch_count = 1, .decision_count = 2, .value_count = 3});
  // (4,4) is not valid.
  EXPECT_THAT(task.Space()->Neighbours(0, {4, 2}),
              ::testing::ElementsAre(Point{2, 2}, Point{4, 1}, Point{1, 2}));
}

TEST(SearchSpaceTest, ChoicesAreEquallyNear) {
  SyntheticTask task({.sketch_count = 1, .decision_count = 2, .value_count = 4});
  std::vector<Sketch> sketches(task.sketches().begin(), task.sketches().end());
  sketches[0].decisions[1].kind = DecisionKind::kChoice;
  ASSERT_OK_AND_ASSIGN(const auto space, SearchSpace::Create({.sketches = std::move(sketches)}));
  // All other choices before the size that is two steps away.
  EXPECT_THAT(space->Neighbours(0, {1, 1}),
              ::testing::ElementsAre(Point{2, 1}, Point{1, 2}, Point{1, 4}, Point{1, 8},
                                     Point{4, 1}, Point{8, 1}));
}

TEST(SearchSpaceTest, RandomPointsAreValidAndReachTheWholeSketch) {
  const SyntheticTask task({.sketch_count = 1, .decision_count = 2, .value_count = 3});
  const auto space = task.Space();
  Rng rng(1);
  std::set<Point> seen;
  for (int i = 0; i < 300; ++i) {
    const std::optional<Point> point = space->RandomPoint(0, rng);
    ASSERT_TRUE(point.has_value());
    EXPECT_TRUE(IsValid(space->sketches()[0], *point));
    seen.insert(*point);
  }
  EXPECT_THAT(seen, SizeIs(8));
}

TEST(SearchSpaceTest, SpaceOfListedPointsHasNoOthers) {
  const SyntheticTask task({.sketch_count = 2, .decision_count = 2, .value_count = 4});
  const std::vector<Point> listed = {{1, 1}, {1, 2}, {8, 1}};
  const std::vector<std::vector<Point>> both = {listed, {}}, one = {listed};
  ASSERT_OK_AND_ASSIGN(const auto space, SearchSpace::Create({.sketches = task.sketches(),
                                                              .enumerated_points_max = 2,
                                                              .points = both}));
  EXPECT_THAT(space->enumerated(), IsNull());
  EXPECT_TRUE(space->Contains(0, {1, 2}));
  EXPECT_FALSE(space->Contains(0, {2, 2}));
  EXPECT_FALSE(space->Contains(1, {1, 1}));
  EXPECT_THAT(space->Neighbours(0, {1, 1}), ::testing::ElementsAre(Point{1, 2}, Point{8, 1}));
  Rng rng(1);
  std::set<Point> seen;
  for (int i = 0; i < 100; ++i) seen.insert(*space->RandomPoint(0, rng));
  EXPECT_THAT(seen, ::testing::ElementsAreArray(listed));
  EXPECT_FALSE(space->RandomPoint(1, rng).has_value());
  ASSERT_OK_AND_ASSIGN(const auto small,
                       SearchSpace::Create({.sketches = task.sketches(), .points = both}));
  ASSERT_THAT(small->enumerated(), NotNull());
  EXPECT_THAT(*small->enumerated(), SizeIs(3));
  EXPECT_THAT(SearchSpace::Create({.sketches = task.sketches(), .points = one}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(SearchSpaceTest, NoSketchAndUnknownValueAreRefused) {
  EXPECT_THAT(SearchSpace::Create({}).status(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(SyntheticTask({}).Space()->Propose(0, Point{3, 1, 1, 1, 1, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace burnish
