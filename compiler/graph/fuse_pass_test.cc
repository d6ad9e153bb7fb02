#include "compiler/graph/fuse_pass.h"

#include <map>
#include <set>

#include "base/status_matchers.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/prepare.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using Shape = std::vector<int64_t>;

// Operators of each group: "conv+relu".
std::vector<std::string> Groups(const Graph& graph, const FuseOptions& options = {}) {
  std::vector<std::string> names;
  for (const FusedGroup& group : Fuse(graph, options).groups) {
    std::string name;
    for (GraphNodeId n : group.nodes)
      name += (name.empty() ? "" : "+") + std::string(OpName(graph.nodes[n].op));
    names.push_back(name);
  }
  return names;
}

struct Images {
  Graph graph;
  ValueId x;
  Images() { x = AddInput(graph, "x", {DType::kF32, {1, 4, 5, 5}}); }
  ValueId Conv(ValueId v) {
    return Op(graph, "conv", {v, AddRandomConstant(graph, "w", {4, 4, 1, 1}, graph.nodes.size())});
  }
};

TEST(FuseTest, ElementwiseConsumersJoinTheAnchor) {
  Images m;
  m.graph.outputs = {Op(m.graph, "tanh", {Op(m.graph, "relu", {m.Conv(m.x)})})};
  EXPECT_THAT(Groups(m.graph), ElementsAre("conv+relu+tanh"));
  EXPECT_THAT(Groups(m.graph, {.consumers = false, .producers = false}),
              ElementsAre("conv", "relu", "tanh"));
}

TEST(FuseTest, AGateThatMeetsItselfJoinsAsAWhole) {
  Images m;
  const ValueId y = m.Conv(m.x);
  m.graph.outputs = {Op(m.graph, "mul", {y, Op(m.graph, "sigmoid", {y})})};
  EXPECT_THAT(Groups(m.graph), ElementsAre("conv+sigmoid+mul"));
}

TEST(FuseTest, AResultThatIsReadElsewhereEndsTheGroup) {
  Images m;
  const ValueId y = Op(m.graph, "relu", {m.Conv(m.x)});
  m.graph.outputs = {Op(m.graph, "tanh", {y}), m.Conv(y)};
  EXPECT_THAT(Groups(m.graph), ElementsAre("conv+relu", "tanh", "conv"));
}

TEST(FuseTest, AnOutputOfTheModelEndsTheGroup) {
  Images m;
  const ValueId y = m.Conv(m.x);
  m.graph.outputs = {y, Op(m.graph, "relu", {y})};
  EXPECT_THAT(Groups(m.graph), ElementsAre("conv", "relu"));
}

TEST(FuseTest, TheDeeperBranchTakesTheResidual) {
  Images m;
  const ValueId shortcut = m.Conv(m.x);
  const ValueId deep = m.Conv(Op(m.graph, "relu", {m.Conv(m.x)}));
  m.graph.outputs = {Op(m.graph, "relu", {Op(m.graph, "add", {shortcut, deep})})};
  EXPECT_THAT(Groups(m.graph), ElementsAre("conv", "conv+relu", "conv+add+relu"));
}

TEST(FuseTest, OfEqualBranchesTheFirstOperandTakesTheResidual) {
  Images m;
  const ValueId a = m.Conv(m.x);
  const ValueId b = m.Conv(m.x);
  m.graph.outputs = {Op(m.graph, "add", {a, b})};
  const Fusion fusion = Fuse(m.graph);
  EXPECT_EQ(fusion.groups.size(), 2u);
  EXPECT_EQ(fusion.group_of[0], fusion.group_of[2]);
}

// The channel gate depends on the convolution through a pool: it must not join, or the group would
// have to run both before and after the pool.
TEST(FuseTest, AGateOverAPoolStaysOutside) {
  Images m;
  const ValueId y = m.Conv(m.x);
  const ValueId mean = Op(m.graph, "reduce_mean", {y}, {{"axes", Shape{2, 3}}});
  m.graph.outputs = {Op(m.graph, "mul", {y, Op(m.graph, "sigmoid", {mean})})};
  EXPECT_THAT(Groups(m.graph), ElementsAre("conv", "reduce_mean+sigmoid", "mul"));
}

TEST(FuseTest, AnElementwiseOperandJoinsThoughItCameFirst) {
  Images m;
  const ValueId gate = Op(m.graph, "sigmoid", {m.x});
  m.graph.outputs = {Op(m.graph, "mul", {m.Conv(m.x), gate})};
  EXPECT_THAT(Groups(m.graph), ElementsAre("sigmoid+conv+mul"));
}

TEST(FuseTest, ABroadcastOperandIsComputedOnce) {
  Images m;
  const ValueId scale = AddInput(m.graph, "s", {DType::kF32, {4, 1, 1}});
  const ValueId gate = Op(m.graph, "exp", {scale});
  m.graph.outputs = {Op(m.graph, "mul", {m.Conv(m.x), gate})};
  EXPECT_EQ(Groups(m.graph).size(), 2u);
}

TEST(FuseTest, ReshapeAndConcatStayByThemselves) {
  Images m;
  const ValueId y = Op(m.graph, "concat", {m.Conv(m.x), m.Conv(m.x)}, {{"axis", int64_t{1}}});
  m.graph.outputs = {Op(m.graph, "relu", {Op(m.graph, "reshape", {y}, {{"shape", Shape{8, 25}}})})};
  EXPECT_THAT(Groups(m.graph), ElementsAre("conv", "conv", "concat", "reshape", "relu"));
}

TEST(FuseTest, AComparisonOfAnotherTypeStaysOutside) {
  Images m;
  const ValueId zero = AddConstant(m.graph, "z", {DType::kF32, {}}, MakeConstant<float>({0}));
  m.graph.outputs = {Op(m.graph, "greater", {m.Conv(m.x), zero})};
  EXPECT_THAT(Groups(m.graph), ElementsAre("conv", "greater"));
}

struct AttentionGraph {
  Graph graph;
  ValueId scores, weights, context;
  explicit AttentionGraph(int64_t keys) {
    const ValueId q = AddInput(graph, "q", {DType::kF32, {2, 5, 3, 8}});
    const ValueId k = AddInput(graph, "k", {DType::kF32, {2, keys, 3, 8}});
    const ValueId v = AddInput(graph, "v", {DType::kF32, {2, keys, 3, 4}});
    const ValueId mask = AddInput(graph, "mask", {DType::kF32, {2, 1, 1, keys}});
    const auto heads = [&](ValueId x, Shape perm) {
      return Op(graph, "transpose", {x}, {{"perm", std::move(perm)}});
    };
    scores = Op(graph, "matmul", {heads(q, {0, 2, 1, 3}), heads(k, {0, 2, 3, 1})});
    weights = Op(graph, "softmax", {Op(graph, "add", {scores, mask})}, {{"axis", int64_t{3}}});
    context = Op(graph, "matmul", {weights, heads(v, {0, 2, 1, 3})});
    graph.outputs = {heads(context, {0, 2, 1, 3})};
  }
};

TEST(FuseTest, AttentionIsOneGroup) {
  AttentionGraph a(16);
  ASSERT_THAT(PrepareGraph(a.graph), IsOk());
  const Fusion fusion = Fuse(a.graph);
  ASSERT_EQ(fusion.groups.size(), 1u);
  EXPECT_EQ(fusion.groups[0].nodes.size(), a.graph.nodes.size());
  EXPECT_EQ(a.graph.nodes[fusion.groups[0].anchor].op, "matmul");
  EXPECT_EQ(fusion.groups[0].inputs.size(), 4u);
  EXPECT_EQ(Groups(a.graph, {.consumers = false, .producers = false}).size(), a.graph.nodes.size());
}

TEST(FuseTest, AttentionOverAnyNumberOfKeysIsOneGroup) {
  AttentionGraph a(77);
  ASSERT_THAT(PrepareGraph(a.graph), IsOk());
  EXPECT_EQ(Fuse(a.graph).groups.size(), 1u);
}

TEST(FuseTest, AttentionOverAVectorOfKeysStaysApart) {
  AttentionGraph a(7);
  ASSERT_THAT(PrepareGraph(a.graph), IsOk());
  EXPECT_EQ(Fuse(a.graph).groups.size(), 3u);
}

TEST(FuseTest, WeightsThatTheModelGivesOutStayInMemory) {
  AttentionGraph a(16);
  a.graph.outputs.push_back(a.weights);
  ASSERT_THAT(PrepareGraph(a.graph), IsOk());
  EXPECT_EQ(Fuse(a.graph).groups.size(), 3u);
}

// Runs the tasks of a fused graph one after the other: each reads only what ran before it.
std::vector<TensorValue> RunTasks(const Graph& graph, const TaskList& list,
                                  const std::vector<TensorValue>& inputs) {
  std::map<ValueId, TensorValue> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs[i]] = inputs[i];
  const auto find = [&](ValueId v) {
    return graph.IsConstant(v) ? ToTensorValue(graph.value(v).type, *graph.value(v).data)
                               : values.at(v);
  };
  for (const TaskCall& call : list.calls) {
    std::vector<TensorValue> arguments;
    for (ValueId v : call.arguments) arguments.push_back(find(v));
    const auto results = Interpret(list.tasks[call.task].program, arguments);
    EXPECT_THAT(results, IsOk());
    for (size_t i = 0; i < results->size(); ++i) values[call.results[i]] = (*results)[i];
  }
  std::vector<TensorValue> outputs;
  for (ValueId output : graph.outputs) outputs.push_back(find(output));
  return outputs;
}

TEST(ExtractTasksTest, TasksOfRandomGraphsComputeWhatTheGraphComputes) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Graph original = RandomGraph(seed);
    Graph graph = original;
    if (seed % 2 == 0) {
      ASSERT_THAT(PrepareGraph(graph), IsOk());
    }
    const Fusion fusion = Fuse(graph);
    std::multiset<GraphNodeId> nodes;
    for (const FusedGroup& group : fusion.groups)
      nodes.insert(group.nodes.begin(), group.nodes.end());
    ASSERT_EQ(nodes.size(), graph.nodes.size());
    ASSERT_EQ(std::set<GraphNodeId>(nodes.begin(), nodes.end()).size(), graph.nodes.size());
    ASSERT_OK_AND_ASSIGN(const TaskList list, ExtractTasks(graph, fusion));
    const std::vector<TensorValue> inputs = RandomInputs(original, seed);
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(original, inputs));
    EXPECT_EQ(CompareOutputs(want, RunTasks(graph, list, inputs), 1e-5), "") << PrintGraph(graph);
  }
}

TEST(ExtractTasksTest, TheTaskOfAttentionComputesWhatTheGraphComputes) {
  const AttentionGraph original(16);
  Graph graph = original.graph;
  ASSERT_THAT(PrepareGraph(graph), IsOk());
  ASSERT_OK_AND_ASSIGN(const TaskList list, ExtractTasks(graph, Fuse(graph)));
  ASSERT_EQ(list.tasks.size(), 1u);
  const std::vector<TensorValue> inputs = RandomInputs(original.graph, 1);
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(original.graph, inputs));
  EXPECT_EQ(CompareOutputs(want, RunTasks(graph, list, inputs), 1e-6), "");
}

TEST(ExtractTasksTest, EqualWorkloadsAreOneTask) {
  Images m;
  const ValueId a = Op(m.graph, "relu", {Op(m.graph, "add", {m.Conv(m.x), m.x})});
  const ValueId b = Op(m.graph, "relu", {Op(m.graph, "add", {a, m.Conv(a)})});
  m.graph.outputs = {b};
  ASSERT_OK_AND_ASSIGN(const TaskList list, ExtractTasks(m.graph, Fuse(m.graph)));
  ASSERT_EQ(list.tasks.size(), 1u);
  EXPECT_EQ(list.tasks[0].weight, 2);
  EXPECT_EQ(list.tasks[0].name, "conv+add+relu");
  // The residual is the input itself; b adds it in the other order, which is the same task.
  EXPECT_EQ(list.calls[1].arguments.size(), 2u);
  EXPECT_EQ(list.calls[1].arguments[0], a);
  EXPECT_THAT(list.calls[1].results, ElementsAre(b));
}

TEST(ExtractTasksTest, FreeGroupsHaveNoTask) {
  Images m;
  m.graph.outputs = {Op(m.graph, "relu", {m.x})};
  ASSERT_OK_AND_ASSIGN(const TaskList list, ExtractTasks(m.graph, Fuse(m.graph), {true}));
  EXPECT_TRUE(list.tasks.empty());
  EXPECT_EQ(list.calls[0].task, -1);
}

}  // namespace
}  // namespace burnish
