#include "tuner/search/sketch_match.h"

#include <algorithm>

#include "base/status_matchers.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/schedule/primitive.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/isa_model.h"
#include "tuner/sketch/default_schedule.h"

namespace burnish {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

// Two steps that are switched, a decision that two steps name, and one that only one switch uses.
Sketch TiledSketch() {
  return {.name = "tiled",
          .steps = {{.text = "split@1 m->(mt,mi) max=$rows"},
                    {.text = "split@1 o->(op,oi) size=$panel"},
                    {.text = "split@1 q->(qo,qi) size=$unroll", .when = "blocked"},
                    {.text = "unroll@1 (qi)", .when = "blocked"},
                    {.text = "vectorize@1 op lanes=$ahead", .when = "prefetch"},
                    {.text = "split@1 r->(ro,ri) size=$panel"}},
          .decisions = {{"rows", {1, 2, 4, 6, 12}},
                        {"panel", {8, 16}},
                        {"unroll", {2, 4}},
                        {"blocked", {0, 1}},
                        {"ahead", {1, 2}},
                        {"prefetch", {0, 1}}}};
}

TEST(SketchMatchTest, EveryPointIsFoundAgainFromItsTrace) {
  const Sketch sketch = TiledSketch();
  ASSERT_OK_AND_ASSIGN(const SketchMatcher matcher, SketchMatcher::Create(sketch));
  for (const Point& point : EnumeratePoints(sketch, 1000)) {
    ASSERT_OK_AND_ASSIGN(const Trace trace, Bind(sketch, point));
    const std::string text = PrintTrace(trace);
    SCOPED_TRACE(text);
    const std::optional<Point> found = matcher.Match(text);
    ASSERT_TRUE(found.has_value());
    // What a skipped step alone names is not in the trace: the first value stands for it.
    Point want = point;
    if (point[3] == 0) want[2] = 2;
    if (point[5] == 0) want[4] = 1;
    EXPECT_EQ(*found, want);
  }
}

TEST(SketchMatchTest, TracesThatTheSketchCannotSayAreNotFound) {
  ASSERT_OK_AND_ASSIGN(const SketchMatcher matcher, SketchMatcher::Create(TiledSketch()));
  const auto text_of = [](const std::string& text) {
    const absl::StatusOr<Trace> trace = ParseTrace(text);
    return trace.ok() ? PrintTrace(*trace) : "does not parse";
  };
  const char kBase[] =
      "split@1 m->(mt,mi) max=6\nsplit@1 o->(op,oi) size=8\nsplit@1 r->(ro,ri) size=8\n";
  EXPECT_THAT(matcher.Match(text_of(kBase)), Optional(Eq(Point{6, 8, 2, 0, 1, 0})));
  const std::string others[] = {
      "",
      // Value 5 is none of the decision's; the two panels differ; one step more; one missing.
      "split@1 m->(mt,mi) max=5\nsplit@1 o->(op,oi) size=8\nsplit@1 r->(ro,ri) size=8\n",
      "split@1 m->(mt,mi) max=6\nsplit@1 o->(op,oi) size=8\nsplit@1 r->(ro,ri) size=16\n",
      std::string(kBase) + "unroll@1 m\n",
      "split@1 m->(mt,mi) max=6\nsplit@1 o->(op,oi) size=8\n",
  };
  for (const std::string& other : others)
    EXPECT_EQ(matcher.Match(text_of(other)), std::nullopt) << other;
  EXPECT_EQ(matcher.Match("not a trace"), std::nullopt);
}

TEST(SketchMatchTest, SketchThatNamesAnUnknownDecisionIsRefused) {
  EXPECT_THAT(
      SketchMatcher::Create({.name = "odd", .steps = {{.text = "split@1 m->(a,b) size=$x"}}})
          .status(),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("odd has no decision named x")));
}

// The residual is an operand of the finish and the second argument of the call: what was found for
// the layer without it is a point of the layer with it.
TEST(SketchMatchTest, TraceOfALayerIsKnownInTheLayerWithAResidual) {
  const auto workload_of = [](const Program& program) {
    return ParseProgram(PrintWorkload(program)).value();
  };
  const TestConvShape plain = {.h = 14, .w = 14, .ci = 64, .co = 64};
  TestConvShape residual = plain;
  residual.residual = true;
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget("cpu:arch=znver3,threads=2"));
  const IsaModel isa = IsaModelOf(target);
  Trace steps = DefaultSchedule(workload_of(ConvProgram(plain)), isa, 2);
  const Program other = workload_of(ConvProgram(residual));
  EXPECT_THAT(ApplyTrace(steps, other), IsOk());
  // The sketch with the residual prefetches that as well or nothing.
  ASSERT_STREQ(steps.back().primitive->name, "prefetch");
  steps.pop_back();
  const std::string trace = PrintTrace(steps);
  const std::vector<Sketch> sketches = GenerateSketches(other, isa, 2);
  EXPECT_TRUE(std::any_of(sketches.begin(), sketches.end(), [&](const Sketch& sketch) {
    return SketchMatcher::Create(sketch).value().Match(trace).has_value();
  })) << trace;
}

}  // namespace
}  // namespace burnish
