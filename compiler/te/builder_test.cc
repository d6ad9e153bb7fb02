#include "compiler/te/builder.h"

#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/verifier.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> BufferNames(const Program& program) {
  std::vector<std::string> names;
  for (const Buffer& buffer : program.buffers) names.push_back(buffer.name);
  return names;
}

const TensorType kRow = {DType::kF32, {3}};

TEST(TeBuilderTest, ParametersComeFirstThenOutputsThenTemporaries) {
  TeBuilder te("p");
  const Tensor x = te.Parameter("X", kRow, BufferRole::kInput);
  const Tensor a = te.Compute("A", kRow, [&](const Indices& i) { return x(i) + x(i); });
  const Tensor w = te.Parameter("W", kRow, BufferRole::kConstant);
  const Tensor b = te.Compute("B", kRow, [&](const Indices& i) { return a(i) * w(i); });
  te.Output("second", b);
  te.Output("first", te.Compute("C", kRow, [&](const Indices& i) { return b(i) - x(i); }));
  const Program p = te.Build();
  EXPECT_THAT(Verify(p), IsOk());
  EXPECT_THAT(BufferNames(p), ElementsAre("X", "W", "second", "first", "A"));
  const std::vector<TensorValue> arguments = {{.shape = {3}, .floats = {1, 2, 3}},
                                              {.shape = {3}, .floats = {5, 6, 7}}};
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(p, arguments));
  EXPECT_THAT(got[0].floats, ElementsAre(10, 24, 42));
  EXPECT_THAT(got[1].floats, ElementsAre(9, 22, 39));
}

TEST(TeBuilderTest, NamesAreMadeUnique) {
  TeBuilder te("p");
  const Tensor x = te.Parameter("Y", kRow, BufferRole::kInput);
  const Tensor a = te.Compute("Y", kRow, [&](const Indices& i) { return x(i); });
  te.Output("Y", te.Compute("Y", kRow, [&](const Indices& i) { return a(i); }, {"n"}));
  const Program p = te.Build();
  EXPECT_THAT(Verify(p), IsOk());
  EXPECT_EQ(p.blocks[0].name, "Y_1");
  EXPECT_EQ(p.blocks[1].name, "Y_2");
  EXPECT_EQ(p.vars[p.blocks[0].spatial[0]].name, "Y_1.i0");
  EXPECT_EQ(p.vars[p.blocks[1].spatial[0]].name, "Y_2.n");
}

TEST(TeBuilderTest, WhatNoOutputNeedsIsDroppedButParametersStay) {
  TeBuilder te("p");
  const Tensor x = te.Parameter("X", kRow, BufferRole::kInput);
  te.Parameter("unused", kRow, BufferRole::kInput);
  te.Compute("dead", kRow, [&](const Indices& i) { return x(i); });
  te.Output("out", te.Compute("Y", kRow, [&](const Indices& i) { return x(i); }));
  const Program p = te.Build();
  EXPECT_THAT(BufferNames(p), ElementsAre("X", "unused", "out"));
  EXPECT_EQ(p.blocks.size(), 1u);
  EXPECT_EQ(p.vars.size(), 1u);
}

TEST(TeBuilderTest, ParameterThatIsAnOutputIsCopied) {
  TeBuilder te("p");
  const Tensor x = te.Parameter("X", kRow, BufferRole::kInput);
  te.Output("out", x);
  te.Output("again", x);
  ASSERT_OK_AND_ASSIGN(const auto got,
                       Interpret(te.Build(), {{.shape = {3}, .floats = {1, 2, 3}}}));
  ASSERT_EQ(got.size(), 2u);
  EXPECT_THAT(got[1].floats, ElementsAre(1, 2, 3));
}

TEST(TeBuilderTest, ScalarsHaveNoAxes) {
  TeBuilder te("p");
  const Tensor x = te.Parameter("X", {DType::kF32, {}}, BufferRole::kInput);
  te.Output("out", te.Compute("Y", x.type, [&](const Indices& i) { return x(i) * Float(2); }));
  const Program p = te.Build();
  EXPECT_THAT(Verify(p), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(p, {{.shape = {}, .floats = {21}}}));
  EXPECT_THAT(got[0].floats, ElementsAre(42));
}

TEST(TeBuilderTest, ReductionOverNoAxesIsAnAssignment) {
  TeBuilder te("p");
  const Tensor x = te.Parameter("X", kRow, BufferRole::kInput);
  TeBuilder::ReduceSpec spec;
  spec.step = [&](const Indices& i, const Indices&) { return x(i); };
  spec.finish = [](const Indices&, const Expr& self) { return self + Float(1); };
  te.Output("out", te.Reduce("Y", kRow, spec));
  const Program p = te.Build();
  EXPECT_EQ(p.blocks[0].combiner, Combiner::kAssign);
  ASSERT_OK_AND_ASSIGN(const auto got, Interpret(p, {{.shape = {3}, .floats = {1, 2, 3}}}));
  EXPECT_THAT(got[0].floats, ElementsAre(2, 3, 4));
}

}  // namespace
}  // namespace burnish
