#include "compiler/graph/demanded_axes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "compiler/graph/control.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_sizes.h"
#include "compiler/graph/index_end.h"

namespace burnish {
namespace {

AxisParts FullAxis(int64_t bound) { return {{.holds = SizeTerm(bound), .bound = bound}}; }

DemandedParts Full(const std::vector<int64_t>& shape) {
  DemandedParts parts;
  for (const int64_t bound : shape) parts.push_back(FullAxis(bound));
  return parts;
}

// nullopt: nothing is read.
using Demand = std::optional<DemandedParts>;
using Ranges = std::map<ValueId, SizeRange>;

// Of an axis what two readers want: the greater, if one is in all runs, else all of it.
AxisParts Both(const AxisParts& a, const AxisParts& b, int64_t bound, const Ranges& ranges) {
  if (a == b) return a;
  if (a.size() == 1 && b.size() == 1) {
    const std::optional<SizeRange> range = RangeOfDifference(a[0].holds, b[0].holds, ranges);
    if (range.has_value() && range->least >= 0) return a;
    if (range.has_value() && range->greatest <= 0) return b;
  }
  return FullAxis(bound);
}

void Add(Demand& demand, DemandedParts parts, const std::vector<int64_t>& shape,
         const Ranges& ranges) {
  if (!demand.has_value()) {
    demand = std::move(parts);
    return;
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    (*demand)[d] = Both((*demand)[d], parts[d], shape[d], ranges);
  }
}

// Walks an operator's blocks backwards.
class NodeWalk {
 public:
  NodeWalk(const Program& program, const std::vector<Demand>& outputs, SizeQuotients& quotients)
      : program_(program), quotients_(quotients), demand_(program.buffers.size()) {
    size_t next = 0;
    for (size_t b = 0; b < program.buffers.size(); ++b) {
      if (program.buffers[b].role == BufferRole::kOutput) demand_[b] = outputs[next++];
    }
  }

  // By buffer.
  const std::vector<Demand>& Run() {
    for (size_t b = program_.blocks.size(); b-- > 0;) Walk(program_.blocks[b]);
    return demand_;
  }

 private:
  void Walk(const Block& block) {
    if (!demand_[block.output].has_value()) return;
    of_vars_.clear();
    const std::vector<int64_t>& shape = program_.buffers[block.output].shape;
    for (size_t d = 0; d < block.output_indices.size(); ++d) {
      const Expr& index = block.output_indices[d];
      const bool is_axis =
          index->kind == ExprKind::kVar && IsInt(program_.vars[index->id].extent, shape[d]);
      if (is_axis) of_vars_[index->id] = (*demand_[block.output])[d];
    }
    for (const Expr& e : {block.init, block.step, block.finish}) {
      if (e != nullptr) Visit(e, /*must_hold=*/false);
    }
  }

  // `must_hold`: another number would make the kernel fail, or read elsewhere.
  void Visit(const Expr& e, bool must_hold) {
    if (e->kind == ExprKind::kLoad) Load(*e, must_hold);
    const bool divides =
        !IsFloat(e->dtype) &&
        (e->kind == ExprKind::kDiv || e->kind == ExprKind::kFloorDiv || e->kind == ExprKind::kMod);
    const bool indexes = e->kind == ExprKind::kLoad || e->kind == ExprKind::kBoundsCheck ||
                         e->kind == ExprKind::kTable;
    for (size_t i = 0; i < e->operands.size(); ++i) {
      Visit(e->operands[i], must_hold || indexes || (divides && i == 1));
    }
  }

  void Load(const ExprNode& load, bool must_hold) {
    const std::vector<int64_t>& shape = program_.buffers[load.id].shape;
    DemandedParts parts = Full(shape);
    for (size_t d = 0; d < load.operands.size() && !must_hold; ++d) {
      const Expr& index = load.operands[d];
      if (index->kind != ExprKind::kVar || !IsInt(program_.vars[index->id].extent, shape[d])) {
        SetEnd(index, parts[d][0]);
        continue;
      }
      const auto known = of_vars_.find(index->id);
      if (known != of_vars_.end()) parts[d] = known->second;
    }
    Add(demand_[load.id], std::move(parts), shape, quotients_.ranges());
  }

  // Of a window: no further than its last element, where the result's last element is.
  void SetEnd(const Expr& index, AxisPart& part) {
    const std::optional<SizeTerm> last = Last(*index);
    if (!last.has_value() || last->IsNumber()) return;
    const std::optional<SizeTerm> end = last->Plus(SizeTerm(1));
    const std::optional<SizeRange> range =
        end.has_value() ? RangeOf(*end, quotients_.ranges()) : std::nullopt;
    if (range.has_value() && range->least < part.bound) part.holds = *end;
  }

  // The greatest that an index is; nullopt: not known.
  std::optional<SizeTerm> Last(const ExprNode& e) {
    if (e.kind == ExprKind::kIntImm) return SizeTerm(e.int_value);
    if (e.kind == ExprKind::kVar) {
      const auto known = of_vars_.find(e.id);
      if (known == of_vars_.end()) return SizeTerm(MaxExtent(program_, e.id) - 1);
      if (known->second.size() != 1) return std::nullopt;
      return known->second[0].holds.Minus(SizeTerm(1));
    }
    if (e.operands.size() != 2) return std::nullopt;
    const std::optional<SizeTerm> a = Last(*e.operands[0]);
    if (!a.has_value()) return std::nullopt;
    const ExprNode& other = *e.operands[1];
    if (e.kind == ExprKind::kAdd) {
      const std::optional<SizeTerm> b = Last(other);
      return b.has_value() ? a->Plus(*b) : std::nullopt;
    }
    if (other.kind != ExprKind::kIntImm) return std::nullopt;
    const SizeTerm number(other.int_value);
    if (e.kind == ExprKind::kSub) return a->Minus(number);
    if (e.kind == ExprKind::kMul && other.int_value >= 0) return a->Times(number);
    if (e.kind == ExprKind::kFloorDiv) return quotients_.Of(*a, other.int_value);
    return std::nullopt;
  }

  const Program& program_;
  SizeQuotients& quotients_;
  std::vector<Demand> demand_;
  std::map<VarId, AxisParts> of_vars_;
};

// Passes over a graph whose loops hand on to themselves: what is read of a state grows once where
// the next iteration reads it by other sizes than the last. A choice: then all of everything is.
constexpr int kPassesMax = 8;

class Walk {
 public:
  Walk(const Graph& graph, const ControlReads* control)
      : graph_(graph), control_(control), sizes_(graph), demand_(graph.values.size()) {}

  std::vector<DemandedParts> Run() {
    AddOutputs();
    std::vector<DemandedParts> result(graph_.values.size());
    if (!AddNodes()) return result;
    for (size_t v = 0; v < result.size(); ++v) {
      if (!demand_[v].has_value()) continue;
      const DemandedParts full = Full(ShapeOf(static_cast<ValueId>(v)));
      DemandedParts parts = *demand_[v];
      for (AxisParts& axis : parts) {
        for (AxisPart& part : axis) part = sizes_.OfSizes(part);
      }
      if (parts != full) result[v] = std::move(parts);
    }
    return result;
  }

 private:
  const std::vector<int64_t>& ShapeOf(ValueId id) const { return graph_.value(id).type.shape; }

  void AddTo(ValueId value, DemandedParts parts) {
    Add(demand_[value], std::move(parts), ShapeOf(value), sizes_.ranges());
  }

  void AddOutputs() {
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ValueId output = graph_.outputs[i];
      DemandedParts parts = Full(ShapeOf(output));
      for (const GraphBoundedAxis& axis : graph_.bounded_axes) {
        const std::optional<SizeTerm> known = sizes_.TermOf(graph_.outputs[axis.extent]);
        if (axis.output != static_cast<int>(i) || !known.has_value()) continue;
        parts[axis.axis][0].holds = *known;
      }
      AddTo(output, std::move(parts));
    }
  }

  // False: no end.
  bool AddNodes() {
    for (int pass = 0; pass < kPassesMax; ++pass) {
      const std::vector<Demand> before = demand_;
      for (size_t n = graph_.nodes.size(); n-- > 0;) AddNode(graph_.nodes[n]);
      if (control_ == nullptr) return true;
      for (const ValueId value : control_->whole) AddTo(value, Full(ShapeOf(value)));
      for (const HandedOn& each : control_->handed_on) AddHandedOn(each);
      if (demand_ == before) return true;
    }
    return false;
  }

  void AddHandedOn(const HandedOn& each) {
    if (!demand_[each.to].has_value()) return;
    DemandedParts parts = *demand_[each.to];
    if (each.as == HandedOn::As::kRows) parts.erase(parts.begin());
    if (each.as == HandedOn::As::kRow) {
      AxisParts rows = FullAxis(ShapeOf(each.from)[0]);
      if (const auto known = sizes_.TermOf(each.count)) rows[0].holds = *known;
      parts.insert(parts.begin(), std::move(rows));
    }
    AddTo(each.from, std::move(parts));
  }

  void AddInputs(const GraphNode& node) {
    for (const ValueId input : node.inputs) AddTo(input, Full(ShapeOf(input)));
  }

  void AddNode(const GraphNode& node) {
    if (control_ != nullptr && IsControl(node)) return;
    std::vector<Demand> outputs;
    bool is_read = false;
    for (const ValueId output : node.outputs) {
      outputs.push_back(demand_[output]);
      is_read = is_read || outputs.back().has_value();
    }
    if (OperatorOf(node.op).fusion == FusionKind::kHost || !node.bodies.empty()) {
      return AddInputs(node);
    }
    if (!is_read) return;
    if (node.op == OpId::kReshape) {
      const std::vector<int64_t>& shape = ShapeOf(node.inputs[0]);
      DemandedParts parts = RegroupDemand(*outputs[0], shape);
      if (parts.empty()) parts = Full(shape);
      for (AxisParts& axis : parts) {
        for (AxisPart& part : axis) RoundUp(part);
      }
      return AddTo(node.inputs[0], std::move(parts));
    }
    const Program program = DefineNode(graph_, node);
    const std::vector<Demand> of_buffers = NodeWalk(program, outputs, sizes_.quotients()).Run();
    for (size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer& buffer = program.buffers[b];
      const bool is_input =
          buffer.role == BufferRole::kInput || buffer.role == BufferRole::kConstant;
      if (!is_input || !of_buffers[b].has_value()) continue;
      const size_t number = std::stoi(buffer.name.substr(2));  // "in3": DefineNode.
      const ValueId input = node.inputs[number];
      DemandedParts parts = *of_buffers[b];
      if (node.op == OpId::kWhere && number == 1) AddMask(node, parts);
      if (node.op == OpId::kGather && number == 0) Pick(node, parts);
      AddTo(input, std::move(parts));
    }
  }

  // To whole elements.
  void RoundUp(AxisPart& part) {
    if (part.divisor == 1) return;
    const auto sum = part.holds.Plus(SizeTerm(part.divisor - 1));
    const auto quotient =
        sum.has_value() ? sizes_.quotients().Of(*sum, part.divisor) : std::nullopt;
    part = {.holds = quotient.value_or(SizeTerm(part.bound)), .bound = part.bound};
  }

  // Of elements by numbers: as of a sequence's first one, or of the parts of a join.
  void Pick(const GraphNode& node, DemandedParts& parts) const {
    const auto rank = static_cast<int64_t>(parts.size());
    int64_t axis = node.attributes.Int("axis", 0);
    if (axis < 0) axis += rank;
    if (parts[axis].size() != 1) return;
    const std::optional<SizeTerm> end =
        EndOfIndices(graph_, sizes_.known(), node.inputs[1], parts[axis][0].bound);
    if (end.has_value()) parts[axis][0].holds = *end;
  }

  // A mask chooses its first operand where the position is below a size: of that, nobody reads the
  // rest.
  void AddMask(const GraphNode& node, DemandedParts& parts) {
    const std::optional<SizeMask> mask = sizes_.MaskOf(node.inputs[0]);
    if (!mask.has_value()) return;
    const std::vector<int64_t>& shape = ShapeOf(node.inputs[1]);
    // Aligned at the last dimension, as broadcasting has it.
    const size_t rank = ShapeOf(node.inputs[0]).size();
    if (rank > shape.size()) return;
    const size_t axis = shape.size() - rank + mask->axis;
    if (shape[axis] != ShapeOf(node.inputs[0])[mask->axis] || parts[axis].size() != 1) return;
    const std::optional<SizeRange> range =
        RangeOfDifference(mask->holds, parts[axis][0].holds, sizes_.ranges());
    if (!range.has_value() || range->least < 0) parts[axis][0].holds = mask->holds;
  }

  const Graph& graph_;
  const ControlReads* const control_;
  GraphSizes sizes_;
  std::vector<Demand> demand_;
};

}  // namespace

DemandedParts RegroupDemand(const DemandedParts& parts, const std::vector<int64_t>& shape) {
  std::vector<std::optional<SizeTerm>> to;
  for (const int64_t bound : shape) to.emplace_back(SizeTerm(bound));
  std::optional<std::vector<AxisParts>> regrouped = Regrouped(parts, to, /*by_bound=*/true);
  // What is in the way of the others is read as a whole: axes that only a run cuts, from the last.
  DemandedParts less = parts;
  for (size_t d = less.size(); d-- > 0 && !regrouped.has_value();) {
    int64_t bound = 1;
    for (const AxisPart& part : less[d]) bound *= part.bound;
    less[d] = FullAxis(bound);
    regrouped = Regrouped(less, to, /*by_bound=*/true);
  }
  if (!regrouped.has_value()) return {};
  for (AxisParts& axis : *regrouped) {
    if (axis.empty()) axis = FullAxis(1);
  }
  return *std::move(regrouped);
}

std::vector<DemandedParts> DemandedAxes(const Graph& graph, const ControlReads* control) {
  if (graph.sizes.empty()) return std::vector<DemandedParts>(graph.values.size());
  // Passes append nodes.
  Graph sorted = graph;
  if (!SortTopologically(sorted).ok()) return std::vector<DemandedParts>(graph.values.size());
  return Walk(sorted, control).Run();
}

}  // namespace burnish
