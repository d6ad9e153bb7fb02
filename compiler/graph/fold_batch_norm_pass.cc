#include "compiler/graph/fold_batch_norm_pass.h"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/graph/constant_origin.h"
#include "compiler/graph/eliminate_dead_pass.h"
#include "compiler/graph/rewrite.h"

namespace burnish {
namespace {

// Values by channel, with what they come from: an f64 vector, as they are computed.
struct ChannelValues {
  std::vector<double> values;
  OriginPtr origin;
};

// y = x * scale[c] + shift[c].
struct ScaleShift {
  ChannelValues scale;
  ChannelValues shift;
};

ChannelValues Constants(std::vector<double> values) {
  const TensorType type = {DType::kF64, {static_cast<int64_t>(values.size())}};
  const OriginPtr origin = OriginOf(type, FromDoubles(DType::kF64, values));
  return {std::move(values), origin};
}

std::vector<double> ConstantValues(const Graph& graph, ValueId id) {
  return ToDoubles(graph.value(id).type, *graph.value(id).data);
}

// As an f64 vector.
OriginPtr OriginOfValues(const Graph& graph, ValueId id) {
  const GraphValue& value = graph.value(id);
  return CastOrigin(
      ReshapedOrigin(OriginOf(value.type, value.data), {ElementCount(value.type.shape)}),
      DType::kF64);
}

// The dimension of a value that holds channels: 1, or the last one.
int ChannelDimension(const Graph& graph, const GraphNode& producer) {
  const auto rank = static_cast<int>(graph.value(producer.outputs[0]).type.shape.size());
  if (producer.op == "dense" || producer.op == "gemm") return rank - 1;
  return producer.attributes.Int("channels_last", 0) != 0 ? rank - 1 : 1;
}

// The constant's values by channel, where it broadcasts over everything else.
std::optional<ChannelValues> ByChannel(const Graph& graph, ValueId id,
                                       const std::vector<int64_t>& shape, int channel) {
  if (!graph.IsConstant(id)) return std::nullopt;
  const std::vector<int64_t>& own = graph.value(id).type.shape;
  if (own.size() > shape.size()) return std::nullopt;
  const size_t skipped = shape.size() - own.size();
  for (size_t d = 0; d < own.size(); ++d) {
    if (own[d] != 1 && static_cast<int>(skipped + d) != channel) return std::nullopt;
  }
  std::vector<double> values = ConstantValues(graph, id);
  OriginPtr origin = OriginOfValues(graph, id);
  if (values.size() == 1 && shape[channel] != 1) {
    values.assign(shape[channel], values[0]);
    Attributes attributes;
    attributes.Set("shape", std::vector<int64_t>{shape[channel]});
    origin = Apply("expand", {origin}, std::move(attributes));
  }
  if (static_cast<int64_t>(values.size()) != shape[channel]) return std::nullopt;
  return ChannelValues{std::move(values), std::move(origin)};
}

std::optional<ScaleShift> OfBatchNorm(const Graph& graph, const GraphNode& node) {
  for (int i = 1; i <= 4; ++i) {
    if (!graph.IsConstant(node.inputs[i])) return std::nullopt;
  }
  const std::vector<double> gamma = ConstantValues(graph, node.inputs[1]);
  const std::vector<double> beta = ConstantValues(graph, node.inputs[2]);
  const std::vector<double> mean = ConstantValues(graph, node.inputs[3]);
  const std::vector<double> variance = ConstantValues(graph, node.inputs[4]);
  const double epsilon = node.attributes.Float("epsilon", 1e-5);
  ScaleShift result;
  for (size_t c = 0; c < gamma.size(); ++c) {
    result.scale.values.push_back(gamma[c] / std::sqrt(variance[c] + epsilon));
    result.shift.values.push_back(beta[c] - mean[c] * result.scale.values[c]);
  }
  const auto origin = [&](int input) { return OriginOfValues(graph, node.inputs[input]); };
  result.scale.origin = Apply(
      "div", {origin(1), Apply("sqrt", {Apply("add", {origin(4), Constants({epsilon}).origin})})});
  result.shift.origin = Apply("sub", {origin(2), Apply("mul", {origin(3), result.scale.origin})});
  return result;
}

// The scale and shift that `node` applies to input `position`, whose channels are at `channel`.
std::optional<ScaleShift> OfNode(const Graph& graph, const GraphNode& node, size_t position,
                                 int channel) {
  if (node.op == "batch_norm") {
    const bool last = node.attributes.Int("channels_last", 0) != 0;
    const auto rank = static_cast<int>(graph.value(node.outputs[0]).type.shape.size());
    if (position != 0 || channel != (last ? rank - 1 : 1)) return std::nullopt;
    return OfBatchNorm(graph, node);
  }
  const bool swaps = node.op == "mul" || node.op == "add";
  if (!swaps && node.op != "div" && node.op != "sub") return std::nullopt;
  if (position != 0 && !swaps) return std::nullopt;
  const std::vector<int64_t>& shape = graph.value(node.outputs[0]).type.shape;
  if (shape != graph.value(node.inputs[position]).type.shape) return std::nullopt;
  std::optional<ChannelValues> by_channel =
      ByChannel(graph, node.inputs[1 - position], shape, channel);
  if (!by_channel.has_value()) return std::nullopt;
  const bool scales = node.op == "mul" || node.op == "div";
  if (node.op == "div") {
    for (double& v : by_channel->values) v = 1 / v;
    by_channel->origin = Apply("div", {Constants({1}).origin, by_channel->origin});
  } else if (node.op == "sub") {
    for (double& v : by_channel->values) v = -v;
    by_channel->origin = Apply("neg", {by_channel->origin});
  }
  ChannelValues other = Constants(std::vector<double>(by_channel->values.size(), scales ? 0 : 1));
  if (scales) return ScaleShift{std::move(*by_channel), std::move(other)};
  return ScaleShift{std::move(other), std::move(*by_channel)};
}

// Output channel of each element of the weights.
struct WeightLayout {
  int64_t outer, channels, inner, groups;
};

std::optional<WeightLayout> LayoutOf(const Graph& graph, const GraphNode& node) {
  const std::vector<int64_t>& shape = graph.value(node.inputs[1]).type.shape;
  int64_t rest = 1;
  for (size_t d = 1; d < shape.size(); ++d) rest *= shape[d];
  if (node.op == "conv" || node.op == "dense") return WeightLayout{1, shape[0], rest, 1};
  if (node.op == "conv_transpose") {  // [I, O/group, k..]: the group is that of the input channel.
    return WeightLayout{shape[0], shape[1], rest / shape[1], node.attributes.Int("group", 1)};
  }
  if (node.op == "gemm") {
    if (node.attributes.Float("beta", 1) != 1 && node.inputs.size() > 2) return std::nullopt;
    if (node.attributes.Int("trans_b", 0) != 0) return WeightLayout{1, shape[0], shape[1], 1};
    return WeightLayout{shape[0], shape[1], 1, 1};
  }
  return std::nullopt;
}

// As ScaleWeights computes it.
OriginPtr ScaledOrigin(const GraphValue& weights, const WeightLayout& layout,
                       const OriginPtr& scale) {
  const std::vector<int64_t>& shape = weights.type.shape;
  OriginPtr wide = CastOrigin(OriginOf(weights.type, weights.data), DType::kF64);
  std::vector<int64_t> broadcast(shape.size(), 1);
  if (layout.groups == 1) {
    broadcast[layout.outer == 1 ? 0 : 1] = layout.channels;
  } else {
    wide = ReshapedOrigin(
        wide, {layout.groups, layout.outer / layout.groups, layout.channels, layout.inner});
    broadcast = {layout.groups, 1, layout.channels, 1};
  }
  const OriginPtr scaled = Apply("mul", {wide, ReshapedOrigin(scale, broadcast)});
  return ReshapedOrigin(CastOrigin(scaled, weights.type.dtype), shape);
}

ConstantPtr ScaleWeights(const Graph& graph, const GraphNode& node, const WeightLayout& layout,
                         const ChannelValues& by_channel) {
  const std::vector<double>& scale = by_channel.values;
  const GraphValue& weights = graph.value(node.inputs[1]);
  const auto scaled_values = [&](auto values) {
    using T = typename decltype(values)::value_type;
    size_t at = 0;
    for (int64_t o = 0; o < layout.outer; ++o) {
      const int64_t group = o / (layout.outer / layout.groups);
      for (int64_t c = 0; c < layout.channels; ++c) {
        const double s = scale[group * layout.channels + c];
        for (int64_t i = 0; i < layout.inner; ++i, ++at)
          values[at] = static_cast<T>(values[at] * s);
      }
    }
    return values;
  };
  const DType dtype = weights.type.dtype;
  // As floats where they are: weights are most of a model's memory.
  const ConstantPtr scaled =
      dtype == DType::kF32
          ? MakeConstant(scaled_values(CopyAs<float>(*weights.data)))
          : FromDoubles(dtype, scaled_values(ToDoubles(weights.type, *weights.data)));
  return WithOrigin(scaled, ScaledOrigin(weights, layout, by_channel.origin));
}

// Folds into `producer`; false where it cannot be.
bool FoldInto(Graph& graph, GraphNodeId producer_id, const ScaleShift& ss) {
  GraphNode& producer = graph.nodes[producer_id];
  if (producer.inputs.size() < 2 || !graph.IsConstant(producer.inputs[1])) return false;
  if (IsTooDeep(graph.value(producer.inputs[1]).data->origin())) return false;
  const TensorType weights = graph.value(producer.inputs[1]).type;
  const std::optional<WeightLayout> layout = LayoutOf(graph, producer);
  if (!layout.has_value() || !IsFloat(weights.dtype)) return false;
  const auto channels = static_cast<int64_t>(ss.scale.values.size());
  if (channels != layout->channels * layout->groups) return false;
  std::vector<double> bias(channels, 0);
  OriginPtr bias_origin = ss.shift.origin;
  if (producer.inputs.size() > 2) {
    const GraphValue& old = graph.value(producer.inputs[2]);
    if (old.data == nullptr || ElementCount(old.type.shape) != channels) return false;
    bias = ConstantValues(graph, producer.inputs[2]);
    bias_origin =
        Apply("add", {Apply("mul", {OriginOfValues(graph, producer.inputs[2]), ss.scale.origin}),
                      ss.shift.origin});
  }
  for (int64_t c = 0; c < channels; ++c) {
    bias[c] = bias[c] * ss.scale.values[c] + ss.shift.values[c];
  }
  const std::string name = producer.name;
  const ConstantPtr scaled = ScaleWeights(graph, producer, *layout, ss.scale);
  const ValueId new_weights = AddConstant(graph, name + ".weight", weights, scaled);
  // Added to a sum, which is wide: rounding it saves nothing.
  const DType wide = ComputeType(weights.dtype);
  const ValueId new_bias =
      AddConstant(graph, name + ".bias", {wide, {channels}},
                  WithOrigin(FromDoubles(wide, bias), CastOrigin(bias_origin, wide)));
  producer.inputs.resize(2);
  producer.inputs[1] = new_weights;
  producer.inputs.push_back(new_bias);
  return true;
}

// batch_norm with no producer to fold into: x * scale + shift, which fuses like any elementwise.
absl::Status Decompose(Graph& graph, const GraphNode& node, const ScaleShift& ss,
                       Replacements& replacements) {
  const TensorType type = graph.value(node.inputs[0]).type;
  const size_t rank = type.shape.size();
  std::vector<int64_t> shape(rank, 1);
  const auto channels = static_cast<int64_t>(ss.scale.values.size());
  const bool last = node.attributes.Int("channels_last", 0) != 0;
  shape[last ? rank - 1 : rank > 1 ? 1 : 0] = channels;
  if (last) shape = {channels};
  const DType wide = ComputeType(type.dtype);
  const auto add = [&](const std::string& name, const ChannelValues& by_channel) {
    return AddConstant(graph, name, {wide, shape},
                       WithOrigin(FromDoubles(wide, by_channel.values),
                                  ReshapedOrigin(CastOrigin(by_channel.origin, wide), shape)));
  };
  const ValueId scale = add(node.name + ".scale", ss.scale);
  const ValueId shift = add(node.name + ".shift", ss.shift);
  ASSIGN_OR_RETURN(const ValueId scaled,
                   AddOp(graph, "mul", {node.inputs[0], scale}, {}, node.name));
  ASSIGN_OR_RETURN(const ValueId shifted, AddOp(graph, "add", {scaled, shift}, {}, node.name));
  replacements.Set(node.outputs[0], shifted);
  return absl::OkStatus();
}

}  // namespace

absl::Status FoldBatchNorm(Graph& graph) {
  EliminateDead(graph);  // Readers that nothing needs would forbid folding.
  const std::vector<std::vector<GraphNodeId>> consumers = Consumers(graph);
  const std::vector<bool> is_output = OutputFlags(graph);
  std::vector<GraphNodeId> owner(graph.values.size(), -1);  // The product whose result it is now.
  Replacements replacements;
  const auto node_count = static_cast<GraphNodeId>(graph.nodes.size());
  for (GraphNodeId n = 0; n < node_count; ++n) {
    const GraphNode node = graph.nodes[n];
    if (node.op == "conv" || node.op == "conv_transpose" || node.op == "dense" ||
        node.op == "gemm") {
      owner[node.outputs[0]] = n;
      continue;
    }
    bool folded = false;
    for (size_t position = 0; position < node.inputs.size() && position < 2 && !folded;
         ++position) {
      const ValueId x = node.inputs[position];
      if (static_cast<size_t>(x) >= owner.size() || owner[x] < 0) continue;
      if (consumers[x].size() != 1 || is_output[x]) continue;
      const GraphNodeId producer = owner[x];
      const auto ss = OfNode(graph, node, position, ChannelDimension(graph, graph.nodes[producer]));
      if (!ss.has_value() || !FoldInto(graph, producer, *ss)) continue;
      // The product now writes this node's output: chains of scales and shifts fold one by one.
      graph.nodes[producer].outputs[0] = node.outputs[0];
      graph.values[node.outputs[0]].producer = producer;
      graph.nodes[n].outputs.clear();
      owner[node.outputs[0]] = producer;
      folded = true;
    }
    if (!folded && node.op == "batch_norm") {
      if (const auto ss = OfBatchNorm(graph, node)) {
        RETURN_IF_ERROR(Decompose(graph, node, *ss, replacements));
      }
    }
  }
  replacements.Apply(graph);
  return Finish(graph);
}

}  // namespace burnish
