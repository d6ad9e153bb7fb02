#include "compiler/graph/graph.h"

#include <queue>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace burnish {

ValueId AddValue(Graph& graph, absl::string_view name, TensorType type) {
  graph.values.push_back({.name = std::string(name), .type = std::move(type)});
  return static_cast<ValueId>(graph.values.size()) - 1;
}

ValueId AddConstant(Graph& graph, absl::string_view name, TensorType type, ConstantPtr data) {
  CHECK_EQ(static_cast<int64_t>(data->bytes().size()),
           ElementCount(type.shape) * SizeBytes(type.dtype));
  const ValueId id = AddValue(graph, name, std::move(type));
  graph.values[id].data = std::move(data);
  return id;
}

ValueId AddInput(Graph& graph, absl::string_view name, TensorType type) {
  const ValueId id = AddValue(graph, name, std::move(type));
  graph.inputs.push_back(id);
  return id;
}

std::vector<TensorType> InputTypes(const Graph& graph, const GraphNode& node) {
  std::vector<TensorType> types;
  types.reserve(node.inputs.size());
  for (ValueId input : node.inputs) types.push_back(graph.values[input].type);
  return types;
}

absl::StatusOr<GraphNodeId> AddNode(Graph& graph, absl::string_view op, std::vector<ValueId> inputs,
                                    Attributes attributes, absl::string_view name) {
  const std::optional<OpId> id = FindOpId(op);
  if (!id.has_value()) {
    return absl::UnimplementedError(absl::StrCat("node '", name, "': unknown operator '", op, "'"));
  }
  return AddNode(graph, *id, std::move(inputs), std::move(attributes), name);
}

absl::StatusOr<GraphNodeId> AddNode(Graph& graph, OpId op, std::vector<ValueId> inputs,
                                    Attributes attributes, absl::string_view name) {
  GraphNode node;
  node.name = std::string(name.empty() ? OpName(op) : name);
  node.op = op;
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  const absl::StatusOr<std::vector<TensorType>> types =
      OperatorOf(op).infer(node.attributes, InputTypes(graph, node));
  if (!types.ok()) {
    return absl::Status(types.status().code(), absl::StrCat("node '", node.name, "' (", OpName(op),
                                                            "): ", types.status().message()));
  }
  const auto id = static_cast<GraphNodeId>(graph.nodes.size());
  for (size_t i = 0; i < types->size(); ++i) {
    const std::string value_name = types->size() == 1 ? node.name : absl::StrCat(node.name, ":", i);
    const ValueId value = AddValue(graph, value_name, (*types)[i]);
    graph.values[value].producer = id;
    node.outputs.push_back(value);
  }
  graph.nodes.push_back(std::move(node));
  return id;
}

namespace {

ValueId OnlyOutput(const Graph& graph, GraphNodeId n) {
  const GraphNode& node = graph.nodes[n];
  CHECK_EQ(node.outputs.size(), 1u) << node.op;
  return node.outputs[0];
}

}  // namespace

absl::StatusOr<ValueId> AddOp(Graph& graph, OpId op, std::vector<ValueId> inputs,
                              Attributes attributes, absl::string_view name) {
  ASSIGN_OR_RETURN(const GraphNodeId node,
                   AddNode(graph, op, std::move(inputs), std::move(attributes), name));
  return OnlyOutput(graph, node);
}

absl::StatusOr<ValueId> AddOp(Graph& graph, absl::string_view op, std::vector<ValueId> inputs,
                              Attributes attributes, absl::string_view name) {
  ASSIGN_OR_RETURN(const GraphNodeId node,
                   AddNode(graph, op, std::move(inputs), std::move(attributes), name));
  return OnlyOutput(graph, node);
}

std::vector<std::vector<GraphNodeId>> Consumers(const Graph& graph) {
  std::vector<std::vector<GraphNodeId>> consumers(graph.values.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (ValueId input : graph.nodes[n].inputs) {
      consumers[input].push_back(static_cast<GraphNodeId>(n));
    }
  }
  return consumers;
}

std::vector<bool> OutputFlags(const Graph& graph) {
  std::vector<bool> flags(graph.values.size(), false);
  for (ValueId output : graph.outputs) flags[output] = true;
  return flags;
}

absl::Status SortTopologically(Graph& graph) {
  const auto node_count = static_cast<GraphNodeId>(graph.nodes.size());
  for (GraphValue& value : graph.values) value.producer = -1;
  for (GraphNodeId n = 0; n < node_count; ++n) {
    for (ValueId output : graph.nodes[n].outputs) graph.values[output].producer = n;
  }
  const std::vector<std::vector<GraphNodeId>> consumers = Consumers(graph);
  std::vector<int> waiting(node_count, 0);
  // Smallest position first, so that a sorted graph stays as it is.
  std::priority_queue<GraphNodeId, std::vector<GraphNodeId>, std::greater<>> ready;
  for (GraphNodeId n = 0; n < node_count; ++n) {
    for (ValueId input : graph.nodes[n].inputs) waiting[n] += graph.values[input].producer >= 0;
    if (waiting[n] == 0) ready.push(n);
  }
  std::vector<GraphNodeId> order;
  while (!ready.empty()) {
    const GraphNodeId n = ready.top();
    ready.pop();
    order.push_back(n);
    for (ValueId output : graph.nodes[n].outputs) {
      for (GraphNodeId consumer : consumers[output]) {
        if (--waiting[consumer] == 0) ready.push(consumer);
      }
    }
  }
  if (static_cast<GraphNodeId>(order.size()) != node_count) {
    GraphNodeId stuck = 0;
    while (waiting[stuck] == 0) ++stuck;
    return absl::InvalidArgumentError(
        absl::StrCat("the graph has a cycle: node '", graph.nodes[stuck].name, "' (",
                     OpName(graph.nodes[stuck].op), ") waits for a value that depends on it"));
  }
  std::vector<GraphNode> sorted;
  sorted.reserve(node_count);
  for (GraphNodeId n : order) sorted.push_back(std::move(graph.nodes[n]));
  graph.nodes = std::move(sorted);
  for (GraphNodeId n = 0; n < node_count; ++n) {
    for (ValueId output : graph.nodes[n].outputs) graph.values[output].producer = n;
  }
  return absl::OkStatus();
}

}  // namespace burnish
