// A `while` over counters is how TensorFlow writes its recurrent layers. Counters are followed
// through the body by constant folding, iteration by iteration; nothing else of the body is looked
// at.
#include "compiler/frontend/onnx_trip_count.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/status_macros.h"
#include "compiler/frontend/onnx_graph_importer.h"
#include "compiler/graph/evaluate.h"

namespace burnish {
namespace {

// Iteration numbers of more iterations than that are counted by a kernel instead of read from a
// table of 8 bytes each.
constexpr int64_t kNumberTableMax = 1 << 12;

// A counter is a scalar, or a few of them; more would be data.
constexpr int64_t kElementsMax = 16;
// Nodes that are folded while counting, of some 100 ns each: a hostile model may count for long.
constexpr int64_t kFoldedNodesMax = 1 << 20;

// The part of a body that decides whether it runs again.
struct Counter {
  std::set<GraphNodeId> nodes;  // In an order in which they can run: a body's nodes have it.
  std::vector<const LoopVariable*> variables;
};

std::optional<Counter> FindCounter(const Graph& body, const std::vector<LoopVariable>& variables,
                                   ValueId number, ValueId condition) {
  Counter counter;
  std::set<ValueId> seen;
  std::vector<ValueId> open = {condition};
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    const GraphValue& value = body.value(id);
    if (!seen.insert(id).second) continue;
    // Constants, too: each iteration would look at all of them.
    if (ElementCount(value.type.shape) > kElementsMax) return std::nullopt;
    if (value.data != nullptr || id == number) continue;
    const auto variable = std::find_if(variables.begin(), variables.end(),
                                       [id](const LoopVariable& v) { return v.input == id; });
    if (variable != variables.end()) {
      if (variable->initial == nullptr) return std::nullopt;
      counter.variables.push_back(&*variable);
      open.push_back(variable->output);
      continue;
    }
    if (value.producer < 0) return std::nullopt;  // Data of the graph around.
    const GraphNode& node = body.nodes[value.producer];
    if (!node.bodies.empty()) return std::nullopt;
    counter.nodes.insert(value.producer);
    open.insert(open.end(), node.inputs.begin(), node.inputs.end());
  }
  return counter;
}

ConstantPtr IterationNumbers(int64_t count) {
  std::vector<int64_t> numbers;
  for (int64_t t = 0; t < count; ++t) numbers.push_back(t);
  return FromInts(DType::kI64, numbers);
}

using Known = std::map<ValueId, ConstantPtr>;

const ConstantPtr& Find(const Graph& body, const Known& known, ValueId id) {
  const GraphValue& value = body.value(id);
  return value.data != nullptr ? value.data : known.at(id);
}

// Adds what the nodes write to `known`; false where one cannot be folded.
bool RunOnce(const Graph& body, const std::set<GraphNodeId>& nodes, Known& known) {
  for (const GraphNodeId id : nodes) {
    const GraphNode& node = body.nodes[id];
    std::vector<TypedConstant> inputs;
    for (const ValueId input : node.inputs) {
      inputs.push_back({&body.value(input).type, Find(body, known, input)});
    }
    std::vector<TensorType> types;
    for (const ValueId output : node.outputs) types.push_back(body.value(output).type);
    const std::optional<std::vector<ConstantPtr>> folded = Evaluate(node, inputs, types);
    if (!folded) return false;
    for (size_t i = 0; i < folded->size(); ++i) known[node.outputs[i]] = (*folded)[i];
  }
  return true;
}

}  // namespace

std::optional<int64_t> KnownTripCount(const Graph& body, const std::vector<LoopVariable>& variables,
                                      ValueId number, ValueId condition, int64_t limit) {
  const std::optional<Counter> counter = FindCounter(body, variables, number, condition);
  if (!counter) return std::nullopt;
  Known known;
  for (const LoopVariable* variable : counter->variables) {
    known[variable->input] = variable->initial;
  }
  const int64_t cost = std::max<int64_t>(1, static_cast<int64_t>(counter->nodes.size()));
  for (int64_t t = 0; t < std::min(limit, kFoldedNodesMax / cost); ++t) {
    known[number] = FromInts(body.value(number).type.dtype, {t});
    if (!RunOnce(body, counter->nodes, known)) return std::nullopt;
    if (Find(body, known, condition)->bytes()[0] == 0) return t + 1;
    Known next;
    for (const LoopVariable* variable : counter->variables) {
      next[variable->input] = Find(body, known, variable->output);
    }
    known = std::move(next);
  }
  return limit <= kFoldedNodesMax / cost ? std::optional<int64_t>(limit) : std::nullopt;
}

absl::StatusOr<std::optional<int64_t>> OnnxGraphImporter::CountIterations(const OnnxNode& node,
                                                                          const Body& body,
                                                                          int64_t limit) {
  // A condition that is a constant has been looked at.
  if (body.graph.IsConstant(body.outputs[0])) return std::nullopt;
  std::vector<LoopVariable> variables;
  for (int i = 2; i < node.input_count(); ++i) {
    ASSIGN_OR_RETURN(const ValueId initial, node.Input(i));
    variables.push_back({body.inputs[i], body.outputs[i - 1], context_->graph.value(initial).data});
  }
  return KnownTripCount(body.graph, variables, body.inputs[0], body.outputs[0], limit);
}

absl::Status OnnxGraphImporter::AddIterationNumber(OnnxNode& node, int64_t count, bool is_exact,
                                                   Body& body) {
  const ValueId number = body.inputs[0];
  const TensorType type = body.graph.value(number).type;
  const bool is_read =
      std::any_of(body.graph.nodes.begin(), body.graph.nodes.end(),
                  [&](const GraphNode& n) {
                    return std::count(n.inputs.begin(), n.inputs.end(), number) > 0;
                  }) ||
      std::count(body.outputs.begin(), body.outputs.end(), number) > 0;
  if (!is_read) return absl::OkStatus();
  if (is_exact && count > 0 && count <= kNumberTableMax) {
    TensorType table = type;
    table.shape.insert(table.shape.begin(), count);
    ASSIGN_OR_RETURN(body.number_table,
                     node.EmitConstant(std::move(table), IterationNumbers(count)));
    return absl::OkStatus();
  }
  const ValueId one = AddConstant(body.graph, "one", type, FromInts(DType::kI64, {1}));
  ASSIGN_OR_RETURN(body.number_next, AddOp(body.graph, "add", {number, one}, {}, "iteration"));
  ASSIGN_OR_RETURN(body.number_initial, node.EmitConstant(type, FromInts(DType::kI64, {0})));
  return absl::OkStatus();
}

}  // namespace burnish
