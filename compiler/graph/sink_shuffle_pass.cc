#include "compiler/graph/sink_shuffle_pass.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/graph/channel_shuffle.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/rewrite.h"

namespace burnish {
namespace {

// One result for each channel, from that channel alone, and weights that are known.
bool IsFixedDepthwise(const Graph& graph, const GraphNode& node) {
  if (node.op != OpId::kConv || !graph.IsConstant(node.inputs[1])) return false;
  if (node.inputs.size() > 2 && !graph.IsConstant(node.inputs[2])) return false;
  const std::vector<int64_t>& weights = graph.value(node.inputs[1]).type.shape;
  return weights[1] == 1 && node.attributes.Int("group", 1) == weights[0];
}

int64_t ChannelAxis(const Graph& graph, const GraphNode& conv) {
  const auto rank = static_cast<int64_t>(graph.value(conv.outputs[0]).type.shape.size());
  return conv.attributes.Int("channels_last", 0) != 0 ? rank - 1 : 1;
}

// A constant whose first dimension are shuffled channels, in the order before the shuffle.
ValueId Unshuffled(Graph& graph, ValueId constant, const ChannelShuffle& shuffle) {
  const GraphValue value = graph.value(constant);
  const int64_t channels = shuffle.groups * shuffle.size;
  const TensorType parts = {
      value.type.dtype, {shuffle.size, shuffle.groups, ElementCount(value.type.shape) / channels}};
  return AddConstant(graph, value.name, value.type,
                     TransposeConstant(parts, *value.data, {1, 0, 2}));
}

absl::StatusOr<bool> Sweep(Graph& graph) {
  const std::vector<std::vector<GraphNodeId>> consumers = Consumers(graph);
  const std::vector<bool> is_output = OutputFlags(graph);
  Replacements replacements;
  const auto node_count = static_cast<GraphNodeId>(graph.nodes.size());
  for (GraphNodeId n = 0; n < node_count; ++n) {
    const GraphNode node = graph.nodes[n];  // By value: nodes are appended.
    if (!IsFixedDepthwise(graph, node)) continue;
    const ValueId x = node.inputs[0];
    const GraphNodeId producer = graph.value(x).producer;
    if (producer < 0 || consumers[x].size() != 1 || is_output[x]) continue;
    const std::optional<ChannelShuffle> shuffle =
        MatchChannelShuffle(graph, producer, consumers, is_output);
    const int64_t axis = ChannelAxis(graph, node);
    if (!shuffle.has_value() || shuffle->axis != axis) continue;
    std::vector<ValueId> inputs = {shuffle->source};
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      inputs.push_back(Unshuffled(graph, node.inputs[i], *shuffle));
    }
    ASSIGN_OR_RETURN(const ValueId y,
                     AddOp(graph, OpId::kConv, std::move(inputs), node.attributes, node.name));
    ASSIGN_OR_RETURN(const ValueId shuffled, AddChannelShuffle(graph, y, axis, shuffle->groups,
                                                               graph.nodes[producer].name));
    replacements.Set(node.outputs[0], shuffled);
  }
  if (replacements.empty()) return false;
  replacements.Apply(graph);
  RETURN_IF_ERROR(Finish(graph));
  return true;
}

}  // namespace

absl::Status SinkChannelShuffles(Graph& graph) {
  // Each sweep takes a shuffle past one convolution.
  for (size_t sweep = 0; sweep <= graph.nodes.size(); ++sweep) {
    ASSIGN_OR_RETURN(const bool changed, Sweep(graph));
    if (!changed) break;
  }
  return absl::OkStatus();
}

}  // namespace burnish
