#include "compiler/graph/control.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/prepare.h"
#include "compiler/graph/random_control.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TensorType kScalar{DType::kF32, {}};

TensorValue Scalar(double value) { return {.dtype = DType::kF32, .shape = {}, .floats = {value}}; }

GraphNode Node(const std::string& op, std::vector<ValueId> inputs, Graph body) {
  GraphNode node{
      .name = "n", .op = FindOpId(op).value(), .attributes = {}, .inputs = std::move(inputs)};
  node.bodies = {std::make_shared<const Graph>(std::move(body))};
  return node;
}

// state * factor + slice, over three slices; the new states are stacked.
GraphNode Horner(Graph& graph, bool backwards) {
  const ValueId start = AddInput(graph, "start", kScalar);
  const ValueId slices = AddInput(graph, "slices", {DType::kF32, {3}});
  const ValueId factor = AddConstant(graph, "factor", kScalar, FromDoubles(DType::kF32, {10}));
  Graph body;
  const ValueId state = AddInput(body, "state", kScalar);
  const ValueId slice = AddInput(body, "slice", kScalar);
  const ValueId capture = AddInput(body, "capture", kScalar);
  const ValueId next = Op(body, "add", {Op(body, "mul", {state, capture}), slice});
  body.outputs = {next, next};
  GraphNode node = Node("loop", {start, slices, factor}, std::move(body));
  const auto flag = int64_t{backwards};
  node.attributes = MakeAttributes({{"count", int64_t{3}},
                                    {"states", int64_t{1}},
                                    {"slices", int64_t{1}},
                                    {"backwards", std::vector<int64_t>{flag, flag}}});
  return node;
}

TEST(ControlTest, ALoopHandsStatesOnAndStacks) {
  for (const bool backwards : {false, true}) {
    Graph graph;
    ASSERT_OK_AND_ASSIGN(const GraphNodeId id, AddControlNode(graph, Horner(graph, backwards)));
    graph.outputs = graph.nodes[id].outputs;
    EXPECT_THAT(VerifyGraph(graph), IsOk());
    const TensorValue slices{.dtype = DType::kF32, .shape = {3}, .floats = {1, 2, 3}};
    ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                         InterpretGraph(graph, {Scalar(5), slices}));
    EXPECT_EQ(got[0].floats[0], backwards ? 5321 : 5123);
    if (backwards) {
      EXPECT_THAT(got[1].floats, ElementsAre(5321, 532, 53));
    } else {
      EXPECT_THAT(got[1].floats, ElementsAre(51, 512, 5123));
    }
    EXPECT_THAT(PrintGraph(graph), HasSubstr("{\ngraph"));
  }
}

// Of the slices 1, 2, 3 the first ones, either way; behind what was stacked is no number.
TEST(ControlTest, ACountTakesTheFirstSlices) {
  const double forwards[] = {5, 51, 512, 5123}, back[] = {5, 51, 521, 5321};
  for (const bool backwards : {false, true}) {
    Graph graph;
    GraphNode node = Horner(graph, backwards);
    node.attributes.Set("has_count", int64_t{1});
    node.inputs.insert(node.inputs.begin(), AddInput(graph, "n", {DType::kI64, {}}));
    ASSERT_OK_AND_ASSIGN(const GraphNodeId id, AddControlNode(graph, std::move(node)));
    graph.outputs = graph.nodes[id].outputs;
    EXPECT_THAT(VerifyGraph(graph), IsOk());
    const TensorValue slices{.dtype = DType::kF32, .shape = {3}, .floats = {1, 2, 3}};
    for (const int64_t n : {-1, 0, 1, 2, 3, 9}) {
      const TensorValue count{.dtype = DType::kI64, .shape = {}, .integers = {n}};
      ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> got,
                           InterpretGraph(graph, {Scalar(5), slices, count}));
      const auto held = static_cast<size_t>(std::clamp<int64_t>(n, 0, 3));
      EXPECT_EQ(got[0].floats[0], (backwards ? back : forwards)[held]) << n;
      ASSERT_EQ(got[1].floats.size(), 3u);
      for (size_t i = 0; i < 3; ++i) EXPECT_EQ(std::isnan(got[1].floats[i]), i >= held) << n;
    }
  }
}

TEST(ControlTest, ConstantsMoveIntoBodies) {
  Graph graph;
  ASSERT_OK_AND_ASSIGN(const GraphNodeId id, AddControlNode(graph, Horner(graph, false)));
  graph.outputs = graph.nodes[id].outputs;
  const Graph before = graph;
  EXPECT_THAT(PrepareGraph(graph), IsOk());
  EXPECT_EQ(graph.nodes[0].inputs.size(), 2u);
  EXPECT_EQ(Difference(before, graph), "");
}

struct Fault {
  const char* message;
  std::function<void(Graph&, GraphNode&)> make;
};

TEST(ControlTest, WhatDoesNotFitIsRefusedByName) {
  const Fault faults[] = {
      {"want 4 of them", [](Graph&, GraphNode& n) { n.attributes.Set("count", int64_t{4}); }},
      {"a count up to 2^40", [](Graph&, GraphNode& n) { n.attributes.Set("count", int64_t{-1}); }},
      {"body input 'slice'",
       [](Graph& g, GraphNode& n) { n.inputs[1] = AddInput(g, "m", {DType::kF32, {3, 2}}); }},
      {"slices of f32[]", [](Graph& g, GraphNode& n) { n.inputs[1] = AddInput(g, "m", kScalar); }},
      {"state 0 after an iteration",
       [](Graph&, GraphNode& n) {
         Graph body = *n.bodies[0];
         body.outputs[0] =
             Op(body, "reshape", {body.outputs[0]}, {{"shape", std::vector<int64_t>{1}}});
         n.bodies[0] = std::make_shared<const Graph>(std::move(body));
       }},
      {"another number of outputs",
       [](Graph&, GraphNode& n) {
         Graph body = *n.bodies[0];
         body.outputs.pop_back();
         n.bodies[0] = std::make_shared<const Graph>(std::move(body));
       }},
      {"the condition: got f32[]",
       [](Graph& g, GraphNode& n) {
         n.attributes.Set("has_condition", int64_t{1});
         Graph body = *n.bodies[0];
         body.outputs.insert(body.outputs.begin(), body.outputs[0]);
         n.bodies[0] = std::make_shared<const Graph>(std::move(body));
         n.inputs.insert(n.inputs.begin(), AddInput(g, "m", kScalar));
       }},
      {"a loop that a condition ends has slices",
       [](Graph& g, GraphNode& n) {
         n.attributes.Set("has_condition", int64_t{1});
         Graph body = *n.bodies[0];
         body.outputs.insert(body.outputs.begin(), AddInput(body, "m", {DType::kBool, {}}));
         n.bodies[0] = std::make_shared<const Graph>(std::move(body));
         n.inputs.insert(n.inputs.begin(), AddInput(g, "m", {DType::kBool, {}}));
       }},
      {"slices that go both ways",
       [](Graph& g, GraphNode& n) {
         n.attributes.Set("has_count", int64_t{1});
         n.attributes.Set("backwards", std::vector<int64_t>{0, 1});
         n.inputs.insert(n.inputs.begin(), AddInput(g, "m", {DType::kI64, {}}));
       }},
  };
  for (const Fault& fault : faults) {
    Graph graph;
    GraphNode node = Horner(graph, false);
    fault.make(graph, node);
    EXPECT_THAT(AddControlNode(graph, node),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(fault.message)));
  }
}

// Loops, and those in other bodies.
void Count(const Graph& graph, int depth, std::map<std::string, int>& found) {
  for (const GraphNode& node : graph.nodes) {
    if (!IsControl(node)) continue;
    ++found[std::string(OpName(node.op)) + (depth > 0 ? " inside" : "")];
    if (node.op == "loop" && !LoopParts(node).IsExact()) ++found["open"];
    for (const auto& body : node.bodies) Count(*body, depth + 1, found);
  }
}

TEST(ControlTest, RandomGraphsHaveEveryKind) {
  std::map<std::string, int> found;
  for (uint64_t seed = 0; seed < 40; ++seed) Count(RandomControl(seed), 0, found);
  for (const char* kind : {"if", "loop", "if inside", "loop inside", "open"}) {
    EXPECT_GE(found[kind], 8) << kind;
  }
}

TEST(ControlTest, PassesKeepWhatRandomGraphsCompute) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph before = RandomControl(seed);
    Graph after = before;
    EXPECT_THAT(PrepareGraph(after), IsOk());
    EXPECT_EQ(Difference(before, after), "") << seed;
  }
}

}  // namespace
}  // namespace burnish
