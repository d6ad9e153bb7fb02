#include "compiler/schedule/primitives/primitive_test_util.h"

#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_text.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

void ExpectSame(const std::vector<TensorValue>& got, const std::vector<TensorValue>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t t = 0; t < want.size(); ++t) {
    EXPECT_EQ(got[t].integers, want[t].integers);
    ASSERT_EQ(got[t].floats.size(), want[t].floats.size());
    for (size_t i = 0; i < want[t].floats.size(); ++i) {
      EXPECT_NEAR(got[t].floats[i], want[t].floats[i], 1e-12) << "element " << i;
    }
  }
}

}  // namespace

const char kMatmulText[] = R"(program/1 matmul
input X: f32[7, 5]
const W: f32[5, 9]
output Y: f32[7, 9]
block Y(m in 7, n in 9; k in 5) {
  step Y[m, n] += X[m, k] * W[k, n]
  finish max(self, 0.0)
}
)";

const char kConvText[] = R"(program/1 conv
input X: f32[10, 3]
const W: f32[4, 3, 3]
output Z: f32[10, 4]
temp P: f32[12, 3]
temp Y: f32[10, 4]
block P(h in 12, c in 3) {
  step P[h, c] = 0 <= h - 1 && h - 1 < 10 ? X[h - 1, c] : 0.0
}
block Y(y in 10, o in 4; k in 3, d in 3) {
  step Y[y, o] += P[y + k, d] * W[o, k, d]
}
block Z(y in 10, o in 4) {
  step Z[y, o] = max(Y[y, o], 0.0)
}
)";

std::string After(const std::string& program_text, const std::string& trace_text) {
  const auto defined = ParseProgram(program_text);
  const auto trace = ParseTrace(trace_text);
  EXPECT_THAT(defined, IsOk());
  EXPECT_THAT(trace, IsOk());
  if (!defined.ok() || !trace.ok()) return "";
  Program program = *defined;
  for (const Step& step : *trace) {
    EXPECT_THAT(ApplyStep(step, program), IsOk()) << PrintStep(step);
    EXPECT_THAT(Verify(program), IsOk()) << PrintStep(step) << "\n" << Print(program);
  }
  const std::vector<TensorValue> arguments = RandomArguments(*defined, 1);
  const auto want = Interpret(*defined, arguments);
  const auto got = Interpret(program, arguments);
  EXPECT_THAT(want, IsOk());
  EXPECT_THAT(got, IsOk());
  if (want.ok() && got.ok()) ExpectSame(*got, *want);
  const auto lowered = Lower(program);
  EXPECT_THAT(lowered, IsOk());
  if (lowered.ok() && want.ok()) {
    EXPECT_THAT(Verify(*lowered), IsOk());
    const auto low = Interpret(*lowered, arguments, {.workers = 2});
    EXPECT_THAT(low, IsOk());
    if (low.ok()) ExpectSame(*low, *want);
  }
  return Print(program);
}

void ExpectRefused(const std::vector<IllegalUse>& uses) {
  for (const IllegalUse& use : uses) {
    SCOPED_TRACE(use.before + use.step);
    ASSERT_OK_AND_ASSIGN(const Program defined, ParseProgram(use.program_text));
    ASSERT_OK_AND_ASSIGN(const Trace before, ParseTrace(use.before));
    ASSERT_OK_AND_ASSIGN(const Trace step, ParseTrace(use.step));
    ASSERT_EQ(step.size(), 1u);
    ASSERT_OK_AND_ASSIGN(Program program, ApplyTrace(before, defined));
    const std::string unchanged = Print(program);
    EXPECT_THAT(ApplyStep(step[0], program),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(use.reason)));
    EXPECT_EQ(Print(program), unchanged);
  }
}

}  // namespace burnish
