#include "compiler/graph/fuse_pass.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "compiler/graph/control.h"
#include "compiler/te/operator.h"

namespace burnish {
namespace {

// Rows of scores that attention takes have two of the narrowest vectors of floats at least.
constexpr int64_t kAttentionKeysMin = 8;

class Fuser {
 public:
  Fuser(const Graph& graph, const FuseOptions& options);
  Fusion Run();

 private:
  const OperatorDef& Operator(GraphNodeId n) const { return *operator_[n]; }
  FusionKind Kind(GraphNodeId n) const { return Operator(n).fusion; }
  bool IsAnchor(GraphNodeId n) const {
    return Kind(n) == FusionKind::kReduction || Kind(n) == FusionKind::kOpaque;
  }
  // What storage assignment makes free (concat, split, reshape) is no part of a kernel.
  bool StaysAlone(GraphNodeId n) const;
  bool KeepsLastDimension(GraphNodeId n) const;
  bool IsFree(GraphNodeId n) const { return members_[group_[n]].size() == 1; }
  const TensorType& TypeOf(ValueId v) const { return graph_.value(v).type; }
  ValueId OutputOf(GraphNodeId n) const { return graph_.nodes[n].outputs[0]; }

  void FuseConsumers(GraphNodeId head);
  // Nodes that take `tail` to one later value; empty where it cannot be taken further.
  std::vector<GraphNodeId> NextRegion(ValueId tail, const TensorType& anchor_type, bool anchored);
  bool MayJoin(GraphNodeId n, const TensorType& anchor_type, bool anchored, bool only_consumer);
  bool DeeperAnchorWants(GraphNodeId n, ValueId tail) const;
  // The group of the product that `v` comes from; -1 where it is no group that attention may take.
  int ProductGroup(ValueId v) const;
  void FuseAttention(GraphNodeId softmax);
  void FuseProducers(GraphNodeId n);
  bool ProducerPays(GraphNodeId producer, GraphNodeId consumer) const;
  void Merge(int from, int into);
  Fusion Collect() const;

  const Graph& graph_;
  const FuseOptions& options_;
  std::vector<const OperatorDef*> operator_;  // By node.
  std::vector<std::vector<GraphNodeId>> consumers_;
  std::vector<bool> is_output_;
  std::vector<int> depth_;                         // Of each node: longest path from an input.
  std::vector<int> group_;                         // By node.
  std::vector<std::vector<GraphNodeId>> members_;  // By group.
};

Fuser::Fuser(const Graph& graph, const FuseOptions& options)
    : graph_(graph),
      options_(options),
      consumers_(Consumers(graph)),
      is_output_(OutputFlags(graph)),
      depth_(graph.nodes.size(), 0) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    operator_.push_back(&OperatorOf(graph.nodes[n].op));
    group_.push_back(static_cast<int>(n));
    members_.push_back({static_cast<GraphNodeId>(n)});
    for (ValueId input : graph.nodes[n].inputs) {
      const GraphNodeId producer = graph.value(input).producer;
      if (producer >= 0) depth_[n] = std::max(depth_[n], depth_[producer] + 1);
    }
  }
}

bool Fuser::StaysAlone(GraphNodeId n) const {
  return graph_.nodes[n].outputs.size() != 1 || Kind(n) == FusionKind::kHost ||
         IsControl(graph_.nodes[n]) || Operator(n).traits.movement == Movement::kView;
}

bool Fuser::KeepsLastDimension(GraphNodeId n) const {
  const std::vector<int64_t> perm = graph_.nodes[n].attributes.Ints("perm", {});
  return !perm.empty() && perm.back() == static_cast<int64_t>(perm.size()) - 1;
}

void Fuser::Merge(int from, int into) {
  for (GraphNodeId n : members_[from]) group_[n] = into;
  members_[into].insert(members_[into].end(), members_[from].begin(), members_[from].end());
  members_[from].clear();
}

bool Fuser::DeeperAnchorWants(GraphNodeId n, ValueId tail) const {
  const auto depth_of = [&](ValueId v) { return depth_[graph_.value(v).producer]; };
  for (ValueId other : graph_.nodes[n].inputs) {
    if (other == tail || graph_.value(other).producer < 0) continue;
    // Only a value that could itself take the addition in: one reader, of the same type.
    if (!(TypeOf(other) == TypeOf(tail)) || consumers_[other].size() != 1 || is_output_[other]) {
      continue;
    }
    const std::vector<GraphNodeId>& group = members_[group_[graph_.value(other).producer]];
    const bool anchored =
        std::any_of(group.begin(), group.end(), [&](GraphNodeId m) { return IsAnchor(m); });
    // The deeper one is computed last. If the shallow one took the addition, its task would have to
    // wait for the deep one's value, which is then written and read again.
    if (anchored && depth_of(other) > depth_of(tail)) return true;
  }
  return false;
}

bool Fuser::MayJoin(GraphNodeId n, const TensorType& anchor_type, bool anchored,
                    bool only_consumer) {
  if (StaysAlone(n) || !IsFree(n)) return false;
  const TensorType& type = TypeOf(OutputOf(n));
  if (Kind(n) == FusionKind::kElementwise) {
    // A `finish` works on the anchor's element: another shape has no such element. What it gives
    // has the sum's type, or a narrower one of one or two bytes that the sum ends in
    // (te/canonicalize.h).
    return type.shape == anchor_type.shape &&
           (!anchored || type.dtype == ComputeType(anchor_type.dtype) ||
            MayEndIn(anchor_type.dtype, type.dtype));
  }
  return only_consumer && graph_.nodes[n].op == OpId::kTranspose && KeepsLastDimension(n);
}

std::vector<GraphNodeId> Fuser::NextRegion(ValueId tail, const TensorType& anchor_type,
                                           bool anchored) {
  std::vector<GraphNodeId> region;
  if (is_output_[tail] || consumers_[tail].empty()) return region;
  const std::set<GraphNodeId> direct(consumers_[tail].begin(), consumers_[tail].end());
  if (direct.size() == 1 && anchored && DeeperAnchorWants(*direct.begin(), tail)) return region;
  // Nodes in topological order; the region is closed once no reader is left outside but those of
  // its newest value.
  std::set<GraphNodeId> open = direct;
  // Node ids are a topological order, and the set gives the least: no node is looked at before all
  // that it reads.
  while (!open.empty()) {
    const GraphNodeId n = *open.begin();
    open.erase(open.begin());
    const bool closes = open.empty();
    if (!MayJoin(n, anchor_type, anchored, direct.size() == 1 && region.empty())) return {};
    region.push_back(n);
    if (closes) return region;
    // A value in the middle that somebody outside wants would leave the group, which has one way
    // out.
    if (is_output_[OutputOf(n)]) return {};
    if (static_cast<int>(region.size()) >= options_.max_group_nodes) return {};
    open.insert(consumers_[OutputOf(n)].begin(), consumers_[OutputOf(n)].end());
  }
  return {};
}

void Fuser::FuseConsumers(GraphNodeId head) {
  if (StaysAlone(head)) return;
  const bool anchored = IsAnchor(head);
  const int group = group_[head];
  ValueId tail = OutputOf(head);
  while (static_cast<int>(members_[group].size()) < options_.max_group_nodes) {
    const TensorType type = TypeOf(tail);
    const std::vector<GraphNodeId> region = NextRegion(tail, type, anchored);
    if (region.empty()) return;
    for (GraphNodeId n : region) Merge(group_[n], group);
    tail = OutputOf(region.back());
  }
}

int Fuser::ProductGroup(ValueId v) const {
  const GraphNodeId producer = graph_.value(v).producer;
  if (producer < 0 || is_output_[v] || consumers_[v].size() != 1) return -1;
  const std::vector<GraphNodeId>& group = members_[group_[producer]];
  return graph_.nodes[group[0]].op == OpId::kMatmul ? group_[producer] : -1;
}

void Fuser::FuseAttention(GraphNodeId softmax) {
  const GraphNode& node = graph_.nodes[softmax];
  if (node.op != OpId::kSoftmax || !IsFree(softmax)) return;
  const ValueId scores = node.inputs[0], weights = node.outputs[0];
  const TensorType& type = TypeOf(scores);
  const auto rank = static_cast<int64_t>(type.shape.size());
  const int64_t axis = node.attributes.Int("axis", -1);
  if (rank < 3 || (axis != -1 && axis != rank - 1) || type.dtype != DType::kF32) return;
  // Fewer keys than a vector: padding would get into the softmax's sums, and three small tasks cost
  // little.
  if (type.shape.back() < kAttentionKeysMin) return;
  const int first = ProductGroup(scores);
  if (first < 0 || is_output_[weights] || consumers_[weights].size() != 1) return;
  const GraphNodeId reader = consumers_[weights][0];
  const GraphNode& product = graph_.nodes[reader];
  const int second = group_[reader];
  if (product.op != OpId::kMatmul || members_[second][0] != reader ||
      product.inputs[0] != weights || product.inputs[1] == weights ||
      product.attributes.Int("trans_a", 0) != 0) {
    return;
  }
  const GraphNode& scoring = graph_.nodes[members_[first][0]];
  const auto batch = [&](ValueId v) {
    const std::vector<int64_t>& shape = TypeOf(v).shape;
    return std::vector<int64_t>(shape.begin(), shape.end() - std::min<size_t>(2, shape.size()));
  };
  // A left operand that is transposed is read across its rows.
  if (scoring.attributes.Int("trans_a", 0) != 0) return;
  for (ValueId operand : {scoring.inputs[0], scoring.inputs[1], product.inputs[1]}) {
    // One batch for all operands; products that broadcast stay tasks of their own.
    if (batch(operand) != batch(weights)) return;
  }
  const size_t size = members_[first].size() + 1 + members_[second].size();
  if (size > static_cast<size_t>(options_.max_group_nodes)) return;
  Merge(group_[softmax], first);
  Merge(second, first);
}

// Elements of the producer's value are computed where they are read: that pays when each is read
// once, or costs nothing.
bool Fuser::ProducerPays(GraphNodeId producer, GraphNodeId consumer) const {
  const ValueId value = OutputOf(producer);
  const bool reads_once = (Kind(consumer) == FusionKind::kElementwise &&
                           TypeOf(value).shape == TypeOf(OutputOf(consumer)).shape) ||
                          Operator(consumer).traits.reads_once;
  if (Kind(producer) == FusionKind::kElementwise) return reads_once;
  switch (Operator(producer).traits.movement) {
    case Movement::kNone:
    case Movement::kView:
      return false;
    case Movement::kSelected:
      return reads_once;
    case Movement::kIndexed:
      // Neighbours along the last dimension are read as vectors: a transpose that moves it would
      // be gathered again for every use.
      return reads_once || graph_.nodes[producer].op != OpId::kTranspose ||
             KeepsLastDimension(producer);
  }
  return false;
}

// Takes groups without an anchor whose only reader is node `n` into n's group.
void Fuser::FuseProducers(GraphNodeId n) {
  if (StaysAlone(n) || Kind(n) == FusionKind::kOpaque) return;
  for (ValueId input : graph_.nodes[n].inputs) {
    const GraphNodeId producer = graph_.value(input).producer;
    if (producer < 0 || group_[producer] == group_[n] || StaysAlone(producer)) continue;
    // A second reader would compute the same again, or the value has to exist anyway.
    if (is_output_[input] || consumers_[input].size() != 1) continue;
    const std::vector<GraphNodeId>& group = members_[group_[producer]];
    const bool anchored =
        std::any_of(group.begin(), group.end(), [&](GraphNodeId m) { return IsAnchor(m); });
    if (anchored || !ProducerPays(producer, n)) continue;
    if (group.size() + members_[group_[n]].size() > static_cast<size_t>(options_.max_group_nodes)) {
      continue;
    }
    Merge(group_[producer], group_[n]);
  }
}

Fusion Fuser::Collect() const {
  std::vector<FusedGroup> groups;
  std::vector<int> index(members_.size(), -1);
  for (size_t g = 0; g < members_.size(); ++g) {
    if (members_[g].empty()) continue;
    index[g] = static_cast<int>(groups.size());
    FusedGroup group;
    group.nodes = members_[g];
    std::sort(group.nodes.begin(), group.nodes.end());
    std::set<ValueId> seen;
    for (GraphNodeId n : group.nodes) {
      if (IsAnchor(n)) group.anchor = n;
      for (ValueId input : graph_.nodes[n].inputs) {
        const GraphNodeId producer = graph_.value(input).producer;
        const bool inside = producer >= 0 && group_[producer] == static_cast<int>(g);
        if (!inside && seen.insert(input).second) group.inputs.push_back(input);
      }
      for (ValueId output : graph_.nodes[n].outputs) {
        const bool leaves =
            is_output_[output] || consumers_[output].empty() ||
            std::any_of(consumers_[output].begin(), consumers_[output].end(),
                        [&](GraphNodeId c) { return group_[c] != static_cast<int>(g); });
        if (leaves) group.outputs.push_back(output);
      }
    }
    groups.push_back(std::move(group));
  }
  // Groups in order: a group is ready when the groups that it reads from have run.
  std::vector<std::set<int>> readers(groups.size());
  std::vector<int> waiting(groups.size(), 0);
  for (size_t g = 0; g < groups.size(); ++g) {
    for (ValueId input : groups[g].inputs) {
      const GraphNodeId producer = graph_.value(input).producer;
      if (producer < 0) continue;
      if (readers[index[group_[producer]]].insert(static_cast<int>(g)).second) ++waiting[g];
    }
  }
  // The order of the model where there is a choice, so that the same graph always gives the same
  // order of steps.
  const auto later = [&](int a, int b) { return groups[a].nodes.back() > groups[b].nodes.back(); };
  std::priority_queue<int, std::vector<int>, decltype(later)> ready(later);
  for (size_t g = 0; g < groups.size(); ++g) {
    if (waiting[g] == 0) ready.push(static_cast<int>(g));
  }
  Fusion fusion;
  fusion.group_of.assign(graph_.nodes.size(), -1);
  std::vector<int> order;
  while (!ready.empty()) {
    const int g = ready.top();
    ready.pop();
    order.push_back(g);
    for (int reader : readers[g]) {
      if (--waiting[reader] == 0) ready.push(reader);
    }
  }
  CHECK_EQ(order.size(), groups.size()) << "fusion made a cycle";
  for (int g : order) {
    for (GraphNodeId n : groups[g].nodes) {
      fusion.group_of[n] = static_cast<int>(fusion.groups.size());
    }
    fusion.groups.push_back(std::move(groups[g]));
  }
  return fusion;
}

Fusion Fuser::Run() {
  const auto node_count = static_cast<GraphNodeId>(graph_.nodes.size());
  if (options_.consumers) {
    // Anchors first: an elementwise operator that could end either kind of group saves a pass over
    // memory in an anchor's, whose result would have to be written and read again.
    for (GraphNodeId n = 0; n < node_count; ++n) {
      if (IsAnchor(n)) FuseConsumers(n);
    }
    for (GraphNodeId n = 0; n < node_count; ++n) {
      if (!IsAnchor(n) && IsFree(n)) FuseConsumers(n);
    }
    for (GraphNodeId n = 0; n < node_count; ++n) FuseAttention(n);
  }
  if (options_.producers) {
    // From the outputs on back, so that chains of producers are taken one by one.
    for (GraphNodeId n = node_count - 1; n >= 0; --n) FuseProducers(n);
  }
  return Collect();
}

}  // namespace

Fusion Fuse(const Graph& graph, const FuseOptions& options) { return Fuser(graph, options).Run(); }

}  // namespace burnish
