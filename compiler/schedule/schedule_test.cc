// Schedules with open decisions: what their verbs record and refuse.
#include "compiler/schedule/schedule.h"

#include <string>

#include "base/status_matchers.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/schedule/structure.h"
#include "compiler/schedule/trace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

// Y[m,n] = relu(sum over k of X[m,k] W[k,n]) behind a border of X.
constexpr char kProgram[] = R"(program/1 padded
input X: f32[6, 5]
const W: f32[5, 40]
output Y: f32[8, 40]
temp P: f32[8, 5]
block P(h in 8, c in 5) {
  step P[h, c] = 1 <= h && h < 7 ? X[h - 1, c] : 0.0
}
block Y(m in 8, n in 40; k in 5) {
  step Y[m, n] += P[m, k] * W[k, n]
  finish max(self, 0.0)
}
)";

Program Definition() { return ParseProgram(kProgram).value(); }

std::string StepsText(const Schedule& s) {
  std::string text;
  for (const OpenStep& open : s.steps()) text += PrintStep(open.step) + "\n";
  return text;
}

// A register tile with its sizes open: all verbs of a matrix product.
Schedule TiledProduct() {
  Schedule s(Definition());
  EXPECT_THAT(s.Border("P", "X"), IsOk());
  const Expr mr = s.Decide({.name = "mr", .values = {1, 2, 3, 5, 8}});
  const Expr nr = s.Decide({.name = "nr", .values = {8, 16, 24}});
  const Expr ahead = s.Decide({.name = "ahead", .kind = DecisionKind::kChoice, .values = {0, 1}});
  const auto [panels, vector] = s.SplitSize(s.Find("Y.n"), {"np", "ni"}, nr);
  const auto [worker, panel] = s.SplitParts(panels, {"p", "nq"}, Int(2));
  const auto [tile, row] = s.SplitMax(s.Find("Y.m"), {"mt", "mi"}, mr);
  const LoopRef k = s.Find("Y.k");
  s.Reorder({worker, panel, tile, k, row, vector});
  s.If(Lt(mr, FloorDiv(nr, 8)), [&] { s.Reorder({vector, row}); });
  s.Stage(s.FindBlock("Y"), "acc", tile, Scope::kRegister);
  const BlockRef packed = s.Relayout(s.FindBuffer("W"), "packed", {panels, k, vector});
  s.Precompute(packed);
  s.Parallel(worker);
  s.Unroll(row);
  s.Vectorize(vector, 8);
  s.If(ahead, [&] { s.PrefetchNext(s.OutputOf(packed), panel, k, 2); });
  EXPECT_THAT(s.status(), IsOk());
  return s;
}

TEST(ScheduleTest, VerbsRecordTypedStepsWithTheirDecisionsOpen) {
  const Schedule s = TiledProduct();
  EXPECT_EQ(StepsText(s),
            "border@1 P->X\n"
            "split@1 Y.n->(np,ni) size=$1\n"
            "split@1 np->(p,nq) parts=2\n"
            "split@1 Y.m->(mt,mi) max=$0\n"
            "reorder@1 (p,nq,mt,Y.k,mi,ni)\n"
            "reorder@1 (ni,mi)\n"
            "stage@1 Y->acc inside=mt scope=register\n"
            "relayout@1 W->packed dims=(np,Y.k,ni)\n"
            "precompute@1 packed\n"
            "parallel@1 p\n"
            "unroll@1 mi\n"
            "vectorize@1 ni lanes=8\n"
            "prefetch@1 packed next=nq at=Y.k to=L2\n");
  // The structural step has changed what rules look at.
  EXPECT_EQ(FindBlock(s.program(), "P"), -1);
}

TEST(ScheduleTest, StepsApplyAtEveryPointAndLeaveTheStructure) {
  const Schedule s = TiledProduct();
  for (int64_t mr : {1, 2, 3, 5, 8}) {
    for (int64_t nr : {8, 16}) {
      for (int64_t ahead : {0, 1}) {
        const Point point = {mr, nr, ahead};
        const Trace trace = StepsAt(s.steps(), point);
        SCOPED_TRACE(PrintTrace(trace));
        ASSERT_OK_AND_ASSIGN(const Program applied, ApplyTrace(trace, Definition()));
        Program structure = s.structure();
        if (mr < nr / 8) {
          ReorderLoops(structure, {FindVar(structure, "ni"), FindVar(structure, "mi")});
        }
        EXPECT_EQ(StructureText(structure), StructureText(applied));
        for (const Var& var : applied.vars) {
          const Expr& extent = structure.vars[FindVar(structure, var.name)].extent;
          if (var.def != nullptr || extent == nullptr) continue;
          EXPECT_GE(ValueAt(extent, point), MaxExtent(applied, FindVar(applied, var.name)))
              << var.name;
        }
      }
    }
  }
}

TEST(ScheduleTest, ExtentsAreExpressionsOverTheDecisions) {
  Schedule s(Definition());
  const Expr mr = s.Decide({.name = "mr", .values = {3, 5}});
  const auto [tile, row] = s.SplitMax(s.Find("Y.m"), {"mt", "mi"}, mr);
  EXPECT_EQ(ValueAt(s.ExtentOf(tile), {3}), 3);
  EXPECT_EQ(ValueAt(s.ExtentOf(tile), {5}), 2);
  EXPECT_EQ(ValueAt(s.ExtentOf(row), {3}), 3);
  const LoopRef fused = s.Fuse({tile, row}, "m");
  EXPECT_EQ(ValueAt(s.ExtentOf(fused), {5}), 10);
}

TEST(ScheduleTest, MisuseIsAnErrorThatStays) {
  const auto error = [](const std::function<void(Schedule&)>& misuse) {
    Schedule s(Definition());
    misuse(s);
    const absl::Status first = s.status();
    const size_t count = s.steps().size();
    s.Unroll(s.Find("Y.k"));
    EXPECT_EQ(s.status(), first);
    EXPECT_EQ(s.steps().size(), count);
    return std::string(first.message());
  };
  const Expr two = Int(2);
  EXPECT_THAT(error([&](Schedule& s) { s.Find("Y.q"); }), HasSubstr("no loop Y.q"));
  EXPECT_THAT(error([&](Schedule& s) {
                const LoopRef m = s.Find("Y.m");
                s.SplitMax(m, {"a", "b"}, two);
                s.SplitMax(m, {"c", "d"}, two);
              }),
              HasSubstr("loop Y.m is consumed already"));
  EXPECT_THAT(error([&](Schedule& s) {
                Schedule other(Definition());
                s.Unroll(other.Find("Y.k"));
              }),
              HasSubstr("a loop of another schedule"));
  EXPECT_THAT(error([&](Schedule& s) {
                const LoopRef k = s.Find("Y.k");
                const Schedule copy = s;
                s = copy;
                s.Unroll(k);
              }),
              HasSubstr("a loop of another schedule"));
  EXPECT_THAT(error([&](Schedule& s) { s.SplitMax(s.Find("Y.m"), {"Y.n", "b"}, two); }),
              HasSubstr("there is a loop Y.n already"));
  EXPECT_THAT(error([&](Schedule& s) { s.Fuse({s.Find("Y.m"), s.Find("Y.k")}, "f"); }),
              HasSubstr("are not directly nested"));
  EXPECT_THAT(error([&](Schedule& s) { s.Reorder({s.Find("Y.m"), s.Find("P.h")}); }),
              HasSubstr("are not in one nest"));
  EXPECT_THAT(error([&](Schedule& s) {
                s.Unroll(s.Find("Y.k"));
                s.Vectorize(s.Find("Y.k"), 8);
              }),
              HasSubstr("loop Y.k is annotated already"));
  EXPECT_THAT(error([&](Schedule& s) {
                s.If(Bool(true), [&] { s.SplitMax(s.Find("Y.m"), {"a", "b"}, two); });
              }),
              HasSubstr("split under a condition would make or consume something"));
  EXPECT_THAT(error([&](Schedule& s) {
                s.Decide({.name = "x", .values = {1}});
                s.Decide({.name = "x", .values = {2}});
              }),
              HasSubstr("two decisions x"));
  EXPECT_THAT(error([&](Schedule& s) { s.ComputeAt(s.FindBlock("P"), {"a"}, s.Find("Y.m")); }),
              HasSubstr("got 1 names, want one an axis"));
}

TEST(ScheduleTest, StructuralVerbThatIsRefusedLeavesTheScheduleAsItWas) {
  Schedule s(Definition());
  EXPECT_THAT(s.Border("P", "W"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(s.Inline("Y"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(s.status(), IsOk());
  EXPECT_TRUE(s.steps().empty());
  EXPECT_EQ(Print(s.program()), Print(Definition()));
  EXPECT_THAT(s.Inline("P"), IsOk());
  EXPECT_EQ(StepsText(s), "inline@1 P\n");
}

}  // namespace
}  // namespace burnish
