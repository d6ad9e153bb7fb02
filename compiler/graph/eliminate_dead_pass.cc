#include "compiler/graph/eliminate_dead_pass.h"

#include <utility>

namespace burnish {

void EliminateDead(Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false);
  for (ValueId input : graph.inputs) needed[input] = true;
  for (ValueId output : graph.outputs) needed[output] = true;
  std::vector<bool> live(graph.nodes.size(), false);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const GraphNode& node = graph.nodes[n];
    for (ValueId output : node.outputs) live[n] = live[n] || needed[output];
    if (!live[n]) continue;
    for (ValueId input : node.inputs) needed[input] = true;
    // A live node keeps all of its outputs: how many an operator has is part of its meaning.
    for (ValueId output : node.outputs) needed[output] = true;
  }
  std::vector<ValueId> new_id(graph.values.size(), -1);
  std::vector<GraphValue> values;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (!needed[v]) continue;
    new_id[v] = static_cast<ValueId>(values.size());
    values.push_back(std::move(graph.values[v]));
  }
  const auto renumber = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) id = new_id[id];
  };
  std::vector<GraphNode> nodes;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!live[n]) continue;
    renumber(graph.nodes[n].inputs);
    renumber(graph.nodes[n].outputs);
    for (ValueId output : graph.nodes[n].outputs) {
      values[output].producer = static_cast<GraphNodeId>(nodes.size());
    }
    nodes.push_back(std::move(graph.nodes[n]));
  }
  renumber(graph.inputs);
  renumber(graph.outputs);
  graph.nodes = std::move(nodes);
  graph.values = std::move(values);
}

}  // namespace burnish
