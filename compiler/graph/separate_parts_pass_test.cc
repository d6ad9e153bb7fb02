#include "compiler/graph/separate_parts_pass.h"

#include "base/status_matchers.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/random_concats.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;

ValueId Concat(Graph& graph, std::vector<ValueId> parts) {
  return Op(graph, "concat", std::move(parts), {{"axis", int64_t{0}}});
}

// The node that writes `value`.
const GraphNode& NodeOf(const Graph& graph, ValueId value) {
  return graph.nodes[graph.value(value).producer];
}

auto IsCopyOf(ValueId value) {
  return AllOf(Field(&GraphNode::op, "identity"), Field(&GraphNode::inputs, ElementsAre(value)));
}

TEST(SeparatePartsTest, InputsConstantsAndOutputsAreCopied) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {3}});
  const ValueId c = AddRandomConstant(graph, "c", {3}, 1);
  const ValueId made = Op(graph, "relu", {x});
  const ValueId output = Op(graph, "tanh", {x});
  const ValueId whole = Concat(graph, {x, c, made, output});
  graph.outputs = {output, whole};
  const Graph before = graph;
  ASSERT_THAT(SeparateParts(graph), IsOk());
  EXPECT_EQ(Difference(before, graph), "");
  const std::vector<ValueId> parts = NodeOf(graph, whole).inputs;
  EXPECT_THAT(NodeOf(graph, parts[0]), IsCopyOf(x));
  EXPECT_THAT(NodeOf(graph, parts[1]), IsCopyOf(c));
  EXPECT_EQ(parts[2], made);
  EXPECT_THAT(NodeOf(graph, parts[3]), IsCopyOf(output));
}

TEST(SeparatePartsTest, AValueStaysInItsLastPlaceOnly) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {3}});
  const ValueId a = Op(graph, "relu", {x});
  const ValueId first = Concat(graph, {a, Op(graph, "tanh", {x})});
  const ValueId second = Concat(graph, {a, a});
  graph.outputs = {Op(graph, "neg", {first}), Op(graph, "neg", {second})};
  const Graph before = graph;
  ASSERT_THAT(SeparateParts(graph), IsOk());
  EXPECT_EQ(Difference(before, graph), "");
  EXPECT_THAT(NodeOf(graph, NodeOf(graph, first).inputs[0]), IsCopyOf(a));
  EXPECT_THAT(NodeOf(graph, NodeOf(graph, second).inputs[0]), IsCopyOf(a));
  EXPECT_EQ(NodeOf(graph, second).inputs[1], a);
}

// In an output, the caller's memory, it could have no border.
TEST(SeparatePartsTest, AConcatThatIsNoOutputKeepsTheValue) {
  Graph graph;
  const ValueId x = AddInput(graph, "x", {DType::kF32, {3}});
  const ValueId a = Op(graph, "relu", {x});
  const ValueId inner = Concat(graph, {a, Op(graph, "tanh", {x})});
  const ValueId output = Concat(graph, {a, Op(graph, "sin", {x})});
  graph.outputs = {Op(graph, "neg", {inner}), output};
  ASSERT_THAT(SeparateParts(graph), IsOk());
  EXPECT_EQ(NodeOf(graph, inner).inputs[0], a);
  EXPECT_THAT(NodeOf(graph, NodeOf(graph, output).inputs[0]), IsCopyOf(a));
}

TEST(SeparatePartsTest, RandomConcatsHavePartsOfTheirOwn) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Graph graph = RandomConcats(seed);
    ASSERT_THAT(SeparateParts(graph), IsOk());
    const std::vector<bool> is_output = OutputFlags(graph);
    std::vector<int> uses(graph.values.size(), 0);
    for (const GraphNode& node : graph.nodes) {
      if (node.op != "concat") continue;
      for (const ValueId part : node.inputs) {
        EXPECT_GE(graph.value(part).producer, 0);
        EXPECT_FALSE(is_output[part]);
        EXPECT_EQ(++uses[part], 1);
      }
    }
  }
}

}  // namespace
}  // namespace burnish
