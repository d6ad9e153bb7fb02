// Loops and branches through the driver, the builder program and the runtime, against the
// interpreter.
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cpu_info.h"
#include "base/status_matchers.h"
#include "compiler/driver/build_model.h"
#include "compiler/driver/bundle_testing.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/graph/control.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/random_control.h"
#include "compiler/runtime/bundle.h"
#include "compiler/target/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/builder_client.h"

namespace burnish {
namespace {

Builder& SharedBuilder() {
  static BuilderClient& builder = *new BuilderClient();
  return builder;
}

absl::StatusOr<BuiltModel> Build(const Graph& graph, int opt_level = 3) {
  DefaultScheduleSource source;
  return BuildModel(graph, source, SharedBuilder(),
                    {.target = *HostTarget(HostCpuInfo(), 2), .opt_level = opt_level});
}

void ExpectRunsLikeTheGraph(const Graph& graph, const BuiltModel& built, uint64_t seed) {
  const std::vector<TensorValue> inputs = RandomInputs(graph, seed);
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(graph, inputs));
  for (const int threads : {1, 2, 3}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                         RunBundle(built.bundle, graph, inputs, threads));
    EXPECT_EQ(CompareOutputs(want, got, 1e-4), "") << threads << " threads";
  }
}

TEST(ControlDriverTest, RandomGraphsRunLikeTheInterpreter) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Graph graph = RandomControl(seed);
    ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, seed % 4 == 0 ? 0 : 3));
    for (uint64_t input = 0; input < 3; ++input) ExpectRunsLikeTheGraph(graph, built, input);
    if (HasFailure()) break;
  }
}

// state = tanh(state * W + slice), stacked; `count` slices of `width`, an odd one of which is
// aligned to 4 bytes only. `host`: functions of the runtime read the slice and write the state.
GraphNode RecurrenceNode(Graph& graph, int64_t count, int64_t width, bool host) {
  const ValueId slices = AddInput(graph, "x", {DType::kF32, {count, 1, width}});
  const ValueId start = AddInput(graph, "h", {DType::kF32, {1, width}});
  Graph body;
  const ValueId state = AddInput(body, "state", {DType::kF32, {1, width}});
  const ValueId slice = AddInput(body, "slice", {DType::kF32, {1, width}});
  const ValueId weights = AddRandomConstant(body, "w", {width, width}, 7);
  const auto sums = [&](ValueId x) {
    return host ? Op(body, "cum_sum", {x}, {{"axis", int64_t{1}}}) : x;
  };
  const ValueId product = Op(body, "matmul", {state, weights});
  const ValueId next = sums(Op(body, "tanh", {Op(body, "add", {product, sums(slice)})}));
  body.outputs = {next, next};
  GraphNode node{
      .name = "recurrence", .op = OpId::kLoop, .attributes = {}, .inputs = {start, slices}};
  node.bodies = {std::make_shared<const Graph>(std::move(body))};
  node.attributes = MakeAttributes({{"count", count},
                                    {"states", int64_t{1}},
                                    {"slices", int64_t{1}},
                                    {"backwards", std::vector<int64_t>{0, 0}}});
  return node;
}

Graph Recurrence(int64_t count, int64_t width, bool host = false) {
  Graph graph;
  const absl::StatusOr<GraphNodeId> id =
      AddControlNode(graph, RecurrenceNode(graph, count, width, host));
  EXPECT_THAT(id, IsOk());
  graph.outputs = graph.nodes[*id].outputs;
  graph.values[graph.outputs[0]].name = "last";
  graph.values[graph.outputs[1]].name = "all";
  return graph;
}

TEST(ControlDriverTest, ARecurrenceIsOneStepThatCopiesNothing) {
  for (const int64_t width : {16, 7, 33}) {
    const Graph graph = Recurrence(9, width);
    ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph));
    EXPECT_EQ(built.step_count, 1);
    ASSERT_EQ(built.tasks.size(), 1u);
    EXPECT_EQ(built.tasks[0].weight, 9);
    EXPECT_EQ(built.arena_bytes, 0);
    ExpectRunsLikeTheGraph(graph, built, 3);
  }
}

// As many of its slices as the last input says, from the first or backwards from the last of them.
// What is stacked is summed up as far as it holds, since behind that is anything.
Graph CountedRecurrence(int64_t bound, int64_t width, bool backwards) {
  Graph graph;
  GraphNode node = RecurrenceNode(graph, bound, width, /*host=*/false);
  const ValueId n = AddInput(graph, "n", {DType::kI64, {}});
  node.inputs.insert(node.inputs.begin(), n);
  node.attributes.Set("has_count", int64_t{1});
  node.attributes.Set("backwards", std::vector<int64_t>(2, int64_t{backwards}));
  const absl::StatusOr<GraphNodeId> id = AddControlNode(graph, std::move(node));
  EXPECT_THAT(id, IsOk());
  const std::vector<ValueId> outputs = graph.nodes[*id].outputs;
  std::vector<int64_t> places(bound);
  std::iota(places.begin(), places.end(), 0);
  const ValueId place =
      AddConstant(graph, "places", {DType::kI64, {bound, 1, 1}}, FromInts(DType::kI64, places));
  const ValueId zero = AddConstant(graph, "zero", {DType::kF32, {}}, FromDoubles(DType::kF32, {0}));
  const ValueId held = Op(graph, "where", {Op(graph, "less", {place, n}), outputs[1], zero});
  graph.outputs = {outputs[0], held};
  graph.values[graph.outputs[0]].name = "last";
  graph.values[graph.outputs[1]].name = "held";
  return graph;
}

TEST(ControlDriverTest, ACountDecidesHowManySlicesAreTaken) {
  for (const bool backwards : {false, true}) {
    for (const int64_t width : {16, 7}) {
      const Graph graph = CountedRecurrence(9, width, backwards);
      ASSERT_THAT(VerifyGraph(graph), IsOk());
      for (const int level : {0, 3}) {
        ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, level));
        for (const int64_t n : {-1, 0, 1, 4, 8, 9, 12}) {
          SCOPED_TRACE(absl::StrCat(n, " of width ", width, backwards ? " backwards" : ""));
          std::vector<TensorValue> inputs = RandomInputs(graph, 5);
          inputs[2].integers = {n};
          ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(graph, inputs));
          for (const int threads : {1, 3}) {
            ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                                 RunBundle(built.bundle, graph, inputs, threads));
            EXPECT_EQ(CompareOutputs(want, got, 1e-4), "");
          }
        }
      }
    }
  }
}

TEST(ControlDriverTest, FunctionsOfTheRuntimeRunInLoops) {
  for (const int64_t width : {16, 7}) {
    const Graph graph = Recurrence(5, width, /*host=*/true);
    for (const int level : {0, 3}) {
      ASSERT_OK_AND_ASSIGN(const BuiltModel built, Build(graph, level));
      ExpectRunsLikeTheGraph(graph, built, 4);
    }
  }
}

TEST(ControlDriverTest, AStudyTunesTheTasksOfBodies) {
  DefaultScheduleSource source;
  ASSERT_OK_AND_ASSIGN(
      const TunedModel tuned,
      ModelTasks(Recurrence(9, 16), source, {.target = *HostTarget(HostCpuInfo(), 1)}));
  ASSERT_EQ(tuned.tasks.size(), 1u);
  EXPECT_EQ(tuned.tasks[0].weight, 9);
  EXPECT_THAT(tuned.order, ::testing::ElementsAre(0));
}

TEST(ControlDriverTest, EqualModelsGiveEqualBytes) {
  ASSERT_OK_AND_ASSIGN(const BuiltModel first, Build(RandomControl(5)));
  ASSERT_OK_AND_ASSIGN(const BuiltModel second, Build(RandomControl(5)));
  EXPECT_TRUE(first.bundle == second.bundle);
}

}  // namespace
}  // namespace burnish
