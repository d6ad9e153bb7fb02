#include "compiler/graph/nest_concats_pass.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/graph/rewrite.h"

namespace burnish {
namespace {

// A concat that may stand for its inputs, as it was before the sweep.
struct Whole {
  GraphNodeId node = -1;
  int64_t axis = 0;
  std::vector<ValueId> inputs;
};

int64_t AxisOf(const Graph& graph, const GraphNode& concat) {
  const int64_t axis = concat.attributes.Int("axis", 0);
  const auto rank = static_cast<int64_t>(graph.value(concat.outputs[0]).type.shape.size());
  return axis < 0 ? axis + rank : axis;
}

// By first input.
using Wholes = std::map<ValueId, std::vector<Whole>>;

Wholes FindWholes(const Graph& graph) {
  const std::vector<bool> is_output = OutputFlags(graph);
  Wholes wholes;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    if (node.op != OpId::kConcat || node.inputs.size() < 2 || is_output[node.outputs[0]]) continue;
    wholes[node.inputs[0]].push_back(
        {static_cast<GraphNodeId>(n), AxisOf(graph, node), node.inputs});
  }
  return wholes;
}

// Puts the longest concat that has a run of the node's inputs in their place. False: there is none.
bool NestOnce(Graph& graph, const Wholes& wholes, GraphNodeId n) {
  std::vector<ValueId>& inputs = graph.nodes[n].inputs;
  const int64_t axis = AxisOf(graph, graph.nodes[n]);
  const Whole* best = nullptr;
  size_t best_at = 0;
  for (size_t at = 0; at < inputs.size(); ++at) {
    const auto found = wholes.find(inputs[at]);
    if (found == wholes.end()) continue;
    for (const Whole& whole : found->second) {
      // One with as many inputs is the same concat, or one that EliminateCommon left.
      const size_t count = whole.inputs.size();
      if (whole.axis != axis || count >= inputs.size() || count > inputs.size() - at) continue;
      if (best != nullptr && count <= best->inputs.size()) continue;
      if (!std::equal(whole.inputs.begin(), whole.inputs.end(), inputs.begin() + at)) continue;
      best = &whole;
      best_at = at;
    }
  }
  if (best == nullptr) return false;
  const auto first = inputs.begin() + static_cast<std::ptrdiff_t>(best_at);
  *first = graph.nodes[best->node].outputs[0];
  inputs.erase(first + 1, first + static_cast<std::ptrdiff_t>(best->inputs.size()));
  return true;
}

}  // namespace

absl::Status NestConcats(Graph& graph) {
  // What a sweep made may match what the model had nested itself: each sweep that changes anything
  // takes inputs away, so this ends.
  for (bool changed = true; changed;) {
    changed = false;
    const Wholes wholes = FindWholes(graph);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].op != OpId::kConcat) continue;
      while (NestOnce(graph, wholes, static_cast<GraphNodeId>(n))) changed = true;
    }
    // The concat that now stands for inputs may come later in the list.
    if (changed) RETURN_IF_ERROR(Finish(graph));
  }
  return absl::OkStatus();
}

}  // namespace burnish
