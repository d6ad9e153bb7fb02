#include "compiler/graph/random_control.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/rng.h"
#include "compiler/graph/control.h"
#include "compiler/graph/graph_testing.h"

namespace burnish {
namespace {

using Ids = std::vector<ValueId>;
const TensorType kMatrix{DType::kF32, {2, 3}};
const TensorType kCounter{DType::kI64, {}};

class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed) {}

  Graph Run() {
    Graph graph;
    graph.name = "random_control";
    Ids pool;
    for (int i = 0; i < 3; ++i) pool.push_back(AddInput(graph, absl::StrCat("x", i), kMatrix));
    pool.push_back(AddRandomConstant(graph, "c", kMatrix.shape, rng_.Next()));
    Fill(graph, pool, 2 + Below(3), /*depth=*/3);
    for (int i = 0; i < 2; ++i) graph.outputs.push_back(Pick(pool));
    graph.outputs.push_back(pool.back());
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      // Names of outputs differ; an input or a value that is named twice gets a copy.
      graph.outputs[i] = Op(graph, "identity", {graph.outputs[i]});
      graph.values[graph.outputs[i]].name = absl::StrCat("y", i);
    }
    return graph;
  }

 private:
  int64_t Below(int64_t bound) { return static_cast<int64_t>(rng_.Below(bound)); }
  ValueId Pick(const Ids& pool) { return pool[Below(static_cast<int64_t>(pool.size()))]; }

  void Fill(Graph& graph, Ids& pool, int64_t count, int depth) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t kind = Below(depth > 0 ? 8 : 4);
      if (kind == 0) {
        pool.push_back(Op(graph, "tanh", {Pick(pool)}));
      } else if (kind == 1) {
        pool.push_back(Op(graph, "sub", {Pick(pool), Pick(pool)}));
      } else if (kind <= 3) {
        const ValueId weights = AddRandomConstant(graph, "w", {3, 3}, rng_.Next());
        pool.push_back(Op(graph, "tanh", {Op(graph, "matmul", {Pick(pool), weights})}));
      } else if (kind == 4) {
        AddIf(graph, pool, depth - 1);
      } else {
        AddLoop(graph, pool, depth - 1);
      }
    }
  }

  // Captures as the body's inputs.
  Ids AddCaptures(const Graph& outer, const Ids& captures, Graph& body) {
    Ids inner;
    for (size_t i = 0; i < captures.size(); ++i) {
      inner.push_back(AddInput(body, absl::StrCat("capture", i), outer.value(captures[i]).type));
    }
    return inner;
  }

  void AddIf(Graph& graph, Ids& pool, int depth) {
    const ValueId sum = Op(graph, "reduce_sum", {Pick(pool)},
                           {{"axes", std::vector<int64_t>{0, 1}}, {"keepdims", int64_t{0}}});
    const ValueId zero =
        AddConstant(graph, "zero", {DType::kF32, {}}, FromDoubles(DType::kF32, {0}));
    GraphNode node{.name = absl::StrCat("if", ++number_), .op = OpId::kIf, .attributes = {}};
    node.inputs = {Op(graph, "less", {sum, zero})};
    const Ids captures = {Pick(pool), Pick(pool)};
    node.inputs.insert(node.inputs.end(), captures.begin(), captures.end());
    for (int branch = 0; branch < 2; ++branch) {
      Graph body;
      Ids inner = AddCaptures(graph, captures, body);
      Fill(body, inner, Below(3), depth);
      body.outputs = {Pick(inner), inner.back()};
      node.bodies.push_back(std::make_shared<const Graph>(std::move(body)));
    }
    Append(graph, pool, std::move(node));
  }

  void AddLoop(Graph& graph, Ids& pool, int depth) {
    const bool is_open = Below(3) == 0;
    const int64_t count = Below(5) == 0 ? (is_open ? 0 : 1) : 1 + Below(4);
    const int64_t states = 1 + Below(2);
    const int64_t slices = is_open ? 0 : Below(3), stacked = is_open ? 0 : Below(3);
    GraphNode node{.name = absl::StrCat("loop", ++number_), .op = OpId::kLoop, .attributes = {}};
    Graph body;
    Ids inner, written, stacks;
    ValueId counter = -1;
    if (is_open) {
      // Ends when the counter has reached a number that the model's input decides.
      const ValueId sum = Op(graph, "reduce_sum", {Pick(pool)},
                             {{"axes", std::vector<int64_t>{0, 1}}, {"keepdims", int64_t{0}}});
      const ValueId zero =
          AddConstant(graph, "zero", {DType::kF32, {}}, FromDoubles(DType::kF32, {0}));
      node.inputs.push_back(Op(graph, "less", {zero, sum}));
      node.inputs.push_back(AddConstant(graph, "start", kCounter, FromInts(DType::kI64, {0})));
      counter = AddInput(body, "counter", kCounter);
    }
    for (int64_t i = 0; i < states; ++i) {
      node.inputs.push_back(Pick(pool));
      inner.push_back(AddInput(body, absl::StrCat("state", i), kMatrix));
    }
    for (int64_t i = 0; i < slices; ++i) {
      const ValueId several = AddRandomConstant(graph, "s", {count, 2, 3}, rng_.Next());
      node.inputs.push_back(Below(3) == 0 ? several : Op(graph, "add", {Pick(pool), several}));
      inner.push_back(AddInput(body, absl::StrCat("slice", i), kMatrix));
    }
    const Ids captures = {Pick(pool), Pick(pool)};
    for (const ValueId capture : AddCaptures(graph, captures, body)) inner.push_back(capture);
    node.inputs.insert(node.inputs.end(), captures.begin(), captures.end());
    Fill(body, inner, Below(4), depth);
    if (is_open) {
      const ValueId one = AddConstant(body, "one", kCounter, FromInts(DType::kI64, {1}));
      const ValueId limit = AddConstant(body, "limit", kCounter, FromInts(DType::kI64, {count}));
      const ValueId next = Op(body, "add", {counter, one});
      body.outputs = {Op(body, "less", {next, limit}), next};
    }
    for (int64_t i = 0; i < states + stacked; ++i) body.outputs.push_back(Pick(inner));
    std::vector<int64_t> backwards;
    for (int64_t i = 0; i < slices + stacked; ++i) backwards.push_back(Below(2));
    node.attributes.Set("count", is_open ? int64_t{1000} : count);
    node.attributes.Set("has_condition", int64_t{is_open});
    node.attributes.Set("states", states + int64_t{is_open});
    node.attributes.Set("slices", slices);
    node.attributes.Set("backwards", backwards);
    node.bodies.push_back(std::make_shared<const Graph>(std::move(body)));
    Append(graph, pool, std::move(node));
  }

  // Matrices of the node's outputs join the pool; of what is stacked, the sum does.
  void Append(Graph& graph, Ids& pool, GraphNode node) {
    const absl::StatusOr<GraphNodeId> id = AddControlNode(graph, std::move(node));
    CHECK(id.ok()) << id.status();
    for (const ValueId output : Ids(graph.nodes[*id].outputs)) {
      const TensorType& type = graph.value(output).type;
      if (type == kMatrix) {
        pool.push_back(output);
      } else if (type.shape.size() == 3) {
        pool.push_back(Op(graph, "tanh",
                          {Op(graph, "reduce_sum", {output},
                              {{"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t{0}}})}));
      }
    }
  }

  Rng rng_;
  int number_ = 0;
};

}  // namespace

Graph RandomControl(uint64_t seed) { return Generator(seed).Run(); }

}  // namespace burnish
