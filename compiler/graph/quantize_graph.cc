#include "compiler/graph/quantize_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/graph/control.h"
#include "compiler/graph/eliminate_dead_pass.h"
#include "compiler/graph/fold_batch_norm_pass.h"
#include "compiler/graph/fold_constants_pass.h"
#include "compiler/graph/precision_pass.h"
#include "compiler/graph/rewrite.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

// What quantization makes of an operator.
enum class Role : uint8_t {
  kFloat,    // Reads and writes real numbers.
  kProduct,  // By constant weights: reads a quantized activation, and its weights are.
  kMoves,  // Its result holds what its inputs hold, with their scale: movement, max pools, concats.
  kJoins,  // Reads quantized activations and has a range of its own: additions, averages.
  kThrough,  // Elementwise: computed in registers behind a product, or in front of a quantization.
};

const std::map<OpId, Role>& RolesByOperator() {
  static const auto& roles = *new std::map<OpId, Role>{
      {OpId::kConv, Role::kProduct},      {OpId::kDense, Role::kProduct},
      {OpId::kGemm, Role::kProduct},      {OpId::kMatmul, Role::kProduct},
      {OpId::kMaxPool, Role::kMoves},     {OpId::kReshape, Role::kMoves},
      {OpId::kTranspose, Role::kMoves},   {OpId::kSlice, Role::kMoves},
      {OpId::kExpand, Role::kMoves},      {OpId::kConcat, Role::kMoves},
      {OpId::kAveragePool, Role::kJoins}, {OpId::kReduceMean, Role::kJoins},
      {OpId::kAdd, Role::kJoins},
  };
  return roles;
}

bool IsF32(const Graph& graph, ValueId v) { return graph.value(v).type.dtype == DType::kF32; }

bool IsActivation(const Graph& graph, ValueId v) { return IsF32(graph, v) && !graph.IsConstant(v); }

int64_t ActivationCount(const Graph& graph, const GraphNode& node) {
  return std::count_if(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId v) { return IsActivation(graph, v); });
}

// The dimension of the weights that counts output channels; -1: no product that is quantized.
int64_t ChannelDim(const Graph& graph, const GraphNode& node) {
  if (node.inputs.size() < 2 || !IsActivation(graph, node.inputs[0])) return -1;
  const GraphValue& weights = graph.value(node.inputs[1]);
  if (weights.data == nullptr || weights.type.dtype != DType::kF32) return -1;
  if (node.op == OpId::kConv || node.op == OpId::kDense) return 0;
  const size_t rank = graph.value(node.inputs[0]).type.shape.size();
  const bool is_plain = weights.type.shape.size() == 2 && rank >= 2 &&
                        node.attributes.Int("trans_a", 0) == 0 &&
                        node.attributes.Float("alpha", 1) == 1;
  if (!is_plain) return -1;
  return node.attributes.Int("trans_b", 0) != 0 ? 0 : 1;
}

// Averages of images. Those over the last dimension of others are statistics of normalizations,
// which 8 bits do not hold.
bool IsPool(const Graph& graph, const GraphNode& node) {
  const auto rank = static_cast<int64_t>(graph.value(node.inputs[0]).type.shape.size());
  Shape axes = node.attributes.Ints("axes", {}), spatial(std::max<int64_t>(rank - 2, 0));
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  std::iota(spatial.begin(), spatial.end(), 2);
  return rank >= 4 && axes == spatial;
}

Role RoleOf(const Graph& graph, const GraphNode& node) {
  if (IsControl(node) || node.outputs.size() != 1 || !IsF32(graph, node.outputs[0])) {
    return Role::kFloat;
  }
  const auto found = RolesByOperator().find(node.op);
  const Role role = found != RolesByOperator().end()  ? found->second
                    : IsBroadcastElementwise(node.op) ? Role::kThrough
                                                      : Role::kFloat;
  const int64_t activations = ActivationCount(graph, node);
  switch (role) {
    case Role::kProduct:
      return ChannelDim(graph, node) >= 0 ? role : Role::kFloat;
    case Role::kMoves:
      // A part of a concat that is a constant has no range that was seen.
      if (node.op == OpId::kConcat) {
        return activations == std::ssize(node.inputs) ? role : Role::kFloat;
      }
      return activations == 1 && IsActivation(graph, node.inputs[0]) ? role : Role::kFloat;
    case Role::kJoins:
      if (node.op == OpId::kAdd && activations < 2) return Role::kThrough;
      return node.op != OpId::kReduceMean || IsPool(graph, node) ? role : Role::kFloat;
    default:
      return role;
  }
}

bool Quantizes(Role role) {
  return role == Role::kProduct || role == Role::kMoves || role == Role::kJoins;
}

// The role of each node among its neighbours. Whatever is no product needs producers and consumers
// that take part: else a tensor would be rounded to 8 bits for nothing.
std::vector<Role> FindRoles(const Graph& graph, const QuantizeGraphOptions& options) {
  std::vector<Role> roles;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const bool is_float = options.float_nodes.count(static_cast<GraphNodeId>(n)) > 0;
    roles.push_back(is_float ? Role::kFloat : RoleOf(graph, graph.nodes[n]));
  }
  const auto consumers = Consumers(graph);
  const std::vector<bool> is_output = OutputFlags(graph);
  const auto takes_part = [&](GraphNodeId n) { return n < 0 || roles[n] != Role::kFloat; };
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t n = 0; n < roles.size(); ++n) {
      if (roles[n] == Role::kFloat || roles[n] == Role::kProduct) continue;
      const GraphNode& node = graph.nodes[n];
      const auto& readers = consumers[node.outputs[0]];
      bool stays =
          !is_output[node.outputs[0]] && std::all_of(readers.begin(), readers.end(), takes_part);
      for (const ValueId input : node.inputs) {
        if (IsActivation(graph, input)) stays = stays && takes_part(graph.value(input).producer);
      }
      if (stays) continue;
      roles[n] = Role::kFloat;
      changed = true;
    }
  }
  return roles;
}

// Inputs that a node reads as quantized activations.
std::vector<ValueId> QuantizedInputs(const Graph& graph, const GraphNode& node, Role role) {
  if (!Quantizes(role)) return {};
  if (role == Role::kProduct) return {node.inputs[0]};
  std::vector<ValueId> inputs;
  for (const ValueId input : node.inputs) {
    if (IsActivation(graph, input)) inputs.push_back(input);
  }
  return inputs;
}

std::set<ValueId> QuantizedValues(const Graph& graph, const std::vector<Role>& roles) {
  std::set<ValueId> values;
  for (size_t n = 0; n < roles.size(); ++n) {
    for (const ValueId v : QuantizedInputs(graph, graph.nodes[n], roles[n])) values.insert(v);
  }
  return values;
}

// Values that share their scale, by one of them.
class Groups {
 public:
  explicit Groups(size_t count) : of_(count) { std::iota(of_.begin(), of_.end(), 0); }
  ValueId Of(ValueId v) {
    while (of_[v] != v) v = of_[v] = of_[of_[v]];
    return v;
  }
  void Join(ValueId a, ValueId b) { of_[Of(a)] = Of(b); }

 private:
  std::vector<ValueId> of_;
};

// Half of what is left beside the sums: the zero point's part has as much room (fold_quantization_
// pass.cc refuses a bias of 2^30).
constexpr double kBiasMax = 1 << 29;

class Quantizer {
 public:
  Quantizer(const Graph& graph, const ValueRanges& ranges, const QuantizeGraphOptions& options)
      : ranges_(ranges),
        roles_(FindRoles(graph, options)),
        values_(QuantizedValues(graph, roles_)),
        round_weights_(options.round_weights),
        groups_(graph.values.size()) {
    result_.graph = graph;
  }

  absl::StatusOr<QuantizedGraph> Run() {
    RETURN_IF_ERROR(FindScales());
    const size_t count = roles_.size();
    for (size_t n = 0; n < count; ++n) RETURN_IF_ERROR(Visit(n));
    for (size_t n = 0; n < count; ++n) {
      for (ValueId& input : result_.graph.nodes[n].inputs) {
        if (const auto real = real_.find(input); real != real_.end()) input = real->second;
      }
    }
    RETURN_IF_ERROR(Finish(result_.graph));
    RETURN_IF_ERROR(VerifyGraph(result_.graph));
    return std::move(result_);
  }

 private:
  Graph& graph() { return result_.graph; }

  absl::Status FindScales() {
    for (size_t n = 0; n < roles_.size(); ++n) {
      if (roles_[n] != Role::kMoves) continue;
      const GraphNode& node = graph().nodes[n];
      for (const ValueId v : QuantizedInputs(graph(), node, roles_[n])) {
        groups_.Join(v, node.outputs[0]);
      }
    }
    std::map<ValueId, ValueRange> ranges;
    for (const ValueId v : values_) {
      const auto seen = ranges_.find(v);
      if (seen == ranges_.end() || !std::isfinite(seen->second.least) ||
          !std::isfinite(seen->second.greatest) || seen->second.least > seen->second.greatest) {
        return absl::InvalidArgumentError(absl::StrCat("value ", graph().value(v).name,
                                                       " has no range, or one that is not finite"));
      }
      const auto [range, is_new] = ranges.emplace(groups_.Of(v), seen->second);
      if (is_new) continue;
      range->second.least = std::min(range->second.least, seen->second.least);
      range->second.greatest = std::max(range->second.greatest, seen->second.greatest);
    }
    for (const auto& [group, range] : ranges) scales_[group] = ByteScaleOf(range);
    return absl::OkStatus();
  }

  absl::Status Visit(size_t n) {
    if (!Quantizes(roles_[n])) return absl::OkStatus();
    // By value: nodes are appended.
    const GraphNode node = graph().nodes[n];
    result_.nodes.push_back(static_cast<GraphNodeId>(n));
    for (const ValueId v : QuantizedInputs(graph(), node, roles_[n])) {
      if (!round_weights_) RETURN_IF_ERROR(QuantizeActivation(v));
    }
    if (roles_[n] != Role::kProduct) return absl::OkStatus();
    ++result_.product_count;
    return QuantizeProduct(n, node);
  }

  // Once: whoever reads the value gets what its numbers stand for.
  absl::Status QuantizeActivation(ValueId v) {
    if (real_.count(v) > 0) return absl::OkStatus();
    const std::string name = graph().value(v).name;
    const ByteScale to = scales_.at(groups_.Of(v));
    const ValueId scale = AddConstant(graph(), absl::StrCat(name, "_scale"), {DType::kF32, {}},
                                      MakeConstant(std::vector<float>{to.scale}));
    const ValueId zero = AddConstant(graph(), absl::StrCat(name, "_zero_point"), {DType::kU8, {}},
                                     FromInts(DType::kU8, {to.zero}));
    ASSIGN_OR_RETURN(const ValueId numbers, AddOp(graph(), OpId::kQuantize, {v, scale, zero}, {},
                                                  absl::StrCat(name, "_quantize")));
    graph().values[numbers].name = absl::StrCat(name, "_quantized");
    ASSIGN_OR_RETURN(real_[v], AddOp(graph(), OpId::kDequantize, {numbers, scale, zero}, {},
                                     absl::StrCat(name, "_dequantize")));
    graph().values[real_[v]].name = absl::StrCat(name, "_dequantized");
    return absl::OkStatus();
  }

  // Constants as numbers of `type` with a scale each along `dim`.
  absl::StatusOr<ValueId> AddQuantized(const std::string& name, DType type, const Shape& shape,
                                       const std::vector<int64_t>& numbers, int64_t dim,
                                       const std::vector<float>& scales) {
    Shape wide(shape.size(), 1);
    wide[dim] = std::ssize(scales);
    const ValueId q = AddConstant(graph(), absl::StrCat(name, "_quantized"), {type, shape},
                                  FromInts(type, numbers));
    const ValueId scale = AddConstant(graph(), absl::StrCat(name, "_scale"), {DType::kF32, wide},
                                      MakeConstant(scales));
    const ValueId zero = AddConstant(graph(), absl::StrCat(name, "_zero_point"), {type, wide},
                                     FromInts(type, std::vector<int64_t>(scales.size(), 0)));
    ASSIGN_OR_RETURN(const ValueId real, AddOp(graph(), OpId::kDequantize, {q, scale, zero}, {},
                                               absl::StrCat(name, "_dequantize")));
    graph().values[real].name = absl::StrCat(name, "_dequantized");
    return real;
  }

  absl::Status QuantizeProduct(size_t n, const GraphNode& node) {
    const GraphValue weights = graph().value(node.inputs[1]);
    const int64_t dim = ChannelDim(graph(), node);
    const int64_t channels = weights.type.shape[dim];
    const std::vector<float> values = CopyAs<float>(*weights.data);
    const double x_scale = scales_.at(groups_.Of(node.inputs[0])).scale;
    const std::vector<float> bias = BiasOf(node, channels);
    int64_t inner = 1;
    for (size_t d = dim + 1; d < weights.type.shape.size(); ++d) inner *= weights.type.shape[d];
    const auto channel_of = [&](size_t i) {
      return static_cast<size_t>(static_cast<int64_t>(i) / inner % channels);
    };
    std::vector<double> greatest(channels, 0);
    for (size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) {
        return absl::InvalidArgumentError(
            absl::StrCat("the weights ", weights.name, " of node ", node.name, " are not finite"));
      }
      double& most = greatest[channel_of(i)];
      most = std::max(most, std::abs(static_cast<double>(values[i])));
    }
    std::vector<float> scales;
    for (int64_t c = 0; c < channels; ++c) {
      // A channel whose weights are next to nothing beside its bias would have no room for it.
      const double of_bias = bias.empty() ? 0 : std::abs(bias[c]) / (kBiasMax * x_scale);
      const auto scale = static_cast<float>(std::max(greatest[c] / 127, of_bias));
      scales.push_back(scale >= std::numeric_limits<float>::min() ? scale : 1.0F);
    }
    std::vector<int64_t> numbers;
    for (size_t i = 0; i < values.size(); ++i) {
      const double q = std::nearbyint(static_cast<double>(values[i]) / scales[channel_of(i)]);
      numbers.push_back(static_cast<int64_t>(std::clamp(q, -127.0, 127.0)));
    }
    result_.weight_count += std::ssize(numbers);
    if (round_weights_) {
      std::vector<float> rounded;
      for (size_t i = 0; i < numbers.size(); ++i) {
        rounded.push_back(static_cast<float>(numbers[i]) * scales[channel_of(i)]);
      }
      graph().values[node.inputs[1]].data = MakeConstant(std::move(rounded));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(
        graph().nodes[n].inputs[1],
        AddQuantized(weights.name, DType::kI8, weights.type.shape, numbers, dim, scales));
    if (bias.empty()) return absl::OkStatus();
    numbers.clear();
    for (int64_t c = 0; c < channels; ++c) {
      scales[c] = static_cast<float>(x_scale * scales[c]);
      // The product of two small scales may be none; the bias is then smaller still.
      if (!(scales[c] >= std::numeric_limits<float>::min())) scales[c] = 1.0F;
      numbers.push_back(static_cast<int64_t>(std::nearbyint(bias[c] / scales[c])));
    }
    const std::string name = graph().value(node.inputs[2]).name;
    ASSIGN_OR_RETURN(graph().nodes[n].inputs[2],
                     AddQuantized(name, DType::kI32, {channels}, numbers, 0, scales));
    return absl::OkStatus();
  }

  // One value a channel; empty: there is no bias, or it stays as it is.
  std::vector<float> BiasOf(const GraphNode& node, int64_t channels) {
    if (node.inputs.size() < 3 || node.attributes.Float("beta", 1) != 1) return {};
    const GraphValue& bias = graph().value(node.inputs[2]);
    if (bias.data == nullptr || bias.type != TensorType{DType::kF32, {channels}}) return {};
    std::vector<float> values = CopyAs<float>(*bias.data);
    const bool is_finite =
        std::all_of(values.begin(), values.end(), [](float b) { return std::isfinite(b); });
    return is_finite ? values : std::vector<float>();
  }

  const ValueRanges& ranges_;
  const std::vector<Role> roles_;
  const std::set<ValueId> values_;
  const bool round_weights_;
  Groups groups_;
  std::map<ValueId, ByteScale> scales_;  // By group.
  std::map<ValueId, ValueId> real_;      // What readers of a quantized value read.
  QuantizedGraph result_;
};

// Of a prepared graph with named layers.
absl::StatusOr<QuantizedGraph> Quantized(const Graph& graph, const FloatStorage& storage,
                                         bool round_weights) {
  QuantizeGraphOptions options{.round_weights = round_weights};
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Role role = RoleOf(graph, graph.nodes[n]);
    const bool decides = role == Role::kProduct || role == Role::kJoins;
    if (decides && storage.Of(graph.nodes[n].layer) != DType::kI8) {
      options.float_nodes.insert(static_cast<GraphNodeId>(n));
    }
  }
  ValueRanges ranges;
  for (const ValueId v : ValuesToObserve(graph, options)) {
    const auto range = storage.ranges.find(SourceName(graph, v));
    if (range != storage.ranges.end()) ranges[v] = range->second;
  }
  return QuantizeGraph(graph, ranges, options);
}

}  // namespace

absl::Status PrepareToQuantize(Graph& graph) {
  for (const GraphNode& node : graph.nodes) {
    if (node.op != OpId::kQuantize && node.op != OpId::kDequantize && node.op != OpId::kRequantize)
      continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "node ", node.name, ": the model has quantized tensors already; compile it as it is"));
  }
  EliminateDead(graph);
  RETURN_IF_ERROR(FoldConstants(graph));
  RETURN_IF_ERROR(FoldBatchNorm(graph));
  return Finish(graph);
}

std::vector<ValueId> ValuesToObserve(const Graph& graph, const QuantizeGraphOptions& options) {
  const std::set<ValueId> values = QuantizedValues(graph, FindRoles(graph, options));
  return {values.begin(), values.end()};
}

ByteScale ByteScaleOf(const ValueRange& range) {
  const double least = std::min(range.least, 0.0), greatest = std::max(range.greatest, 0.0);
  const auto scale = static_cast<float>((greatest - least) / 255);
  // Kernels take subnormal scales for 0.
  if (!(scale >= std::numeric_limits<float>::min())) return {};
  return {.scale = scale,
          .zero = static_cast<int64_t>(std::clamp(std::nearbyint(-least / scale), 0.0, 255.0))};
}

absl::StatusOr<QuantizedGraph> QuantizeGraph(const Graph& graph, const ValueRanges& ranges,
                                             const QuantizeGraphOptions& options) {
  return Quantizer(graph, ranges, options).Run();
}

std::string SourceName(const Graph& graph, ValueId v) {
  const GraphNodeId n = graph.value(v).producer;
  if (n < 0) return absl::StrCat("input ", graph.value(v).name);
  const GraphNode& node = graph.nodes[n];
  const auto index = std::find(node.outputs.begin(), node.outputs.end(), v) - node.outputs.begin();
  return index == 0 ? node.layer : absl::StrCat(node.layer, ":", index);
}

std::map<std::string, ValueRange> NamedRanges(Graph& graph, const ValueRanges& ranges) {
  NameLayers(graph);
  std::map<std::string, ValueRange> named;
  for (const auto& [v, range] : ranges) named[SourceName(graph, v)] = range;
  return named;
}

absl::Status StoreAsBytes(Graph& graph, const FloatStorage& storage) {
  RETURN_IF_ERROR(PrepareToQuantize(graph));
  NameLayers(graph);
  ASSIGN_OR_RETURN(QuantizedGraph quantized, Quantized(graph, storage, /*round_weights=*/false));
  graph = std::move(quantized.graph);
  // What passes make of a node has no layer, and is to get its name.
  for (GraphNode& node : graph.nodes) node.layer.clear();
  return absl::OkStatus();
}

absl::StatusOr<std::set<std::string>> LayersInBytes(const Graph& graph,
                                                    const FloatStorage& storage) {
  Graph named = graph;
  NameLayers(named);
  ASSIGN_OR_RETURN(const QuantizedGraph quantized,
                   Quantized(named, {.type = DType::kI8, .ranges = storage.ranges},
                             /*round_weights=*/false));
  std::set<std::string> layers;
  for (const GraphNodeId n : quantized.nodes) layers.insert(named.nodes[n].layer);
  return layers;
}

absl::StatusOr<Graph> WithRoundedWeights(const Graph& graph, const FloatStorage& storage) {
  Graph named = graph;
  NameLayers(named);
  ASSIGN_OR_RETURN(QuantizedGraph rounded,
                   Quantized(named, {.type = DType::kI8, .ranges = storage.ranges},
                             /*round_weights=*/true));
  return std::move(rounded.graph);
}

}  // namespace burnish
