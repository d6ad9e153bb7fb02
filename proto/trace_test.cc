#include "proto/trace.h"

#include "base/rng.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/trace.pb.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

TEST(SplitTraceTest, NumbersAreDecisionsAndNamesAndVersionsAreNot) {
  const SplitTrace split = SplitTraceText(
      "fuse@1 (Y.n,Y.y)->m2\n"
      "split@1 m2->(mt,mi) max=6\n"
      "border@12 P->X h=(1,300)=0\n");
  EXPECT_EQ(split.sketch,
            "fuse@1 (Y.n,Y.y)->m2\n"
            "split@1 m2->(mt,mi) max=$#\n"
            "border@12 P->X h=($#,$#)=$#\n");
  EXPECT_EQ(split.decisions, std::string("\x06\x01\xac\x02\x00", 5));
}

TEST(SplitTraceTest, TracesThatDifferInNumbersOnlyShareTheSketch) {
  EXPECT_EQ(SplitTraceText("split@1 i->(a,b) max=6").sketch,
            SplitTraceText("split@1 i->(a,b) max=128").sketch);
}

TEST(SplitTraceTest, WhatWouldNotComeBackStaysInTheSketch) {
  for (const char* text : {"x=007", "x=1.5", "x=1e9", "x=0x10", "x=1234567890123456789", "x=6$",
                           "$6", "cost=$$#", "", "$", "$#", "é=3"}) {
    EXPECT_THAT(JoinTrace(SplitTraceText(text)), IsOkAndHolds(text));
  }
  EXPECT_EQ(SplitTraceText("a=007 b=1.5 c=12345678901234567890").decisions, "");
}

TEST(SplitTraceTest, RandomTextsComeBack) {
  constexpr char kAlphabet[] = "0019$#@._a=( \n,-";
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    Rng rng(seed);
    std::string text;
    for (uint64_t n = rng.Below(60); n > 0; --n)
      text += kAlphabet[rng.Below(sizeof(kAlphabet) - 1)];
    const SplitTrace split = SplitTraceText(text);
    ASSERT_THAT(JoinTrace(split), IsOkAndHolds(text)) << "seed=" << seed;
    ASSERT_THAT(FromProto(ToProto(split)), IsOkAndHolds(split)) << "seed=" << seed;
  }
}

TEST(SplitTraceTest, DecisionsThatDoNotFitTheSketchAreRefused) {
  EXPECT_THAT(JoinTrace({.sketch = "a=$#", .decisions = ""}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no decision")));
  EXPECT_THAT(JoinTrace({.sketch = "a=$#", .decisions = "\x80"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no decision")));
  EXPECT_THAT(JoinTrace({.sketch = "a=$#", .decisions = std::string(12, '\xff')}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no decision")));
  EXPECT_THAT(JoinTrace({.sketch = "a=$#", .decisions = "\x01\x02"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more decisions")));
  EXPECT_THAT(JoinTrace({.sketch = "a=$"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("alone")));
  v1::SplitTrace message;
  message.set_sketch("$x");
  EXPECT_FALSE(FromProto(message).ok());
}

}  // namespace
}  // namespace burnish
