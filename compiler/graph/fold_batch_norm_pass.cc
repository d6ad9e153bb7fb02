#include "compiler/graph/fold_batch_norm_pass.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
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
  if (producer.op == OpId::kDense || producer.op == OpId::kGemm) return rank - 1;
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
    origin = Apply(OpId::kExpand, {origin}, std::move(attributes));
  }
  if (static_cast<int64_t>(values.size()) != shape[channel]) return std::nullopt;
  return ChannelValues{std::move(values), std::move(origin)};
}

// y = (x - mean[c]) * gamma[c] / deviation[c] + beta[c].
struct Norm {
  ChannelValues gamma, beta, mean, deviation;
};

std::optional<Norm> NormOf(const Graph& graph, const GraphNode& node) {
  for (int i = 1; i <= 4; ++i) {
    if (!graph.IsConstant(node.inputs[i])) return std::nullopt;
  }
  const auto input = [&](int i) {
    return ChannelValues{ConstantValues(graph, node.inputs[i]),
                         OriginOfValues(graph, node.inputs[i])};
  };
  Norm norm = {.gamma = input(1), .beta = input(2), .mean = input(3), .deviation = input(4)};
  const double epsilon = node.attributes.Float("epsilon", 1e-5);
  for (double& v : norm.deviation.values) v = std::sqrt(v + epsilon);
  norm.deviation.origin =
      Apply(OpId::kSqrt, {Apply(OpId::kAdd, {norm.deviation.origin, Constants({epsilon}).origin})});
  return norm;
}

ScaleShift ScaleShiftOf(const Norm& norm) {
  ScaleShift result;
  for (size_t c = 0; c < norm.gamma.values.size(); ++c) {
    result.scale.values.push_back(norm.gamma.values[c] / norm.deviation.values[c]);
    result.shift.values.push_back(norm.beta.values[c] -
                                  norm.mean.values[c] * result.scale.values[c]);
  }
  result.scale.origin = Apply(OpId::kDiv, {norm.gamma.origin, norm.deviation.origin});
  result.shift.origin = Apply(
      OpId::kSub, {norm.beta.origin, Apply(OpId::kMul, {norm.mean.origin, result.scale.origin})});
  return result;
}

// The scale and shift that `node` applies to input `position`, whose channels are at `channel`.
std::optional<ScaleShift> OfNode(const Graph& graph, const GraphNode& node, size_t position,
                                 int channel) {
  if (node.op == OpId::kBatchNorm) {
    const bool last = node.attributes.Int("channels_last", 0) != 0;
    const auto rank = static_cast<int>(graph.value(node.outputs[0]).type.shape.size());
    if (position != 0 || channel != (last ? rank - 1 : 1)) return std::nullopt;
    const std::optional<Norm> norm = NormOf(graph, node);
    return norm.has_value() ? std::optional(ScaleShiftOf(*norm)) : std::nullopt;
  }
  const bool swaps = node.op == OpId::kMul || node.op == OpId::kAdd;
  if (!swaps && node.op != OpId::kDiv && node.op != OpId::kSub) return std::nullopt;
  if (position != 0 && !swaps) return std::nullopt;
  const std::vector<int64_t>& shape = graph.value(node.outputs[0]).type.shape;
  if (shape != graph.value(node.inputs[position]).type.shape) return std::nullopt;
  std::optional<ChannelValues> by_channel =
      ByChannel(graph, node.inputs[1 - position], shape, channel);
  if (!by_channel.has_value()) return std::nullopt;
  const bool scales = node.op == OpId::kMul || node.op == OpId::kDiv;
  if (node.op == OpId::kDiv) {
    for (double& v : by_channel->values) v = 1 / v;
    by_channel->origin = Apply(OpId::kDiv, {Constants({1}).origin, by_channel->origin});
  } else if (node.op == OpId::kSub) {
    for (double& v : by_channel->values) v = -v;
    by_channel->origin = Apply(OpId::kNeg, {by_channel->origin});
  }
  ChannelValues other = Constants(std::vector<double>(by_channel->values.size(), scales ? 0 : 1));
  if (scales) return ScaleShift{std::move(*by_channel), std::move(other)};
  return ScaleShift{std::move(other), std::move(*by_channel)};
}

// Whether a sum of products times the scale may be a sum of scaled products, whatever the operands:
// an infinity, or what is one before the sum is complete, would meet a 0 or its like.
bool IsModerate(const std::vector<double>& scale, DType wide) {
  // Half of the exponents: sums of that size are nobody's.
  const double most = wide == DType::kF64 ? 0x1p511 : 0x1p63;
  return std::all_of(scale.begin(), scale.end(), [&](double s) { return std::abs(s) <= most; });
}

// Output channel of each element of the weights: those of one group lie along `dimension`.
struct WeightLayout {
  int dimension;
  int64_t outer, channels, inner, groups;
};

std::optional<WeightLayout> LayoutOf(const Graph& graph, const GraphNode& node) {
  const std::vector<int64_t>& shape = graph.value(node.inputs[1]).type.shape;
  int64_t rest = 1;
  for (size_t d = 1; d < shape.size(); ++d) rest *= shape[d];
  if (node.op == OpId::kConv || node.op == OpId::kDense)
    return WeightLayout{0, 1, shape[0], rest, 1};
  if (node.op ==
      OpId::kConvTranspose) {  // [I, O/group, k..]: the group is that of the input channel.
    return WeightLayout{1, shape[0], shape[1], rest / shape[1], node.attributes.Int("group", 1)};
  }
  if (node.op == OpId::kGemm) {
    if (node.attributes.Int("trans_b", 0) != 0) return WeightLayout{0, 1, shape[0], shape[1], 1};
    return WeightLayout{1, shape[0], shape[1], 1, 1};
  }
  return std::nullopt;
}

// What the product adds by itself; nothing where it is not known, or not one value a channel.
std::optional<ChannelValues> BiasOf(const Graph& graph, const GraphNode& node, int64_t channels) {
  if (node.inputs.size() < 3) return Constants(std::vector<double>(channels, 0));
  if (node.op != OpId::kGemm) {
    const GraphValue& bias = graph.value(node.inputs[2]);
    if (bias.data == nullptr || ElementCount(bias.type.shape) != channels) return std::nullopt;
    return ChannelValues{ConstantValues(graph, node.inputs[2]),
                         OriginOfValues(graph, node.inputs[2])};
  }
  const double beta = node.attributes.Float("beta", 1);
  if (beta == 0) return Constants(std::vector<double>(channels, 0));
  const std::vector<int64_t>& shape = graph.value(node.outputs[0]).type.shape;
  std::optional<ChannelValues> bias = ByChannel(graph, node.inputs[2], shape, 1);
  if (!bias.has_value() || beta == 1) return bias;
  for (double& v : bias->values) v *= beta;
  bias->origin = Apply(OpId::kMul, {bias->origin, Constants({beta}).origin});
  return bias;
}

// As ScaleWeights computes it.
OriginPtr ScaledOrigin(const GraphValue& weights, const WeightLayout& layout,
                       const OriginPtr& scale) {
  const std::vector<int64_t>& shape = weights.type.shape;
  OriginPtr wide = CastOrigin(OriginOf(weights.type, weights.data), DType::kF64);
  std::vector<int64_t> broadcast(shape.size(), 1);
  if (layout.groups == 1) {
    broadcast[layout.dimension] = layout.channels;
  } else {
    wide = ReshapedOrigin(
        wide, {layout.groups, layout.outer / layout.groups, layout.channels, layout.inner});
    broadcast = {layout.groups, 1, layout.channels, 1};
  }
  const OriginPtr scaled = Apply(OpId::kMul, {wide, ReshapedOrigin(scale, broadcast)});
  return ReshapedOrigin(CastOrigin(scaled, weights.type.dtype), shape);
}

// Whether scaled weights are what products with them say: none is infinite, and in no channel the
// greatest one vanishes that was there before. (What vanishes beside a greater one is its
// rounding.)
class ScaledRange {
 public:
  ScaledRange(DType dtype, size_t channels)
      : dtype_(dtype), before_(channels, 0), after_(channels, 0) {}

  void See(size_t channel, double before, double after) {
    is_finite_ = is_finite_ && std::isfinite(RoundToStorage(dtype_, after));
    before_[channel] = std::max(before_[channel], std::abs(before));
    after_[channel] = std::max(after_[channel], std::abs(after));
  }
  bool Holds(const std::vector<double>& scale) const {
    for (size_t c = 0; c < before_.size(); ++c) {
      const bool is_there = scale[c] != 0 && IsNormalNumber(dtype_, before_[c]);
      if (is_there && !IsNormalNumber(dtype_, after_[c])) return false;
    }
    return is_finite_;
  }

 private:
  const DType dtype_;
  bool is_finite_ = true;
  std::vector<double> before_, after_;  // The greatest of each channel.
};

// Null where the type does not hold them.
ConstantPtr ScaleWeights(const Graph& graph, const GraphNode& node, const WeightLayout& layout,
                         const ChannelValues& by_channel) {
  const std::vector<double>& scale = by_channel.values;
  const GraphValue& weights = graph.value(node.inputs[1]);
  const DType dtype = weights.type.dtype;
  ScaledRange range(dtype, scale.size());
  const auto scaled_values = [&](auto values) {
    using T = typename decltype(values)::value_type;
    size_t at = 0;
    for (int64_t o = 0; o < layout.outer; ++o) {
      const int64_t group = o / (layout.outer / layout.groups);
      for (int64_t c = 0; c < layout.channels; ++c) {
        const size_t channel = group * layout.channels + c;
        for (int64_t i = 0; i < layout.inner; ++i, ++at) {
          const T before = values[at];
          values[at] = static_cast<T>(before * scale[channel]);
          range.See(channel, before, values[at]);
        }
      }
    }
    return values;
  };
  // As floats where they are: weights are most of a model's memory.
  const ConstantPtr scaled =
      dtype == DType::kF32
          ? MakeConstant(scaled_values(CopyAs<float>(*weights.data)))
          : FromDoubles(dtype, scaled_values(ToDoubles(weights.type, *weights.data)));
  if (!range.Holds(scale)) return nullptr;
  return WithOrigin(scaled, ScaledOrigin(weights, layout, by_channel.origin));
}

// bias * scale + shift; nothing where a sum of numbers that are none too large is.
std::optional<ChannelValues> FoldedBias(const ChannelValues& bias, const ScaleShift& ss,
                                        DType wide) {
  ChannelValues folded;
  for (size_t c = 0; c < bias.values.size(); ++c) {
    const double value = bias.values[c] * ss.scale.values[c] + ss.shift.values[c];
    const bool was_finite = std::isfinite(bias.values[c]) && std::isfinite(ss.shift.values[c]);
    const double most = wide == DType::kF64 ? std::numeric_limits<double>::max()
                                            : std::numeric_limits<float>::max();
    if (was_finite && !(std::abs(value) <= most)) return std::nullopt;
    folded.values.push_back(value);
  }
  folded.origin =
      Apply(OpId::kAdd, {Apply(OpId::kMul, {bias.origin, ss.scale.origin}), ss.shift.origin});
  return folded;
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
  // Added to a sum, which is wide: rounding it saves nothing.
  const DType wide = ComputeType(weights.dtype);
  if (!IsModerate(ss.scale.values, wide)) return false;
  const bool had_bias = producer.inputs.size() > 2;
  const std::optional<ChannelValues> old = BiasOf(graph, producer, channels);
  std::optional<ChannelValues> bias = old.has_value() ? FoldedBias(*old, ss, wide) : std::nullopt;
  if (!bias.has_value()) return false;
  if (!had_bias) bias->origin = ss.shift.origin;
  const std::string name = producer.name;
  const ConstantPtr scaled = ScaleWeights(graph, producer, *layout, ss.scale);
  if (scaled == nullptr) return false;
  const ValueId new_weights = AddConstant(graph, name + ".weight", weights, scaled);
  const ValueId new_bias =
      AddConstant(graph, name + ".bias", {wide, {channels}},
                  WithOrigin(FromDoubles(wide, bias->values), CastOrigin(bias->origin, wide)));
  producer.inputs.resize(2);
  producer.inputs[1] = new_weights;
  producer.inputs.push_back(new_bias);
  // What is added now holds the factor of what was.
  if (producer.attributes.Has("beta")) producer.attributes.Set("beta", 1.0);
  return true;
}

// batch_norm with no producer to fold into: x * scale + shift, which fuses like any elementwise; as
// it is written where that has no such numbers, as over a variance of 0.
absl::Status Decompose(Graph& graph, const GraphNode& node, const Norm& norm,
                       Replacements& replacements) {
  const TensorType type = graph.value(node.inputs[0]).type;
  const size_t rank = type.shape.size();
  std::vector<int64_t> shape(rank, 1);
  const auto channels = static_cast<int64_t>(norm.gamma.values.size());
  const bool last = node.attributes.Int("channels_last", 0) != 0;
  shape[last ? rank - 1 : rank > 1 ? 1 : 0] = channels;
  if (last) shape = {channels};
  const DType wide = ComputeType(type.dtype);
  const auto add = [&](const std::string& name, const ChannelValues& by_channel) {
    return AddConstant(graph, name, {wide, shape},
                       WithOrigin(FromDoubles(wide, by_channel.values),
                                  ReshapedOrigin(CastOrigin(by_channel.origin, wide), shape)));
  };
  ValueId y = node.inputs[0];
  const auto then = [&](OpId op, const char* suffix, const ChannelValues& values) {
    const absl::StatusOr<ValueId> next =
        AddOp(graph, op, {y, add(node.name + suffix, values)}, {}, node.name);
    if (next.ok()) y = *next;
    return next.status();
  };
  const ScaleShift ss = ScaleShiftOf(norm);
  if (IsModerate(ss.scale.values, wide) && IsModerate(ss.shift.values, wide)) {
    RETURN_IF_ERROR(then(OpId::kMul, ".scale", ss.scale));
    RETURN_IF_ERROR(then(OpId::kAdd, ".shift", ss.shift));
  } else {
    RETURN_IF_ERROR(then(OpId::kSub, ".mean", norm.mean));
    RETURN_IF_ERROR(then(OpId::kMul, ".gamma", norm.gamma));
    RETURN_IF_ERROR(then(OpId::kDiv, ".deviation", norm.deviation));
    RETURN_IF_ERROR(then(OpId::kAdd, ".beta", norm.beta));
  }
  replacements.Set(node.outputs[0], y);
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
    if (node.op == OpId::kConv || node.op == OpId::kConvTranspose || node.op == OpId::kDense ||
        node.op == OpId::kGemm) {
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
    if (!folded && node.op == OpId::kBatchNorm) {
      if (const std::optional<Norm> norm = NormOf(graph, node)) {
        RETURN_IF_ERROR(Decompose(graph, node, *norm, replacements));
      }
    }
  }
  replacements.Apply(graph);
  return Finish(graph);
}

}  // namespace burnish
