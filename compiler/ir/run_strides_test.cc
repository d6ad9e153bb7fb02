#include "compiler/ir/run_strides.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kBatch = 2, kHeads = 3, kRows = 5, kWidth = 16;

// Doubles x, [batch, heads, rows, width], as LOOPS say.
constexpr char kDouble[] = R"(program/1 "double"
lowered

input x: f32[2, 3, 5, 16]
output y: f32[2, 3, 5, 16]

var b in 2
var h in 3
var r in 5
var n in 16

kernel {
  for b in 2 {
    for h in 3 {
      LOOPS
    }
  }
}
)";

Program Double(const std::string& loops) {
  std::string text = kDouble;
  text.replace(text.find("LOOPS"), 5, loops);
  absl::StatusOr<Program> program = ParseProgram(text);
  EXPECT_THAT(program, IsOk()) << text;
  return *std::move(program);
}

constexpr char kRowByRow[] =
    "for r in 5 {\n vectorize(16) n in 16 {\n y[b, h, r, n] = x[b, h, r, n] + x[b, h, r, n]\n }\n "
    "}";

// Heads and width are whole in each run; batch and rows it sizes.
const RunStrides kSized = {.parameter = 0, .numbers = {1, 2, -1}};

TEST(RunStridesTest, ARunsShapeIsReadWhereItLiesAndNothingBehindIt) {
  Program program = Double(kRowByRow);
  const std::vector<StridedParameter> read = ReadByRunStrides({kSized}, program);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].parameter, 0);
  EXPECT_EQ(program.buffers[read[0].table].shape, std::vector<int64_t>{3});
  // The verifier knows nothing of what a table holds; the interpreter refuses what lies outside.
  EXPECT_EQ(program.buffers[0].shape, std::vector<int64_t>{kBatch * kHeads * kRows * kWidth});
  for (int64_t batch = 1; batch <= kBatch; ++batch) {
    for (int64_t rows = 1; rows <= kRows; ++rows) {
      const int64_t count = batch * kHeads * rows * kWidth;
      TensorValue x{.shape = program.buffers[0].shape};
      // What must not be read is larger than all else, and would show.
      for (int64_t i = 0; i < ElementCount(x.shape); ++i) {
        x.floats.push_back(static_cast<double>(i < count ? i : 1'000'000));
      }
      const TensorValue strides{
          .dtype = DType::kI64,
          .shape = {3},
          .integers = {count - kWidth, kHeads * rows * kWidth, rows * kWidth}};
      const auto got = Interpret(program, {x, strides});
      ASSERT_THAT(got, IsOk());
      const std::vector<double>& y = (*got)[0].floats;
      EXPECT_LT(*std::max_element(y.begin(), y.end()), 2.0 * static_cast<double>(count));
      for (int64_t b = 0; b < batch; ++b) {
        for (int64_t h = 0; h < kHeads; ++h) {
          for (int64_t i = 0; i < rows * kWidth; ++i) {
            const int64_t at = (b * kHeads + h) * rows * kWidth + i;
            EXPECT_EQ(y[(b * kHeads + h) * kRows * kWidth + i], 2.0 * static_cast<double>(at));
          }
        }
      }
    }
  }
}

TEST(RunStridesTest, LanesInDifferentRowsStayAsTheyAre) {
  const Program plain = Double(
      "for n in 16 {\n vectorize(4) r in 5 {\n y[b, h, r, n] = x[b, h, r, n] + x[b, h, r, n]\n }\n"
      " }");
  Program program = plain;
  EXPECT_TRUE(ReadByRunStrides({kSized}, program).empty());
  EXPECT_EQ(Print(program), Print(plain));
}

TEST(RunStridesTest, ATableHasANameOfItsOwn) {
  Program program = Double(kRowByRow);
  program.buffers[1].name = "x_strides";
  ASSERT_EQ(ReadByRunStrides({kSized}, program).size(), 1u);
  EXPECT_THAT(Print(program), HasSubstr("input x_strides_: i64[3]"));
}

TEST(RunStridesTest, WhatDoesNotFitIsRefused) {
  Program program = Double(kRowByRow);
  EXPECT_THAT(CheckRunStrides({kSized}, program), IsOk());
  for (const RunStrides& wrong : std::vector<RunStrides>{{.parameter = -1, .numbers = {1}},
                                                         {.parameter = 2, .numbers = {1}},
                                                         {.parameter = 1, .numbers = {1}},
                                                         {.parameter = 0, .numbers = {}},
                                                         {.parameter = 0, .numbers = {1, 2, 3, 4}},
                                                         {.parameter = 0, .numbers = {0}},
                                                         {.parameter = 0, .numbers = {-2}},
                                                         {.parameter = 0, .numbers = {64}}}) {
    EXPECT_THAT(CheckRunStrides({wrong}, program),
                StatusIs(absl::StatusCode::kInvalidArgument, Not(HasSubstr("internal"))));
  }
  EXPECT_THAT(CheckRunStrides({kSized, kSized}, program),
              StatusIs(absl::StatusCode::kInvalidArgument));
  program.buffers[0].storage =
      DenseStorage(program.buffers[0].shape, {{0, 0}, {0, 0}, {1, 1}, {0, 0}});
  EXPECT_THAT(CheckRunStrides({kSized}, program), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace burnish
