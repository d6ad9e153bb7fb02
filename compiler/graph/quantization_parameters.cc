#include "compiler/graph/quantization_parameters.h"

#include <algorithm>
#include <cmath>

namespace burnish {

std::optional<QuantizationParameters> ParametersOf(const Graph& graph, const GraphNode& node) {
  const GraphValue& scale = graph.value(node.inputs[1]);
  const GraphValue& zero = graph.value(node.inputs[2]);
  if (scale.data == nullptr || zero.data == nullptr || IsTracked(scale)) return std::nullopt;
  QuantizationParameters p{.shape = scale.type.shape,
                           .scale = ToDoubles(scale.type, *scale.data),
                           .zero = ToInts(zero.type, *zero.data)};
  if (zero.type.shape != p.shape && p.zero.size() != 1) return std::nullopt;
  // A value that no frontend takes may still come from a program that builds graphs by itself.
  const auto is_good = [](double s) { return std::isfinite(s) && s > 0; };
  if (!std::all_of(p.scale.begin(), p.scale.end(), is_good)) return std::nullopt;
  return p;
}

const GraphNode* ProducerOf(const Graph& graph, ValueId v, OpId op) {
  const GraphNodeId n = graph.value(v).producer;
  return n >= 0 && graph.nodes[n].op == op ? &graph.nodes[n] : nullptr;
}

}  // namespace burnish
