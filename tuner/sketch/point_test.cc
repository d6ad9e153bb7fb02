// Points of sketches: binding, enumeration, joining, and recognition of traces from elsewhere.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/ir/expr.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/schedule/primitive.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace_text.h"
#include "compiler/target/device_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/sketch/default_schedule.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;

OpenStep StepOf(const char* primitive, std::vector<std::string> inputs,
                std::vector<std::string> outputs, std::vector<Argument> arguments,
                Expr when = nullptr) {
  return {.step = {.primitive = FindPrimitive(primitive, 1),
                   .inputs = std::move(inputs),
                   .outputs = std::move(outputs),
                   .arguments = std::move(arguments)},
          .when = std::move(when)};
}

// Two steps that are switched, a decision that two steps name, one that only one switch uses, a
// step with an expression, and a step whose condition compares two decisions.
Sketch TiledSketch() {
  const Expr rows = VarRef(0), panel = VarRef(1), unroll = VarRef(2), blocked = VarRef(3),
             ahead = VarRef(4), prefetch = VarRef(5);
  return {.name = "tiled",
          .steps = {StepOf("split", {"m"}, {"mt", "mi"}, {{"max", rows}}),
                    StepOf("split", {"o"}, {"op", "oi"}, {{"size", panel}}),
                    StepOf("split", {"q"}, {"qo", "qi"}, {{"size", unroll}}, blocked),
                    StepOf("unroll", {"qi"}, {}, {}, blocked),
                    StepOf("vectorize", {"op"}, {}, {{"lanes", ahead}}, prefetch),
                    StepOf("split", {"r"}, {"ro", "ri"}, {{"size", panel * 2}}),
                    StepOf("reorder", {"oi", "mi"}, {}, {}, Lt(rows, FloorDiv(panel, 4)))},
          .decisions = {{.name = "rows", .values = {1, 2, 4, 6, 12}},
                        {.name = "panel", .values = {8, 16}},
                        {.name = "unroll", .values = {2, 4}},
                        {.name = "blocked", .kind = DecisionKind::kChoice, .values = {0, 1}},
                        {.name = "ahead", .values = {1, 2}},
                        {.name = "prefetch", .kind = DecisionKind::kChoice, .values = {0, 1}}}};
}

TEST(PointTest, BindingTakesStepsWhoseConditionHoldsWithValuesForExpressions) {
  const Sketch sketch = TiledSketch();
  ASSERT_OK_AND_ASSIGN(const Trace plain, Bind(sketch, {6, 8, 2, 0, 1, 0}));
  EXPECT_EQ(PrintTrace(plain),
            "split@1 m->(mt,mi) max=6\n"
            "split@1 o->(op,oi) size=8\n"
            "split@1 r->(ro,ri) size=16\n");
  ASSERT_OK_AND_ASSIGN(const Trace full, Bind(sketch, {2, 16, 4, 1, 2, 1}));
  EXPECT_EQ(PrintTrace(full),
            "split@1 m->(mt,mi) max=2\n"
            "split@1 o->(op,oi) size=16\n"
            "split@1 q->(qo,qi) size=4\n"
            "unroll@1 qi\n"
            "vectorize@1 op lanes=2\n"
            "split@1 r->(ro,ri) size=32\n"
            "reorder@1 (oi,mi)\n");
  EXPECT_THAT(Bind(sketch, {3, 8, 2, 0, 1, 0}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Bind(sketch, {6, 8}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(PointTest, EnumerationIsLexicographicAndAsksEveryConstraint) {
  const Sketch sketch = {
      .decisions = {{.name = "a", .values = {1, 2, 3}}, {.name = "b", .values = {1, 2}}},
      .constraints = {Binary(ExprKind::kNe, VarRef(0), VarRef(1))}};
  EXPECT_EQ(SpaceSize(sketch), 6);
  EXPECT_THAT(EnumeratePoints(sketch, 10),
              ElementsAre(Point{1, 2}, Point{2, 1}, Point{3, 1}, Point{3, 2}));
  EXPECT_EQ(EnumeratePoints(sketch, 2).size(), 2);
  EXPECT_TRUE(EnumeratePoints({.constraints = {Bool(false)}}, 10).empty());
  EXPECT_EQ(EnumeratePoints({.name = "unscheduled"}, 10).size(), 1);
}

TEST(PointTest, CountsAreExactUntilTheWorkRunsOutAndThenAnIntervalAroundTheTruth) {
  // Of 16^4 points those whose first two values differ: 15/16 of them.
  Sketch sketch = {.constraints = {Binary(ExprKind::kNe, VarRef(0), VarRef(1))}};
  for (const char* name : {"a", "b", "c", "d"}) {
    Decision decision{.name = name};
    for (int64_t v = 0; v < 16; ++v) decision.values.push_back(v);
    sketch.decisions.push_back(std::move(decision));
  }
  const int64_t truth = 16 * 15 * 16 * 16;
  EXPECT_EQ(CountPoints(sketch), (PointCount{.count = truth, .low = truth, .high = truth}));
  const PointCount estimate = CountPoints(sketch, 1000);
  EXPECT_FALSE(estimate.exact);
  EXPECT_LE(estimate.low, truth);
  EXPECT_GE(estimate.high, truth);
  EXPECT_NEAR(static_cast<double>(estimate.count), static_cast<double>(truth), 0.01 * truth);
  EXPECT_EQ(CountPoints(sketch, 1000), estimate);
  EXPECT_EQ(CountPoints({.constraints = {Bool(false)}}).count, 0);
  EXPECT_EQ(CountPoints({.name = "unscheduled"}).count, 1);
}

TEST(PointTest, JoinedSketchesKeepTheirOwnDecisions) {
  const Sketch first = {.name = "first",
                        .steps = {StepOf("split", {"m"}, {"a", "b"}, {{"size", VarRef(0)}})},
                        .decisions = {{.name = "width", .values = {2, 4}}}};
  const Sketch second = {
      .name = "second",
      .steps = {StepOf("split", {"n"}, {"c", "d"}, {{"size", VarRef(0)}}),
                StepOf("unroll", {"d"}, {}, {}, VarRef(1))},
      .decisions = {{.name = "width", .values = {3, 5}}, {.name = "widths", .values = {0, 1}}},
      .constraints = {Lt(VarRef(1), VarRef(0) - 3)}};
  const Sketch joined = Join(first, second, "_b1");
  EXPECT_EQ(joined.name, "first second");
  ASSERT_EQ(joined.decisions.size(), 3u);
  EXPECT_EQ(joined.decisions[1].name, "width_b1");
  EXPECT_EQ(joined.decisions[2].name, "widths");
  // Width 3 leaves nothing under it; 5 leaves both values.
  EXPECT_THAT(EnumeratePoints(joined, 10),
              ElementsAre(Point{2, 5, 0}, Point{2, 5, 1}, Point{4, 5, 0}, Point{4, 5, 1}));
  ASSERT_OK_AND_ASSIGN(const Trace trace, Bind(joined, {4, 5, 1}));
  EXPECT_EQ(PrintTrace(trace), "split@1 m->(a,b) size=4\nsplit@1 n->(c,d) size=5\nunroll@1 d\n");
}

TEST(PointTest, EveryPointIsFoundAgainFromItsTrace) {
  const Sketch sketch = TiledSketch();
  for (const Point& point : EnumeratePoints(sketch, 1000)) {
    ASSERT_OK_AND_ASSIGN(const Trace trace, Bind(sketch, point));
    SCOPED_TRACE(PrintTrace(trace));
    // What a skipped step alone names is not in the trace: the first value stands for it.
    Point want = point;
    if (point[3] == 0) want[2] = 2;
    if (point[5] == 0) want[4] = 1;
    EXPECT_THAT(Recognize(sketch, trace), Optional(Eq(want)));
  }
}

TEST(PointTest, TracesThatTheSketchCannotSayAreNotFound) {
  const Sketch sketch = TiledSketch();
  const std::string base =
      "split@1 m->(mt,mi) max=6\nsplit@1 o->(op,oi) size=8\nsplit@1 r->(ro,ri) size=16\n";
  EXPECT_THAT(Recognize(sketch, ParseTrace(base).value()), Optional(Eq(Point{6, 8, 2, 0, 1, 0})));
  const std::string others[] = {
      "",
      // Value 5 is none of the decision's; the panels differ; one step more; one missing; a
      // condition that does not hold at these values, and one that holds and is not there.
      "split@1 m->(mt,mi) max=5\nsplit@1 o->(op,oi) size=8\nsplit@1 r->(ro,ri) size=16\n",
      "split@1 m->(mt,mi) max=6\nsplit@1 o->(op,oi) size=8\nsplit@1 r->(ro,ri) size=32\n",
      base + "unroll@1 m\n",
      "split@1 m->(mt,mi) max=6\nsplit@1 o->(op,oi) size=8\n",
      base + "reorder@1 (oi,mi)\n",
      "split@1 m->(mt,mi) max=1\nsplit@1 o->(op,oi) size=8\nsplit@1 r->(ro,ri) size=16\n",
  };
  for (const std::string& other : others) {
    EXPECT_EQ(Recognize(sketch, ParseTrace(other).value()), std::nullopt) << other;
  }
}

// The residual is an operand of the finish and the second argument of the call: what was found for
// the layer without it is a point of the layer with it.
TEST(PointTest, TraceOfALayerIsKnownInTheLayerWithAResidual) {
  const auto workload_of = [](const Program& program) {
    return ParseProgram(PrintWorkload(program)).value();
  };
  const TestConvShape plain = {.h = 14, .w = 14, .ci = 64, .co = 64};
  TestConvShape residual = plain;
  residual.residual = true;
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver3,threads=2"));
  const DeviceModel device = DeviceModelOf(target);
  Trace steps = DefaultSchedule(workload_of(ConvProgram(plain)), device);
  const Program other = workload_of(ConvProgram(residual));
  EXPECT_THAT(ApplyTrace(steps, other), IsOk());
  // The sketch with the residual prefetches that as well or nothing.
  ASSERT_STREQ(steps.back().primitive->name, "prefetch");
  steps.pop_back();
  const std::vector<Sketch> sketches = GenerateSketches(other, device);
  EXPECT_TRUE(std::any_of(sketches.begin(), sketches.end(), [&](const Sketch& sketch) {
    return Recognize(sketch, steps).has_value();
  })) << PrintTrace(steps);
}

}  // namespace
}  // namespace burnish
