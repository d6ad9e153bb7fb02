#include "compiler/ir/choose_once.h"

#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Rows of one part, of another behind them, and nothing behind both; values as `VALUE` says.
constexpr char kJoin[] = R"(program/1 "join"
lowered

input a: f32[5, 16]
input b: f32[3, 16]
input is_a: bool[8]
input is_b: bool[8]
input each: bool[16]
input from_a: i64[8]
input from_b: i64[8]
output y: f32[8, 16]

var row in 8
var n in 16

kernel {
  for row in 8 {
    vectorize(16) n in 16 {
      y[row, n] = VALUE
    }
  }
}
)";

Program Join(const std::string& value) {
  std::string text = kJoin;
  text.replace(text.find("VALUE"), 5, value);
  absl::StatusOr<Program> program = ParseProgram(text);
  EXPECT_THAT(program, IsOk()) << text;
  return *std::move(program);
}

TensorValue Integers(DType dtype, std::vector<int64_t> values) {
  const auto count = static_cast<int64_t>(values.size());
  return {.dtype = dtype, .shape = {count}, .integers = std::move(values)};
}

TEST(ChooseOnceTest, RowsOfOnePartOrAnotherAreDecidedByRow) {
  const Program plain = Join(
      "is_a[row] ? a[bounds_check(from_a[row], 5), n] : "
      "is_b[row] ? b[bounds_check(from_b[row], 3), n] : 0.0");
  Program program = plain;
  ChooseOnce(program.root, program);
  ASSERT_THAT(Verify(program), IsOk()) << Print(program);
  EXPECT_THAT(Print(program), HasSubstr("if is_a[row] {\n      vectorize(16) n in 16"));
  EXPECT_THAT(Print(program), Not(HasSubstr("is_a[row] ?")));
  std::vector<TensorValue> inputs;
  for (const int64_t rows : {5, 3}) {
    TensorValue part{.shape = {rows, 16}};
    for (int64_t i = 0; i < rows * 16; ++i) part.floats.push_back(static_cast<double>(i * rows));
    inputs.push_back(std::move(part));
  }
  inputs.push_back(Integers(DType::kBool, {1, 1, 1, 1, 0, 0, 0, 0}));
  inputs.push_back(Integers(DType::kBool, {1, 1, 1, 1, 1, 1, 0, 0}));
  inputs.push_back(Integers(DType::kBool, std::vector<int64_t>(16, 1)));
  inputs.push_back(Integers(DType::kI64, {0, 1, 2, 3, 4, 4, 4, 4}));
  inputs.push_back(Integers(DType::kI64, {0, 0, 0, 0, 0, 1, 2, 2}));
  const auto want = Interpret(plain, inputs);
  const auto got = Interpret(program, inputs);
  ASSERT_THAT(want, IsOk());
  ASSERT_THAT(got, IsOk());
  EXPECT_EQ((*got)[0].floats, (*want)[0].floats);
}

TEST(ChooseOnceTest, ChoicesOfEachElementAndMasksStay) {
  for (const std::string value : {"each[n] ? a[0, n] : b[0, n]", "is_a[row] ? a[0, n] : a[0, 0]"}) {
    const Program plain = Join(value);
    Program program = plain;
    ChooseOnce(program.root, program);
    EXPECT_EQ(Print(program), Print(plain));
  }
}

}  // namespace
}  // namespace burnish
