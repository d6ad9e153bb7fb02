#include "compiler/graph/layout_pass.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status_macros.h"
#include "compiler/graph/channel_shuffle.h"
#include "compiler/graph/constant_memo.h"
#include "compiler/graph/control.h"
#include "compiler/graph/lone_window.h"
#include "compiler/graph/rewrite.h"
#include "compiler/te/layout.h"
#include "compiler/te/operator.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

Shape Permuted(const Shape& values, const Shape& perm) {
  Shape result;
  for (int64_t p : perm) result.push_back(values[p]);
  return result;
}

// Builds the new graph from the old one, node by node.
class Converter {
 public:
  explicit Converter(const Graph& old)
      : old_(old), consumers_(Consumers(old)), first_(old.values.size(), -1), last_(first_) {
    const std::vector<bool> is_output = OutputFlags(old);
    for (size_t n = 0; n < old.nodes.size(); ++n) {
      const auto node = static_cast<GraphNodeId>(n);
      const auto shuffle = MatchChannelShuffle(old, node, consumers_, is_output);
      if (!shuffle.has_value()) continue;
      shuffles_.emplace(node, *shuffle);
      in_shuffle_.insert({shuffle->cut, shuffle->turn});
    }
  }

  absl::StatusOr<Graph> Run() {
    new_.name = old_.name;
    for (ValueId input : old_.inputs) {
      first_[input] = AddInput(new_, old_.value(input).name, old_.value(input).type);
    }
    for (size_t n = 0; n < old_.nodes.size(); ++n) {
      const auto node = static_cast<GraphNodeId>(n);
      if (in_shuffle_.count(node) > 0) continue;
      const auto shuffle = shuffles_.find(node);
      RETURN_IF_ERROR(shuffle == shuffles_.end() ? Convert(old_.nodes[node])
                                                 : ConvertShuffle(node, shuffle->second));
    }
    for (ValueId output : old_.outputs) {
      ASSIGN_OR_RETURN(const ValueId id, First(output));
      if (new_.value(id).producer >= 0) new_.values[id].name = old_.value(output).name;
      new_.outputs.push_back(id);
    }
    new_.hidden_outputs = old_.hidden_outputs;
    new_.bounded_axes = old_.bounded_axes;
    new_.sizes = old_.sizes;
    new_.input_axes = old_.input_axes;
    new_.input_defaults = old_.input_defaults;
    new_.memo = old_.memo;
    return std::move(new_);
  }

 private:
  int64_t Rank(ValueId old) const {
    return static_cast<int64_t>(old_.value(old).type.shape.size());
  }
  // Whether the value exists with channels last only (so far).
  bool IsLast(ValueId old) const { return last_[old] >= 0 && first_[old] < 0; }

  // The new value of `old` in the model's own layout.
  absl::StatusOr<ValueId> First(ValueId old);
  // With channels last. Rank 3 or more.
  absl::StatusOr<ValueId> Last(ValueId old);
  // For a broadcast operand of a node whose result has `rank` dimensions.
  absl::StatusOr<ValueId> LastBroadcast(ValueId old, int64_t rank);

  absl::Status Emit(const GraphNode& node, std::vector<ValueId> inputs, Attributes attributes,
                    bool last);
  absl::Status Convert(const GraphNode& node);
  // All nodes of a shuffle at once.
  absl::Status ConvertShuffle(GraphNodeId last, const ChannelShuffle& shuffle);

  const Graph& old_;
  const std::vector<std::vector<GraphNodeId>> consumers_;
  Graph new_;
  std::vector<ValueId> first_, last_;               // By old value; -1: does not exist.
  std::map<GraphNodeId, ChannelShuffle> shuffles_;  // By the node that ends it.
  std::set<GraphNodeId> in_shuffle_;                // The nodes before that.
};

absl::StatusOr<ValueId> Converter::First(ValueId old) {
  // Each value is turned at most once each way, however many readers want it.
  if (first_[old] >= 0) return first_[old];
  const GraphValue& value = old_.value(old);
  if (value.data != nullptr) {
    return first_[old] = AddConstant(new_, value.name, value.type, value.data);
  }
  CHECK_GE(last_[old], 0);
  Attributes attributes;
  attributes.Set("perm", InversePermutation(ChannelsLastOrder(Rank(old))));
  ASSIGN_OR_RETURN(first_[old], AddOp(new_, OpId::kTranspose, {last_[old]}, std::move(attributes),
                                      value.name + ".channels_first"));
  return first_[old];
}

absl::StatusOr<ValueId> Converter::Last(ValueId old) {
  if (last_[old] >= 0) return last_[old];
  const GraphValue& value = old_.value(old);
  const Shape perm = ChannelsLastOrder(Rank(old));
  if (value.data != nullptr) {
    const TensorType type = {value.type.dtype, Permuted(value.type.shape, perm)};
    return last_[old] =
               AddConstant(new_, value.name, type, Transposed(old_, value.type, value.data, perm));
  }
  Attributes attributes;
  attributes.Set("perm", perm);
  ASSIGN_OR_RETURN(last_[old], AddOp(new_, OpId::kTranspose, {first_[old]}, std::move(attributes),
                                     value.name + ".channels_last"));
  return last_[old];
}

absl::StatusOr<ValueId> Converter::LastBroadcast(ValueId old, int64_t rank) {
  if (Rank(old) == rank) return Last(old);
  const GraphValue& value = old_.value(old);
  // One element is the same in every order.
  if (ElementCount(value.type.shape) == 1) return First(old);
  Shape wide = value.type.shape;
  // Broadcasting aligns from the right. Dimensions of 1 in front make that explicit, before the
  // order changes.
  wide.insert(wide.begin(), rank - Rank(old), 1);
  const Shape perm = ChannelsLastOrder(rank);
  if (value.data != nullptr) {
    const TensorType wide_type = {value.type.dtype, wide};
    return AddConstant(new_, value.name, {value.type.dtype, Permuted(wide, perm)},
                       Transposed(old_, wide_type, value.data, perm));
  }
  ASSIGN_OR_RETURN(const ValueId first, First(old));
  Attributes shape, turn;
  shape.Set("shape", wide);
  turn.Set("perm", perm);
  ASSIGN_OR_RETURN(const ValueId reshaped,
                   AddOp(new_, OpId::kReshape, {first}, std::move(shape), value.name + ".wide"));
  return AddOp(new_, OpId::kTranspose, {reshaped}, std::move(turn), value.name + ".channels_last");
}

absl::Status Converter::Emit(const GraphNode& node, std::vector<ValueId> inputs,
                             Attributes attributes, bool last) {
  GraphNodeId id = -1;
  if (IsControl(node)) {
    GraphNode copy = node;
    copy.inputs = std::move(inputs);
    ASSIGN_OR_RETURN(id, AddControlNode(new_, std::move(copy)));
  } else {
    ASSIGN_OR_RETURN(id,
                     AddNode(new_, node.op, std::move(inputs), std::move(attributes), node.name));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId output = new_.nodes[id].outputs[i];
    new_.values[output].name = old_.value(node.outputs[i]).name;
    (last ? last_ : first_)[node.outputs[i]] = output;
  }
  return absl::OkStatus();
}

absl::Status Converter::Convert(const GraphNode& node) {
  const OperatorDef& op = OperatorOf(node.op);
  const bool is_last = node.attributes.Int("channels_last", 0) != 0;
  int64_t rank = -1;  // Of the inputs that come with channels last, or shall.
  for (ValueId input : node.inputs) {
    if (IsLast(input)) rank = Rank(input);
  }
  const bool stays = rank < 0 && IsLoneWindow(old_, node, consumers_);
  if (op.layout == LayoutRule::kChannelsLast && !stays) rank = Rank(node.inputs[0]);
  std::vector<TensorType> results;
  for (ValueId output : node.outputs) results.push_back(old_.value(output).type);
  const bool follows = !is_last && FollowsChannelsLast(op, rank, results);
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    // Operators by channel have weights and statistics behind their first input.
    const bool turns = follows && (i == 0 || op.layout == LayoutRule::kAnyOrder);
    ASSIGN_OR_RETURN(const ValueId x, turns ? LastBroadcast(input, rank) : First(input));
    inputs.push_back(x);
  }
  Attributes attributes = node.attributes;
  if (follows) attributes = AttributesInOrder(op, attributes, ChannelsLastOrder(rank));
  return Emit(node, std::move(inputs), std::move(attributes), follows);
}

absl::Status Converter::ConvertShuffle(GraphNodeId last, const ChannelShuffle& shuffle) {
  const ValueId output = old_.nodes[last].outputs[0];
  const int64_t rank = Rank(shuffle.source);
  // Not over channels, or not in that order: its three nodes are converted one by one.
  if (rank < 3 || shuffle.axis != 1 || !IsLast(shuffle.source)) {
    for (GraphNodeId n : {shuffle.cut, shuffle.turn, last}) {
      RETURN_IF_ERROR(Convert(old_.nodes[n]));
    }
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(last_[output], AddChannelShuffle(new_, last_[shuffle.source], rank - 1,
                                                    shuffle.groups, old_.nodes[last].name));
  new_.values[last_[output]].name = old_.value(output).name;
  return absl::OkStatus();
}

}  // namespace

absl::Status ConvertToChannelsLast(Graph& graph) {
  ASSIGN_OR_RETURN(Graph converted, Converter(graph).Run());
  graph = std::move(converted);
  return Finish(graph);
}

}  // namespace burnish
