#include "compiler/graph/known_rests.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_sizes.h"
#include "compiler/ir/known_rest.h"

namespace burnish {
namespace {

// While the walk goes: by terms that have quotients.
struct Rest {
  int axis = 0;
  double value = 0;
  SizeTerm holds;
};

bool IsKept(double value) { return value == 0 || std::isinf(value); }

class Walk {
 public:
  explicit Walk(const Graph& graph) : graph_(graph), sizes_(graph), rests_(graph.values.size()) {}

  std::vector<std::vector<ValueRest>> Run() {
    for (const GraphNode& node : graph_.nodes) AddNode(node);
    std::vector<std::vector<ValueRest>> result(rests_.size());
    for (size_t v = 0; v < rests_.size(); ++v) {
      const std::vector<int64_t>& shape = graph_.value(static_cast<ValueId>(v)).type.shape;
      for (const Rest& rest : rests_[v]) {
        const AxisPart holds =
            sizes_.OfSizes({.holds = rest.holds, .bound = shape[rest.axis], .divisor = 1});
        if (holds.IsFull()) continue;
        result[v].push_back({.axis = rest.axis, .value = rest.value, .holds = holds});
      }
    }
    return result;
  }

 private:
  void AddNode(const GraphNode& node) {
    if (node.op == OpId::kLess && node.outputs.size() == 1) {
      const std::optional<SizeMask> mask = sizes_.MaskOf(node.outputs[0]);
      if (!mask.has_value()) return;
      rests_[node.outputs[0]] = {
          {.axis = static_cast<int>(mask->axis), .value = 0, .holds = mask->holds}};
      return;
    }
    const bool is_known = std::any_of(node.inputs.begin(), node.inputs.end(),
                                      [&](ValueId input) { return !rests_[input].empty(); });
    if (!is_known || OperatorOf(node.op).fusion == FusionKind::kHost || !node.bodies.empty()) {
      return;
    }
    if (node.op == OpId::kReshape) return AddReshape(node);
    of_buffers_.clear();
    numbers_.clear();
    const Program program = DefineNode(graph_, node);
    size_t next = 0;
    for (size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer& buffer = program.buffers[b];
      if (buffer.role == BufferRole::kInput || buffer.role == BufferRole::kConstant) {
        AddInput(static_cast<BufferId>(b), node.inputs[std::stoi(buffer.name.substr(2))]);
      }
    }
    for (const Block& block : program.blocks) AddBlock(program, block);
    for (size_t b = 0; b < program.buffers.size(); ++b) {
      if (program.buffers[b].role != BufferRole::kOutput) continue;
      for (const Rest& rest : of_buffers_[static_cast<BufferId>(b)]) {
        if (IsKept(rest.value)) rests_[node.outputs[next]].push_back(rest);
      }
      ++next;
    }
  }

  void AddInput(BufferId buffer, ValueId value) {
    of_buffers_[buffer] = rests_[value];
    if (const auto number = NeutralNumber(graph_.value(value))) numbers_[buffer] = *number;
  }

  void AddReshape(const GraphNode& node) {
    const std::vector<int64_t>& from = graph_.value(node.inputs[0]).type.shape;
    const std::vector<int64_t>& to = graph_.value(node.outputs[0]).type.shape;
    for (Rest rest : rests_[node.inputs[0]]) {
      const std::optional<int> axis = SameAxis(from, rest.axis, to);
      if (!axis.has_value()) continue;
      rest.axis = *axis;
      rests_[node.outputs[0]].push_back(rest);
    }
  }

  // What holds of an element of the block's result wherever the variable of one of its axes is
  // behind what holds of something that the block loads there.
  void AddBlock(const Program& program, const Block& block) {
    if (!block.reduction.empty() || block.init != nullptr) return;
    for (size_t d = 0; d < block.output_indices.size(); ++d) {
      const Expr& index = block.output_indices[d];
      if (index->kind != ExprKind::kVar) continue;
      for (const SizeTerm& holds : ExtentsAlong(block, index->id)) {
        const std::optional<double> value = ValueBehind(block, index->id, holds);
        if (!value.has_value()) continue;
        of_buffers_[block.output].push_back(
            {.axis = static_cast<int>(d), .value = *value, .holds = holds});
        break;
      }
    }
  }

  std::vector<SizeTerm> ExtentsAlong(const Block& block, VarId var) const {
    std::vector<SizeTerm> extents;
    VisitExpr(block.step, [&](const ExprNode& node) {
      if (node.kind != ExprKind::kLoad) return;
      const auto rests = of_buffers_.find(node.id);
      if (rests == of_buffers_.end()) return;
      for (const Rest& rest : rests->second) {
        const Expr& index = node.operands[rest.axis];
        const bool is_along = index->kind == ExprKind::kVar && index->id == var;
        const bool is_new = std::find(extents.begin(), extents.end(), rest.holds) == extents.end();
        if (is_along && is_new) extents.push_back(rest.holds);
      }
    });
    return extents;
  }

  std::optional<double> ValueBehind(const Block& block, VarId var, const SizeTerm& holds) const {
    const auto of_load = [&](const ExprNode& load) -> std::optional<double> {
      if (const auto number = numbers_.find(load.id); number != numbers_.end()) {
        return number->second;
      }
      const auto rests = of_buffers_.find(load.id);
      if (rests == of_buffers_.end()) return std::nullopt;
      for (const Rest& rest : rests->second) {
        const Expr& index = load.operands[rest.axis];
        const bool is_along = index->kind == ExprKind::kVar && index->id == var;
        if (is_along && IsAtMost(rest.holds, holds)) return rest.value;
      }
      return std::nullopt;
    };
    const std::optional<double> step = KnownValue(block.step, of_load);
    // What is done to it at the end is not looked at: only reductions have such.
    return block.finish == nullptr ? step : std::nullopt;
  }

  bool IsAtMost(const SizeTerm& a, const SizeTerm& b) const {
    const std::optional<SizeRange> range = RangeOfDifference(b, a, sizes_.ranges());
    return range.has_value() && range->least >= 0;
  }

  const Graph& graph_;
  GraphSizes sizes_;
  std::vector<std::vector<Rest>> rests_;
  // Of the node that is looked at.
  std::map<BufferId, std::vector<Rest>> of_buffers_;
  std::map<BufferId, double> numbers_;
};

}  // namespace

std::optional<int> SameAxis(const std::vector<int64_t>& from, int axis,
                            const std::vector<int64_t>& to) {
  int64_t behind = 1;
  for (size_t d = axis + 1; d < from.size(); ++d) behind *= from[d];
  int64_t inner = 1;
  for (size_t d = to.size(); d-- > 0; inner *= to[d]) {
    if (inner == behind && to[d] == from[axis]) return static_cast<int>(d);
  }
  return std::nullopt;
}

std::optional<double> NeutralNumber(const GraphValue& value) {
  if (value.data == nullptr || value.data->origin() != nullptr || !IsFloat(value.type.dtype) ||
      ElementCount(value.type.shape) != 1) {
    return std::nullopt;
  }
  const double number = ToDoubles(value.type, *value.data)[0];
  return IsKept(number) ? std::optional(number) : std::nullopt;
}

std::vector<std::vector<ValueRest>> KnownRests(const Graph& graph) {
  if (graph.sizes.empty()) return std::vector<std::vector<ValueRest>>(graph.values.size());
  // Passes append nodes.
  Graph sorted = graph;
  if (!SortTopologically(sorted).ok()) {
    return std::vector<std::vector<ValueRest>>(graph.values.size());
  }
  return Walk(sorted).Run();
}

}  // namespace burnish
