#include "compiler/graph/rewrite.h"

#include <cmath>
#include <set>

#include "base/status_macros.h"
#include "compiler/graph/eliminate_dead_pass.h"
#include "compiler/te/operator.h"

namespace burnish {

bool IsScalarConstant(const Graph& graph, ValueId id, double* value) {
  const GraphValue& constant = graph.value(id);
  if (constant.data == nullptr || ElementCount(constant.type.shape) != 1) return false;
  *value = FirstAsDouble(constant.type, *constant.data);
  return true;
}

bool IsNormalNumber(DType type, double value) {
  constexpr double kLeastNormalF16 = 0x1p-14;
  const double stored = RoundToStorage(type, value);
  if (type == DType::kF16) return std::isfinite(stored) && std::abs(stored) >= kLeastNormalF16;
  return type == DType::kF64 ? std::isnormal(stored) : std::isnormal(static_cast<float>(stored));
}

bool IsIdentityPermutation(const std::vector<int64_t>& perm) {
  for (size_t d = 0; d < perm.size(); ++d) {
    if (perm[d] != static_cast<int64_t>(d)) return false;
  }
  return true;
}

bool IsReshapePermutation(const std::vector<int64_t>& shape, const std::vector<int64_t>& perm) {
  int64_t last = -1;
  for (int64_t p : perm) {
    if (shape[p] == 1) continue;
    if (p < last) return false;
    last = p;
  }
  return true;
}

bool IsBroadcastElementwise(OpId op) {
  const OperatorDef& def = OperatorOf(op);
  return def.fusion == FusionKind::kElementwise && def.layout == LayoutRule::kAnyOrder;
}

void Replacements::Set(ValueId from, ValueId to) {
  if (static_cast<size_t>(from) >= to_.size()) to_.resize(from + 1, -1);
  to_[from] = to;
  ++count_;
}

ValueId Replacements::Resolve(ValueId id) const {
  while (static_cast<size_t>(id) < to_.size() && to_[id] >= 0) id = to_[id];
  return id;
}

void Replacements::Apply(Graph& graph) {
  for (GraphNode& node : graph.nodes) {
    for (ValueId& input : node.inputs) input = Resolve(input);
  }
  std::set<ValueId> named(graph.inputs.begin(), graph.inputs.end());
  for (ValueId output : graph.outputs) {
    if (Resolve(output) == output) named.insert(output);
  }
  for (ValueId& output : graph.outputs) {
    const ValueId to = Resolve(output);
    if (to == output) continue;
    const std::string name = graph.value(output).name;
    if (named.insert(to).second && !graph.IsConstant(to)) {
      graph.values[to].name = name;
      output = to;
      continue;
    }
    const ValueId copy = AddValue(graph, name, graph.value(to).type);
    graph.values[copy].producer = static_cast<GraphNodeId>(graph.nodes.size());
    graph.nodes.push_back({.name = name, .op = OpId::kIdentity, .inputs = {to}, .outputs = {copy}});
    output = copy;
  }
}

absl::Status Finish(Graph& graph) {
  RETURN_IF_ERROR(SortTopologically(graph));
  EliminateDead(graph);
  return absl::OkStatus();
}

}  // namespace burnish
