#include "compiler/graph/assign_storage.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace burnish {
namespace {

using Border = std::vector<std::pair<int64_t, int64_t>>;

// What readers ask for, by border value: 0 or -inf.
using Demands = std::map<double, Border>;

void Widen(Border& border, const Border& by) {
  if (border.empty()) border.assign(by.size(), {0, 0});
  for (size_t d = 0; d < by.size(); ++d) {
    border[d].first = std::max(border[d].first, by[d].first);
    border[d].second = std::max(border[d].second, by[d].second);
  }
}

// The border that a convolution or pool reads around its channels-last input. Empty: none.
Border BorderReadBy(const Graph& graph, const GraphNode& node) {
  const std::vector<int64_t>& in = graph.value(node.inputs[0]).type.shape;
  const std::vector<int64_t>& out = graph.value(node.outputs[0]).type.shape;
  const size_t spatial = in.size() - 2;
  std::vector<int64_t> kernel = node.attributes.Ints("kernel_shape", {});
  if (node.op == OpId::kConv || node.op == OpId::kConvInteger) {
    const std::vector<int64_t>& weights = graph.value(node.inputs[1]).type.shape;
    kernel.assign(weights.begin() + 2, weights.end());
  }
  const std::vector<int64_t> ones(spatial, 1);
  const std::vector<int64_t> strides = node.attributes.Ints("strides", ones);
  const std::vector<int64_t> dilations = node.attributes.Ints("dilations", ones);
  const std::vector<int64_t> pads =
      node.attributes.Ints("pads", std::vector<int64_t>(2 * spatial, 0));
  Border border(in.size(), {0, 0});
  bool any = false;
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t last_read =
        (out[d + 1] - 1) * strides[d] + (kernel[d] - 1) * dilations[d] - pads[d];
    // What is read, not what `pads` says: with a stride the last taps may not reach the padding at
    // the end.
    border[d + 1] = {pads[d], std::max<int64_t>(0, last_read - (in[d + 1] - 1))};
    any = any || border[d + 1].first > 0 || border[d + 1].second > 0;
  }
  return any ? border : Border{};
}

class Assigner {
 public:
  Assigner(const Graph& graph, const Fusion& fusion, const StorageOptions& options)
      : graph_(graph),
        fusion_(fusion),
        options_(options),
        is_output_(OutputFlags(graph)),
        demands_(graph.values.size()),
        parent_(graph.values.size(), -1),
        parent_offset_(graph.values.size(), 0),
        in_view_(graph.values.size(), false) {
    is_result_ = is_output_;
    for (const ValueId value : options.fixed) {
      is_output_[value] = true;
      is_result_[value] = false;
    }
    result_.places.resize(graph.values.size());
    result_.copy_free.assign(fusion.groups.size(), false);
  }

  StorageAssignment Run() {
    if (options_.borders && options_.demands.has_value()) {
      for (const BorderDemand& demand : *options_.demands) {
        if (IsInner(demand.value))
          Widen(demands_[demand.value][demand.border_value], demand.border);
      }
    } else if (options_.borders) {
      CollectDemands();
    }
    if (options_.concat_views) {
      // From the end: a concat of concats takes its parts first, so that a chain ends up in one
      // allocation.
      for (size_t g = fusion_.groups.size(); g-- > 0;) TryConcatView(g);
    }
    PlaceValues();
    if (options_.reshape_views) {
      // From the readers back and then from the writers on: a chain of reshapes is followed to its
      // end either way.
      for (size_t g = fusion_.groups.size(); g-- > 0;) TryReshapeIntoView(g);
      for (size_t g = 0; g < fusion_.groups.size(); ++g) TryReshapeView(g);
    }
    return std::move(result_);
  }

 private:
  // Made by a kernel and read by kernels: memory that this pass is free to shape.
  bool IsInner(ValueId v) const { return graph_.value(v).producer >= 0 && !is_output_[v]; }
  // The caller's memory, which kernels only read, in whatever shape.
  bool IsInput(ValueId v) const {
    return graph_.value(v).producer < 0 && !graph_.IsConstant(v) && !is_output_[v];
  }
  const std::vector<int64_t>& ShapeOf(ValueId v) const { return graph_.value(v).type.shape; }
  const GraphNode* OnlyNode(size_t g, OpId op) const {
    const FusedGroup& group = fusion_.groups[g];
    if (group.nodes.size() != 1) return nullptr;
    const GraphNode& node = graph_.nodes[group.nodes[0]];
    return node.op == op ? &node : nullptr;
  }

  // Whether `v` is made in the same body as the group's values.
  bool IsMadeWith(ValueId v, const FusedGroup& group) const {
    const FusedGroup& maker = fusion_.groups[fusion_.group_of[graph_.value(v).producer]];
    return maker.region == group.region && maker.body == group.body;
  }

  void CollectDemands() {
    for (const GraphNode& node : graph_.nodes) {
      const bool pool = node.op == OpId::kMaxPool || node.op == OpId::kAveragePool;
      if ((!pool && node.op != OpId::kConv) || node.attributes.Int("channels_last", 0) == 0)
        continue;
      const ValueId x = node.inputs[0];
      const bool is_float = IsFloat(graph_.value(x).type.dtype);
      if (!IsInner(x) || !is_float) continue;
      const Border border = BorderReadBy(graph_, node);
      if (border.empty()) continue;
      const double value =
          node.op == OpId::kMaxPool ? -std::numeric_limits<double>::infinity() : 0.0;
      Widen(demands_[x][value], border);
    }
  }

  // Zero where anyone asks for it: convolutions outnumber and outweigh pools.
  static double BorderValue(const Demands& demands) {
    return demands.empty() || demands.count(0.0) > 0 ? 0.0 : demands.begin()->first;
  }

  void TryConcatView(size_t g) {
    const GraphNode* concat = OnlyNode(g, OpId::kConcat);
    if (concat == nullptr) return;
    const ValueId whole = concat->outputs[0];
    const auto rank = static_cast<int64_t>(ShapeOf(whole).size());
    int64_t axis = concat->attributes.Int("axis", 0);
    if (axis < 0) axis += rank;
    // A value that stands twice would need two places.
    const std::set<ValueId> distinct(concat->inputs.begin(), concat->inputs.end());
    if (distinct.size() != concat->inputs.size()) return;
    for (ValueId part : concat->inputs) {
      // All or none: with one part elsewhere the whole must be copied together anyway.
      if (!IsInner(part) || parent_[part] >= 0) return;
    }
    int64_t at = 0;
    for (ValueId part : concat->inputs) {
      parent_[part] = whole;
      parent_offset_[part] = at;
      axis_.emplace(part, axis);
      at += ShapeOf(part)[axis];
      in_view_[part] = true;
    }
    in_view_[whole] = true;
    result_.copy_free[g] = true;
  }

  ValueId RootOf(ValueId v) const {
    while (parent_[v] >= 0) v = parent_[v];
    return v;
  }

  // Whether nothing of the border lies where `v` was cut from a larger value: there are neighbours.
  bool IsFree(const Border& border, ValueId v) const {
    for (; parent_[v] >= 0; v = parent_[v]) {
      if (border[axis_.at(v)] != std::pair<int64_t, int64_t>(0, 0)) return false;
    }
    return true;
  }

  // What the values of one allocation ask for together. Who wants a border among neighbours, or in
  // the caller's memory, gets none: what is left of such a border would be of no use.
  std::vector<Demands> DemandsByRoot() const {
    std::vector<Demands> of_root(graph_.values.size());
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const ValueId root = RootOf(static_cast<ValueId>(v));
      if (is_output_[root]) continue;
      for (const auto& [value, border] : demands_[v]) {
        if (IsFree(border, static_cast<ValueId>(v))) Widen(of_root[root][value], border);
      }
    }
    return of_root;
  }

  // The part's own view of its whole.
  Storage CutOut(ValueId part, Storage storage) const {
    const int64_t axis = axis_.at(part);
    storage.offset += parent_offset_[part] * storage.strides[axis];
    if (storage.border.empty()) return storage;
    storage.border[axis] = {0, 0};
    const bool any =
        std::any_of(storage.border.begin(), storage.border.end(),
                    [](const auto& side) { return side.first > 0 || side.second > 0; });
    if (!any) storage.border.clear();
    return storage;
  }

  void PlaceValues() {
    const std::vector<Demands> of_root = DemandsByRoot();
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const ValueId root = RootOf(static_cast<ValueId>(v));
      const double value = BorderValue(of_root[root]);
      const auto found = of_root[root].find(value);
      const Border border = found == of_root[root].end() ? Border{} : found->second;
      Storage storage = DenseStorage(ShapeOf(root), border, value);
      for (auto part = static_cast<ValueId>(v); parent_[part] >= 0; part = parent_[part]) {
        storage = CutOut(part, std::move(storage));
      }
      result_.places[v] = {.allocation = root, .storage = std::move(storage)};
    }
  }

  bool IsContiguous(ValueId v) const {
    const Storage& storage = result_.places[v].storage;
    const Storage dense = DenseStorage(ShapeOf(v));
    for (size_t d = 0; d < ShapeOf(v).size(); ++d) {
      // The stride of a dimension of one element is never used.
      if (ShapeOf(v)[d] > 1 && storage.strides[d] != dense.strides[d]) return false;
    }
    return storage.border.empty();
  }

  // The other side of a reshape lies where `v` lies, contiguously.
  void LieAt(ValueId v, ValueId other) {
    Storage storage = DenseStorage(ShapeOf(other));
    storage.offset = result_.places[v].storage.offset;
    result_.places[other] = {.allocation = result_.places[v].allocation,
                             .storage = std::move(storage)};
  }

  // A reshape's result that is part of a concat, or an output: the input lies there instead of it.
  void TryReshapeIntoView(size_t g) {
    const GraphNode* reshape = OnlyNode(g, OpId::kReshape);
    if (reshape == nullptr) return;
    const ValueId from = reshape->inputs[0];
    const ValueId to = reshape->outputs[0];
    // A value with a border around it is not contiguous, and one in a view has its place already.
    if (!IsInner(from) || in_view_[from] || !demands_[from].empty()) return;
    // What a body of control flow makes has memory only while that body runs.
    if (!IsMadeWith(from, fusion_.groups[g])) return;
    if ((!in_view_[to] && !is_result_[to]) || !IsContiguous(to)) return;
    LieAt(to, from);
    in_view_[from] = true;
    result_.copy_free[g] = true;
  }

  void TryReshapeView(size_t g) {
    const GraphNode* reshape = OnlyNode(g, OpId::kReshape);
    if (reshape == nullptr) return;
    const ValueId from = reshape->inputs[0];
    const ValueId to = reshape->outputs[0];
    if ((!IsInner(from) && !IsInput(from)) || !IsContiguous(from)) return;
    if (!IsInner(to) || in_view_[to] || !demands_[to].empty()) return;
    LieAt(from, to);
    result_.copy_free[g] = true;
  }

  const Graph& graph_;
  const Fusion& fusion_;
  const StorageOptions& options_;
  std::vector<bool> is_output_;
  std::vector<bool> is_result_;         // Outputs that nobody reads or writes on the way.
  std::vector<Demands> demands_;        // By value.
  std::vector<ValueId> parent_;         // The concat's result that a value is part of, or -1.
  std::vector<int64_t> parent_offset_;  // Along that concat's axis.
  std::map<ValueId, int64_t> axis_;     // That axis.
  std::vector<bool> in_view_;
  StorageAssignment result_;
};

}  // namespace

StorageAssignment AssignStorage(const Graph& graph, const Fusion& fusion,
                                const StorageOptions& options) {
  return Assigner(graph, fusion, options).Run();
}

}  // namespace burnish
