#include "compiler/ir/join_parallel.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

// exp of 12 rows of six, whose axes lie in loops as `vars` and `kernel` say.
Program Exp(const std::string& vars, const std::string& kernel) {
  absl::StatusOr<Program> program = ParseProgram(absl::StrCat(
      "program/1 \"exp\"\n\ninput X: f32[12, 6]\noutput Y: f32[12, 6]\n\n", vars,
      "\n\nblock Y(Y.m, Y.n) {\n  step Y[Y.m, Y.n] = exp(X[Y.m, Y.n])\n}\n\nkernel {\n", kernel,
      "\n}\n"));
  EXPECT_THAT(program, IsOk());
  EXPECT_THAT(Verify(*program), IsOk());
  return *std::move(program);
}

// The kernel after JoinParallel, which the verifier accepts.
std::string Joined(Program program) {
  JoinParallel(program);
  EXPECT_THAT(Verify(program), IsOk()) << Print(program);
  const std::string text = Print(program);
  JoinParallel(program);
  EXPECT_EQ(Print(program), text) << "joined again";
  return text;
}

constexpr char kRows[] = "var Y.m in 12 = p * 6 + t\nvar p in 2\nvar t in 6\nvar Y.n in 6";

TEST(JoinParallelTest, RowsInsideOfAPartAreDealtOutByThemselves) {
  const std::string text =
      Joined(Exp(kRows, "parallel p in 2 { for t in 6 { vectorize(6) Y.n in 6 { run Y } } }"));
  EXPECT_THAT(text, HasSubstr("parallel p_t in 12 {\n    vectorize(6) Y.n in 6"));
  EXPECT_THAT(text, HasSubstr("var p in 2 = p_t // 6"));
  EXPECT_THAT(text, HasSubstr("var t in 6 = p_t % 6"));
}

TEST(JoinParallelTest, AllLoopsThatAreAloneAreJoined) {
  EXPECT_THAT(Joined(Exp(kRows, "parallel p in 2 { for t in 6 { for Y.n in 6 { run Y } } }")),
              HasSubstr("in 72 {\n    run Y"));
}

TEST(JoinParallelTest, EnoughIsEnough) {
  Program program = Exp(kRows, "parallel p in 2 { for t in 6 { for Y.n in 6 { run Y } } }");
  program.vars[FindVar(program, "t")].extent = Int(2048);
  JoinParallel(program);
  EXPECT_THAT(Print(program), HasSubstr("in 4096 {\n    for Y.n in 6"));
}

TEST(JoinParallelTest, WhatIsNotAloneOrNotSerialStays) {
  for (const char* kernel : {"parallel p in 2 { unroll t in 6 { for Y.n in 6 { run Y } } }",
                             "parallel p in 2 { vectorize(6) t in 6 { for Y.n in 6 { run Y } } }",
                             "for p in 2 { for t in 6 { for Y.n in 6 { run Y } } }"}) {
    const Program program = Exp(kRows, kernel);
    EXPECT_EQ(Joined(program), Print(program)) << kernel;
  }
}

TEST(JoinParallelTest, AnExtentThatChangesStays) {
  const Program program =
      Exp("var Y.m in 12 = p * 7 + t\nvar p in 2\nvar t in min(7, p * -7 + 12)\nvar Y.n in 6",
          "parallel p in 2 { for t in min(7, p * -7 + 12) { for Y.n in 6 { run Y } } }");
  EXPECT_EQ(Joined(program), Print(program));
}

// Two iterations that write the same row may not do it at the same time.
TEST(JoinParallelTest, AShiftedTailStays) {
  const Program program =
      Exp("var Y.m in 12\nvar Y.n in 6 repeats = min(t * 4, 2) + i\nvar t in 2\nvar i in 4",
          "parallel Y.m in 12 { for t in 2 { for i in 4 { run Y } } }");
  EXPECT_EQ(Joined(program), Print(program));
}

TEST(JoinParallelTest, AReductionStaysInOneIteration) {
  absl::StatusOr<Program> program = ParseProgram(R"(program/1 "sum"

input X: f32[4, 6]
output Y: f32[4]

var Y.m in 4
var Y.k in 6 reduce

block Y(Y.m; Y.k) {
  step Y[Y.m] += X[Y.m, Y.k]
}

kernel {
  parallel Y.m in 4 {
    for Y.k in 6 {
      run Y
    }
  }
}
)");
  ASSERT_THAT(program, IsOk());
  EXPECT_EQ(Joined(*program), Print(*program));
}

}  // namespace
}  // namespace burnish
