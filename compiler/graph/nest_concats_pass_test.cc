#include "compiler/graph/nest_concats_pass.h"

#include "base/status_matchers.h"
#include "compiler/graph/graph_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

// Values [2, 3, 4], each made by another function of the input.
struct Values {
  Graph before, after;
  ValueId x, a, b, c, d;
  Values() {
    x = AddInput(before, "x", {DType::kF32, {2, 3, 4}});
    a = Op(before, "exp", {x});
    b = Op(before, "relu", {x});
    c = Op(before, "tanh", {x});
    d = Op(before, "neg", {x});
  }
  ValueId Concat(std::vector<ValueId> parts, int64_t axis = 1) {
    return Op(before, "concat", std::move(parts), {{"axis", axis}});
  }
  // One output for all: concats are read, and are no outputs themselves.
  void Read(const std::vector<ValueId>& values) {
    for (ValueId value : values) before.outputs.push_back(Op(before, "sin", {value}));
  }
  // Of the graph after the pass. Values keep their numbers where none is dead.
  std::vector<ValueId> InputsOf(ValueId value) const {
    return after.nodes[after.value(value).producer].inputs;
  }
  void Run() {
    after = before;
    ASSERT_THAT(NestConcats(after), IsOk());
    EXPECT_EQ(Difference(before, after), "");
  }
};

TEST(NestConcatsTest, ADenseBlockBecomesAChain) {
  Values v;
  const ValueId two = v.Concat({v.a, v.b});
  const ValueId three = v.Concat({v.a, v.b, v.c});
  const ValueId four = v.Concat({v.a, v.b, v.c, v.d});
  v.Read({two, three, four});
  v.Run();
  EXPECT_THAT(v.InputsOf(two), ElementsAre(v.a, v.b));
  EXPECT_THAT(v.InputsOf(three), ElementsAre(two, v.c));
  EXPECT_THAT(v.InputsOf(four), ElementsAre(three, v.d));
}

// The same concats, the longest first in the model.
TEST(NestConcatsTest, ALaterConcatMayStandForInputs) {
  Values v;
  const ValueId four = v.Concat({v.a, v.b, v.c, v.d});
  const ValueId two = v.Concat({v.a, v.b});
  v.before.outputs = {Op(v.before, "sin", {four}), Op(v.before, "sin", {two})};
  v.Run();
  EXPECT_EQ(CountNodes(v.after, "concat"), 2);
  const GraphNode& root = v.after.nodes[v.after.value(v.after.outputs[0]).producer];
  const GraphNode& whole = v.after.nodes[v.after.value(root.inputs[0]).producer];
  EXPECT_EQ(whole.inputs.size(), 3u);
}

TEST(NestConcatsTest, ARunInTheMiddleAndTheLongestOfSeveral) {
  Values v;
  const ValueId pair = v.Concat({v.b, v.c});
  const ValueId triple = v.Concat({v.b, v.c, v.d});
  const ValueId whole = v.Concat({v.a, v.b, v.c, v.d, v.a});
  v.Read({pair, triple, whole});
  v.Run();
  EXPECT_THAT(v.InputsOf(triple), ElementsAre(pair, v.d));
  EXPECT_THAT(v.InputsOf(whole), ElementsAre(v.a, triple, v.a));
}

// The model nested one concat itself: c(c(a, b), c) stands for what c(a, b, c, d) begins with only
// after c(a, b) does.
TEST(NestConcatsTest, WhatTheModelNestedItselfIsFound) {
  Values v;
  const ValueId two = v.Concat({v.a, v.b});
  const ValueId three = v.Concat({two, v.c});
  const ValueId four = v.Concat({v.a, v.b, v.c, v.d});
  v.Read({two, three, four});
  v.Run();
  EXPECT_THAT(v.InputsOf(four), ElementsAre(three, v.d));
}

TEST(NestConcatsTest, AxesCountFromEitherEnd) {
  Values v;
  const ValueId two = v.Concat({v.a, v.b}, -2);
  const ValueId three = v.Concat({v.a, v.b, v.c}, 1);
  v.Read({two, three, v.d});
  v.Run();
  EXPECT_THAT(v.InputsOf(three), ElementsAre(two, v.c));
}

TEST(NestConcatsTest, OtherAxesOtherOrdersAndOutputsStay) {
  Values v;
  const ValueId other_axis = v.Concat({v.a, v.b}, 2);
  const ValueId other_order = v.Concat({v.b, v.a});
  const ValueId output = v.Concat({v.b, v.c});
  const ValueId whole = v.Concat({v.a, v.b, v.c});
  v.Read({other_axis, other_order, whole});
  v.before.outputs.push_back(output);
  v.Run();
  EXPECT_EQ(PrintGraph(v.before), PrintGraph(v.after));
}

}  // namespace
}  // namespace burnish
