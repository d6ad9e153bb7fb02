// Iterations that add nothing are left out by lowering (skip_borders.h).
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Three taps `step` rows apart over `rows` rows of 64 channels, between `step` rows of a border, in
// tiles of `tile` rows; 16 output channels.
struct Taps {
  int rows = 20, step = 12, tile = 1;
  std::string border_value = "0.0";
  std::string term = "X[Y.y + Y.t * STEP - STEP, Y.c] * W[Y.t, Y.c, Y.k]";
};

Program Lowered(const Taps& taps) {
  const std::string term = absl::StrReplaceAll(taps.term, {{"STEP", absl::StrCat(taps.step)}});
  const std::string text =
      absl::StrCat("program/1 \"taps\"\n\ninput X: f32[", taps.rows, ", 64] border [(", taps.step,
                   ", ", taps.step, "), (0, 0)] ", taps.border_value, R"(
input W: f32[3, 64, 16]
output Y: f32[)",
                   taps.rows, R"(, 16]
temp acc: f32[] register

var yo in )",
                   taps.rows / taps.tile, R"(
var yi in )",
                   taps.tile, R"(
var Y.y in )",
                   taps.rows, " = yo * ", taps.tile, R"( + yi
var Y.k in 16
var Y.t in 3 reduce
var Y.c in 64 reduce

block Y(Y.y, Y.k; Y.t, Y.c) {
  step Y[Y.y, Y.k] += )",
                   term, R"(
}

kernel {
  for yo { stage Y in acc { for Y.t { for Y.c { unroll yi { vectorize(16) Y.k { run Y } } } } } }
}
)");
  absl::StatusOr<Program> program = ParseProgram(text);
  EXPECT_THAT(program, IsOk()) << text;
  if (!program.ok()) return {};
  EXPECT_THAT(Verify(*program), IsOk()) << text;
  absl::StatusOr<Program> lowered = Lower(*program);
  EXPECT_THAT(lowered, IsOk()) << text;
  EXPECT_THAT(Verify(*lowered), IsOk()) << Print(*lowered);
  std::vector<TensorValue> arguments;
  for (const Buffer& buffer : program->buffers) {
    if (buffer.role != BufferRole::kInput) continue;
    TensorValue value{.shape = buffer.shape};
    for (int64_t i = 0; i < ElementCount(buffer.shape); ++i) {
      value.floats.push_back(static_cast<double>(i * 7 % 23) - 11);
    }
    arguments.push_back(std::move(value));
  }
  // The scheduled program reads the border.
  const auto want = Interpret(*program, arguments), got = Interpret(*lowered, arguments);
  EXPECT_THAT(want, IsOk());
  EXPECT_THAT(got, IsOk());
  if (want.ok() && got.ok()) EXPECT_EQ((*got)[0].floats, (*want)[0].floats) << Print(*lowered);
  return *std::move(lowered);
}

std::string Kernel(const Taps& taps) { return Print(Lowered(taps)); }

TEST(SkipBordersTest, TapsBeyondTheRowsAreLeftOut) {
  EXPECT_THAT(Kernel({}), HasSubstr("if 0 <= yo + Y.t * 12 + -12 && yo + Y.t * 12 + -12 <= 19 {"));
}

// A tile is left out where all of its rows are beyond.
TEST(SkipBordersTest, TilesAreLeftOutAsAWhole) {
  EXPECT_THAT(Kernel({.tile = 4}), HasSubstr("if -3 <= yo * 4 + Y.t * 12 + -12 && "));
  // One tile of all rows has some inside at each tap.
  EXPECT_THAT(Kernel({.tile = 20}), Not(HasSubstr("if ")));
}

TEST(SkipBordersTest, FewTapsAreNotAskedFor) {
  EXPECT_THAT(Kernel({.rows = 7, .step = 1}), HasSubstr("if "));
  // 2 of 168.
  EXPECT_THAT(Kernel({.rows = 56, .step = 1}), Not(HasSubstr("if ")));
}

TEST(SkipBordersTest, WhatABorderAddsIsAdded) {
  EXPECT_THAT(Kernel({.border_value = "3.0"}), Not(HasSubstr("if ")));
  EXPECT_THAT(Kernel({.term = "W[Y.t, Y.c, Y.k] * (X[Y.y + Y.t * STEP - STEP, Y.c] + "
                              "W[Y.t, Y.c, Y.k])"}),
              Not(HasSubstr("if ")));
}

}  // namespace
}  // namespace burnish
