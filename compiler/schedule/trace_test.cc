// The hand-written traces of testdata/ at odd shapes: scheduled and lowered forms must compute what
// the definition computes. That they are also fast is measured in tests/bench.
#include "compiler/schedule/trace.h"

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

std::string ReadTrace(const std::string& name) {
  std::ifstream file("compiler/schedule/testdata/" + name + ".trace");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Greatest |got - want| / greatest |want|.
double TensorError(const TensorValue& got, const TensorValue& want) {
  double error = 0, scale = 0;
  for (size_t i = 0; i < want.floats.size(); ++i) {
    error = std::max(error, std::abs(got.floats[i] - want.floats[i]));
    scale = std::max(scale, std::abs(want.floats[i]));
  }
  return error / scale;
}

void ExpectSameResult(const Program& defined, const std::string& trace_name) {
  ASSERT_OK_AND_ASSIGN(const Trace trace, ParseTrace(ReadTrace(trace_name)));
  ASSERT_FALSE(trace.empty());
  Program scheduled = defined;
  for (const Step& step : trace) {
    ASSERT_THAT(ApplyStep(step, scheduled), IsOk()) << PrintStep(step);
    ASSERT_THAT(Verify(scheduled), IsOk()) << PrintStep(step) << "\n" << Print(scheduled);
  }
  ASSERT_OK_AND_ASSIGN(const Program lowered, Lower(scheduled));
  ASSERT_THAT(Verify(lowered), IsOk()) << Print(lowered);
  const std::vector<TensorValue> arguments = RandomArguments(defined, 1);
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, Interpret(defined, arguments));
  const absl::StatusOr<std::vector<TensorValue>> from_schedule = Interpret(scheduled, arguments);
  ASSERT_TRUE(from_schedule.ok()) << from_schedule.status() << Print(scheduled);
  EXPECT_LT(TensorError((*from_schedule)[0], want[0]), 1e-12) << Print(scheduled);
  for (int workers : {1, 2, 3}) {
    const absl::StatusOr<std::vector<TensorValue>> got =
        Interpret(lowered, arguments, {.workers = workers});
    ASSERT_TRUE(got.ok()) << got.status() << Print(lowered);
    EXPECT_LT(TensorError((*got)[0], want[0]), 1e-12) << Print(lowered);
  }
}

TEST(HandWrittenTraceTest, Conv3x3Stride1) {
  ExpectSameResult(ConvProgram({.n = 1, .h = 5, .w = 7, .ci = 5, .co = 35}), "conv3x3_s1");
  ExpectSameResult(ConvProgram({.n = 2, .h = 3, .w = 5, .ci = 8, .co = 33}), "conv3x3_s1");
}

TEST(HandWrittenTraceTest, Conv3x3Stride2WithBlockedReduction) {
  ExpectSameResult(ConvProgram({.n = 1, .h = 9, .w = 7, .ci = 11, .co = 37, .stride = 2}),
                   "conv3x3_s2_blocked");
}

TEST(HandWrittenTraceTest, Conv1x1WithResidual) {
  ExpectSameResult(
      ConvProgram({.n = 1, .h = 7, .w = 5, .ci = 13, .co = 67, .k = 1, .pad = 0, .residual = true}),
      "conv1x1_residual");
}

TEST(HandWrittenTraceTest, Stem7x7) {
  ExpectSameResult(
      ConvProgram({.n = 1, .h = 13, .w = 11, .ci = 3, .co = 40, .k = 7, .stride = 2, .pad = 3}),
      "stem7x7");
}

TEST(HandWrittenTraceTest, FullyConnected) { ExpectSameResult(DenseProgram(1, 45, 101), "dense"); }

TEST(HandWrittenTraceTest, WinogradSplitOverTiles) {
  ExpectSameResult(WinogradProgram({.n = 1, .h = 9, .w = 7, .ci = 5, .co = 19}),
                   "winograd_f4_tiles");
  ExpectSameResult(WinogradProgram({.n = 1, .h = 12, .w = 8, .ci = 8, .co = 16}),
                   "winograd_f4_tiles");
}

TEST(HandWrittenTraceTest, WinogradSplitOverChannels) {
  ExpectSameResult(WinogradProgram({.n = 1, .h = 9, .w = 7, .ci = 5, .co = 19}),
                   "winograd_f4_channels");
}

TEST(TraceTest, TextThatIsNoTraceIsRefusedWithItsLineAndReason) {
  const auto refused = [](absl::string_view text, absl::string_view reason) {
    EXPECT_THAT(ParseTrace(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                           ::testing::HasSubstr(std::string(reason))))
        << text;
  };
  refused("unroll@1 a\nsplit m->(a,b) size=2", "trace line 2: got 'split', want primitive@version");
  refused("split@2 m->(a,b) size=2", "no primitive split@2");
  refused("splice@1 m", "no primitive splice@1");
  refused("split@1 m->(a,b) width=2",
          "split has no argument width, want one of max, size, parts, tail");
  refused("unroll@1 m lanes=2", "unroll has no argument lanes, want none");
  refused("split@1 m->(a,b) size=two", "got size=two, want an integer");
  refused("split@1 m->(a,b) size=9223372036854775808", "want an integer");
  // One value has one spelling, since the text is hashed.
  refused("split@1 m->(a,b) size=02", "got size=02, want an integer");
  refused("split@1 m->(a,b) size=2 size=4", "got size= twice");
  refused("stage@1 Y->acc inside=(a,b) scope=register", "got inside=(a,b), want one name");
  refused("fuse@1 (a,b->m", "want a closing ')'");
  refused("fuse@1 (a,,b)->m", "an empty name");
  refused("fuse@1 (a,$b)->m", "got '$b', want a name");
  refused(std::string(10001, 'a'), "10000 bytes in a step");
}

TEST(TraceTest, PrintedTraceParsesToItself) {
  ASSERT_OK_AND_ASSIGN(const Trace trace, ParseTrace(ReadTrace("winograd_f4_tiles")));
  const std::string printed = PrintTrace(trace);
  ASSERT_OK_AND_ASSIGN(const Trace again, ParseTrace(printed));
  EXPECT_EQ(again, trace);
  EXPECT_EQ(PrintTrace(again), printed);
}

}  // namespace
}  // namespace burnish
