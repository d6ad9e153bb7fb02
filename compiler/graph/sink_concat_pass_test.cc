#include "compiler/graph/sink_concat_pass.h"

#include "base/status_matchers.h"
#include "compiler/graph/graph_testing.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

ValueId Conv(Graph& graph, ValueId x, uint64_t seed) {
  const ValueId w = AddRandomConstant(graph, "w", {3, 4, 1, 1}, seed);
  return Op(graph, "conv", {x, w});
}

ValueId Pool(Graph& graph, ValueId x) {
  return Op(graph, "average_pool", {x}, {{"kernel_shape", Shape{1, 1}}});
}

ValueId Concat(Graph& graph, std::vector<ValueId> parts) {
  return Op(graph, "concat", std::move(parts), {{"axis", int64_t{1}}});
}

TEST(SinkConcatTest, EachPartsProducerAppliesTheActivation) {
  Graph before;
  const ValueId x = AddInput(before, "x", {DType::kF32, {2, 4, 3, 5}});
  before.outputs = {Op(before, "leaky_relu",
                       {Concat(before, {Conv(before, x, 1), Pool(before, x)})}, {{"alpha", 0.25}})};
  Graph after = before;
  ASSERT_THAT(SinkConcats(after), IsOk());
  EXPECT_EQ(Difference(before, after), "");
  EXPECT_EQ(CountNodes(after, "leaky_relu"), 2);
  EXPECT_EQ(after.nodes[after.value(after.outputs[0]).producer].op, "concat");
}

TEST(SinkConcatTest, WhatOthersReadAndWhatIsNoReductionStays) {
  Graph before;
  const ValueId x = AddInput(before, "x", {DType::kF32, {2, 4, 3, 5}});
  const ValueId shared = Conv(before, x, 1);
  const ValueId joined = Concat(before, {Conv(before, x, 2), Conv(before, x, 3)});
  before.outputs = {Op(before, "relu", {Concat(before, {shared, Conv(before, x, 4)})}), shared,
                    Op(before, "relu", {Concat(before, {x, Conv(before, x, 5)})}),
                    Op(before, "relu", {joined}), Op(before, "sigmoid", {joined})};
  Graph after = before;
  ASSERT_THAT(SinkConcats(after), IsOk());
  EXPECT_EQ(PrintGraph(before), PrintGraph(after));
}

}  // namespace
}  // namespace burnish
