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

// Checks the lowered program against the scheduled one, which reads the border.
Program LoweredText(const std::string& text) {
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
  const auto want = Interpret(*program, arguments), got = Interpret(*lowered, arguments);
  EXPECT_THAT(want, IsOk());
  EXPECT_THAT(got, IsOk());
  if (want.ok() && got.ok()) EXPECT_EQ((*got)[0].floats, (*want)[0].floats) << Print(*lowered);
  return *std::move(lowered);
}

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
  return LoweredText(text);
}
// 3x3 taps three pixels apart over 6x6 pixels, whose rows are one loop in tiles of `tile` pixels.
std::string FlatKernel(int tile) {
  const std::string text =
      absl::StrReplaceAll(R"(program/1 "flat"

input X: f32[6, 6, 64] border [(3, 3), (3, 3), (0, 0)] 0.0
input W: f32[3, 3, 64, 16]
output Y: f32[6, 6, 16]
temp acc: f32[] register

var mo in COUNT
var mi in TILE
var m in 36 = mo * TILE + mi
var Y.y in 6 = m // 6
var Y.x in 6 = m % 6
var Y.k in 16
var Y.t in 3 reduce
var Y.u in 3 reduce
var Y.c in 64 reduce

block Y(Y.y, Y.x, Y.k; Y.t, Y.u, Y.c) {
  step Y[Y.y, Y.x, Y.k] += X[Y.y + Y.t * 3 - 3, Y.x + Y.u * 3 - 3, Y.c] * W[Y.t, Y.u, Y.c, Y.k]
}

kernel {
  for mo { stage Y in acc { for Y.t { for Y.u { for Y.c { unroll mi { vectorize(16) Y.k { run Y } } } } } } }
}
)",
                          {{"COUNT", absl::StrCat(36 / tile)}, {"TILE", absl::StrCat(tile)}});
  return Print(LoweredText(text));
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

// A tile that is a part of a row of pixels is beyond by its row, and by its columns.
TEST(SkipBordersTest, TilesOfAFlatLoopAreLeftOutByRowAndColumn) {
  const std::string kernel = FlatKernel(3);
  EXPECT_THAT(kernel, HasSubstr("if 0 <= Y.t * 3 + mo // 2 + -3 && Y.t * 3 + mo // 2 + -3 <= 5 {"));
  EXPECT_THAT(kernel, HasSubstr("if -2 <= Y.u * 3 + mo % 2 * 3 + -3 && "
                                "Y.u * 3 + mo % 2 * 3 + -3 <= 5 {"));
}

// One that goes on in the next row is beyond where its first and its last row are.
TEST(SkipBordersTest, TilesOfTwoRowsAreLeftOutByBoth) {
  const std::string kernel = FlatKernel(4);
  EXPECT_THAT(kernel, HasSubstr("if 0 <= Y.t * 3 + (mo * 2 + 1) // 3 + -3 && "
                                "Y.t * 3 + mo * 2 // 3 + -3 <= 5 {"));
  EXPECT_THAT(kernel, Not(HasSubstr("<= Y.u")));
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
