#include "compiler/graph/sink_concat_pass.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/graph/rewrite.h"

namespace burnish {
namespace {

// Whether the producer's kernel can end with an elementwise operator.
bool IsReduction(const Graph& graph, GraphNodeId n) {
  return n >= 0 && OperatorOf(graph.nodes[n].op).fusion == FusionKind::kReduction;
}

absl::StatusOr<bool> Sweep(Graph& graph) {
  const std::vector<std::vector<GraphNodeId>> consumers = Consumers(graph);
  const std::vector<bool> is_output = OutputFlags(graph);
  Replacements replacements;
  const size_t node_count = graph.nodes.size();
  for (size_t n = 0; n < node_count; ++n) {
    const GraphNode node = graph.nodes[n];  // By value: nodes are appended.
    if (node.inputs.size() != 1 || !IsBroadcastElementwise(node.op)) continue;
    // A cast's result is no accumulator's type.
    if (graph.value(node.inputs[0]).type != graph.value(node.outputs[0]).type) continue;
    const GraphNodeId producer = graph.value(node.inputs[0]).producer;
    if (producer < 0 || graph.nodes[producer].op != OpId::kConcat) continue;
    const GraphNode concat = graph.nodes[producer];
    const auto alone = [&](ValueId v) { return consumers[v].size() == 1 && !is_output[v]; };
    if (!alone(concat.outputs[0]) ||
        !std::all_of(concat.inputs.begin(), concat.inputs.end(), [&](ValueId part) {
          return alone(part) && IsReduction(graph, graph.value(part).producer);
        })) {
      continue;
    }
    std::vector<ValueId> parts;
    for (ValueId part : concat.inputs) {
      ASSIGN_OR_RETURN(const ValueId applied,
                       AddOp(graph, node.op, {part}, node.attributes, node.name));
      parts.push_back(applied);
    }
    ASSIGN_OR_RETURN(const ValueId whole,
                     AddOp(graph, OpId::kConcat, std::move(parts), concat.attributes, concat.name));
    replacements.Set(node.outputs[0], whole);
  }
  if (replacements.empty()) return false;
  replacements.Apply(graph);
  RETURN_IF_ERROR(Finish(graph));
  return true;
}

}  // namespace

absl::Status SinkConcats(Graph& graph) {
  // A second sweep finds nothing: the parts end with an elementwise operator then.
  return Sweep(graph).status();
}

}  // namespace burnish
