#include "worker/runner/parameter_plan.h"

#include "base/status_matchers.h"
#include "compiler/ir/contract.h"
#include "compiler/ir/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

TEST(ParameterPlanTest, StorageComesFromTheContract) {
  ASSERT_OK_AND_ASSIGN(Program program, ParseProgram(R"(program/1 copy
input X: f32[2, 3]
const W: f32[3]
output Y: f32[2, 3]
block Y(i in 2, j in 3) {
  step Y[i, j] = X[i, j] * W[j]
}
)"));
  ASSERT_THAT(
      ApplyContract("parameter 0 strides 8,1 border 0:0,1:2 value -0x1p+0 offset 4\n", program),
      IsOk());
  const std::vector<TensorSpec> parameters = PlanParameters(program);
  EXPECT_THAT(parameters, ElementsAre(TensorSpec{.role = ArgumentRole::kInput,
                                                 .type = ElementType::kF32,
                                                 .shape = {2, 3},
                                                 .strides = {8, 1},
                                                 .border_below = {0, 1},
                                                 .border_above = {0, 2},
                                                 .border_value = -1,
                                                 .offset = 4},
                                      TensorSpec{.role = ArgumentRole::kConstant,
                                                 .type = ElementType::kF32,
                                                 .shape = {3},
                                                 .strides = {1}},
                                      TensorSpec{.role = ArgumentRole::kOutput,
                                                 .type = ElementType::kF32,
                                                 .shape = {2, 3},
                                                 .strides = {3, 1}}));
}

TEST(ParameterPlanTest, IntegersHaveTheValuesThatTheirUseAllows) {
  ASSERT_OK_AND_ASSIGN(const Program program, ParseProgram(R"(program/1 uses
input X: f32[9]
input I: i64[3]
input D: i32[3]
input U: u8[3]
input S: i8[3]
input B: bool[3]
input N: i32[3]
output Y: f32[3]
output Z: i32[3]
block Y(i in 3) {
  step Y[i] = X[bounds_check(I[i], 9)]
}
block Z(i in 3) {
  step Z[i] = N[i] // D[i] + i32(U[i]) + i32(S[i]) + i32(B[i])
}
)"));
  const std::vector<TensorSpec> parameters = PlanParameters(program);
  const auto range = [&](int i) { return std::make_pair(parameters[i].low, parameters[i].high); };
  EXPECT_EQ(range(1), std::make_pair(int64_t{0}, int64_t{8}));
  EXPECT_EQ(range(2), std::make_pair(int64_t{1}, int64_t{7}));
  EXPECT_EQ(range(3), std::make_pair(int64_t{0}, int64_t{255}));
  EXPECT_EQ(range(4), std::make_pair(int64_t{-128}, int64_t{127}));
  EXPECT_EQ(range(5), std::make_pair(int64_t{0}, int64_t{1}));
  EXPECT_EQ(range(6), std::make_pair(int64_t{-100}, int64_t{100}));
}

}  // namespace
}  // namespace burnish
