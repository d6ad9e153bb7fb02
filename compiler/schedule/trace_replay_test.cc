#include "compiler/schedule/trace_replay.h"

#include <string>

#include "base/rng.h"
#include "base/status_matchers.h"
#include "compiler/ir/printer.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

// Steps that differ at any place, or are fewer.
Trace RandomTrace(Rng& rng) {
  const auto pick = [&](const char* a, const char* b) { return rng.Below(2) == 0 ? a : b; };
  std::string text = pick("split@1 o->(op,oi) size=16\n", "split@1 o->(op,oi) size=8\n");
  text += pick("reorder@1 (n,op,k,oi)\n", "reorder@1 (op,n,k,oi)\n");
  if (rng.Below(2) == 0) text += "vectorize@1 oi lanes=8\n";
  if (rng.Below(2) == 0) text += "split@1 k->(ko,ki) size=4\n";
  const auto trace = ParseTrace(text);
  EXPECT_THAT(trace, IsOk());
  return *trace;
}

TEST(TraceReplayTest, GivesWhatApplyTraceGivesInAnyOrder) {
  const Program program = DenseProgram(1, 45, 101);
  TraceReplay replay(program);
  Rng rng(1);
  for (int i = 0; i < 60; ++i) {
    const Trace trace = RandomTrace(rng);
    SCOPED_TRACE(PrintTrace(trace));
    const absl::StatusOr<Program> want = ApplyTrace(trace, program);
    const absl::StatusOr<const Program*> got = replay.Apply(trace);
    ASSERT_EQ(got.ok(), want.ok());
    if (want.ok()) {
      EXPECT_EQ(Print(**got), Print(*want));
    } else {
      EXPECT_EQ(got.status(), want.status());
    }
  }
}

TEST(TraceReplayTest, RefusedStepIsNamedAndForgotten) {
  const Program program = DenseProgram(1, 45, 101);
  TraceReplay replay(program);
  ASSERT_OK_AND_ASSIGN(const Trace bad, ParseTrace("split@1 o->(op,oi) size=16\nparallel@1 gone"));
  EXPECT_THAT(replay.Apply(bad),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("step 2, parallel@1 gone: ")));
  ASSERT_OK_AND_ASSIGN(const Program* unscheduled, replay.Apply({}));
  EXPECT_EQ(Print(*unscheduled), Print(program));
}

}  // namespace
}  // namespace burnish
