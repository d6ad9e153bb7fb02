#include "compiler/graph/separate_parts_pass.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/graph/control.h"

namespace burnish {
namespace {

// Where a value stands among the inputs of concats.
struct Place {
  GraphNodeId node = -1;
  size_t input = 0;
};

// By value: the place in which the value itself may stay.
std::vector<Place> KeptPlaces(const Graph& graph, const std::vector<bool>& is_output) {
  std::vector<Place> kept(graph.values.size());
  // Control flow addresses slices and states, which so lie by themselves.
  const std::vector<bool> is_control = ControlFlags(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    if (node.op != OpId::kConcat) continue;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId part = node.inputs[i];
      if (graph.value(part).producer < 0 || is_output[part] || is_control[part]) continue;
      Place& place = kept[part];
      const bool has_better = place.node >= 0 && is_output[node.outputs[0]] &&
                              !is_output[graph.nodes[place.node].outputs[0]];
      if (!has_better) place = {static_cast<GraphNodeId>(n), i};
    }
  }
  return kept;
}

}  // namespace

absl::Status SeparateParts(Graph& graph) {
  const std::vector<Place> kept = KeptPlaces(graph, OutputFlags(graph));
  bool any = false;
  const size_t node_count = graph.nodes.size();
  for (size_t n = 0; n < node_count; ++n) {
    if (graph.nodes[n].op != OpId::kConcat) continue;
    for (size_t i = 0; i < graph.nodes[n].inputs.size(); ++i) {
      const ValueId part = graph.nodes[n].inputs[i];
      if (kept[part].node == static_cast<GraphNodeId>(n) && kept[part].input == i) continue;
      ASSIGN_OR_RETURN(const ValueId copy, AddOp(graph, OpId::kIdentity, {part}, {},
                                                 absl::StrCat(graph.value(part).name, ".part")));
      graph.nodes[n].inputs[i] = copy;
      any = true;
    }
  }
  return any ? SortTopologically(graph) : absl::OkStatus();
}

}  // namespace burnish
