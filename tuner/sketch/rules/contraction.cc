#include "tuner/sketch/rules/contraction.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/number_type.h"
#include "compiler/target/instruction.h"

namespace burnish {
namespace {

// Instructions of half the widest vector may be as fast, two at a time (Zen 4); of a fourth they
// are not.
constexpr int64_t kNarrow = 4;

// The axis of the output's last dimension that is longer than one element; -1 where the output is
// indexed by more than its axes and sums of them. A transposed output has its axes in another order
// than the block.
VarId FastestAxis(const Program& program, const Block& block) {
  VarId fastest = -1;
  for (const Expr& index : block.output_indices) {
    const LinearForm form = ToLinear(index, AxisRanges(program));
    for (const auto& [atom, coefficient] : form.terms) {
      if (atom->kind != ExprKind::kVar) return -1;
    }
    if (form.terms.empty()) continue;
    const auto walks = std::find_if(form.terms.begin(), form.terms.end(),
                                    [](const auto& term) { return term.second == 1; });
    if (walks == form.terms.end()) return -1;
    fastest = walks->first->id;
  }
  return fastest;
}

// The divisor of a quotient of `axis` in the load's indices, where it divides the axis evenly; else
// 0.
int64_t QuotientOf(const Program& program, const ExprNode& load, VarId axis) {
  int64_t divisor = 0;
  for (const Expr& index : load.operands) {
    VisitExpr(index, [&](const ExprNode& node) {
      if (node.kind != ExprKind::kFloorDiv || node.operands[0]->kind != ExprKind::kVar ||
          node.operands[0]->id != axis || !IsConstInt(node.operands[1])) {
        return;
      }
      const int64_t by = node.operands[1]->int_value;
      if (by > 1 && by < Extent(program, axis) && Extent(program, axis) % by == 0) divisor = by;
    });
  }
  return divisor;
}

const Expr& Unconverted(const Expr& e) { return e->kind == ExprKind::kCast ? e->operands[0] : e; }

// Behind a conversion, or of weights that are numbers times a scale: the numbers. Their scale is a
// constant that is read beside them.
const Expr& LoadOf(const Program& program, const Expr& e) {
  const Expr& side = Unconverted(e);
  if (side->kind != ExprKind::kMul) return side;
  for (int i = 0; i < 2; ++i) {
    const Expr &numbers = side->operands[i], &scale = side->operands[1 - i];
    const bool is_scale =
        scale->kind == ExprKind::kLoad && program.buffers[scale->id].role == BufferRole::kConstant;
    if (is_scale && numbers->kind == ExprKind::kCast && !IsFloat(Unconverted(numbers)->dtype)) {
      return Unconverted(numbers);
    }
  }
  return side;
}

// Whether a side is numbers times a scale.
bool IsScaled(const Program& program, const Expr& step) {
  return std::any_of(step->operands.begin(), step->operands.end(), [&](const Expr& e) {
    return Unconverted(e)->kind == ExprKind::kMul && LoadOf(program, e)->kind == ExprKind::kLoad;
  });
}

}  // namespace

std::optional<Contraction> RecognizeContraction(const Program& program, BlockId id) {
  const Block& block = program.blocks[id];
  if (block.reduction.empty() || block.combiner != Combiner::kSum || block.spatial.empty()) {
    return std::nullopt;
  }
  const Expr& step = block.step;
  // Truth values have no products: the library refuses them.
  if (step->kind != ExprKind::kMul || step->dtype == DType::kBool) return std::nullopt;
  const Expr &a = LoadOf(program, step->operands[0]), &b = LoadOf(program, step->operands[1]);
  if (a->kind != ExprKind::kLoad || b->kind != ExprKind::kLoad) return std::nullopt;
  Contraction c{.block = id, .reduction = block.reduction};
  c.vector_axis = FastestAxis(program, block);
  if (c.vector_axis < 0) return std::nullopt;
  const bool in_a = DependsOn(program, *a, c.vector_axis);
  const bool in_b = DependsOn(program, *b, c.vector_axis);
  if (in_a == in_b) return std::nullopt;
  c.vector_load = in_a ? a : b;
  c.broadcast_load = in_a ? b : a;
  for (VarId axis : block.spatial) {
    if (axis == c.vector_axis) continue;
    (DependsOn(program, *c.vector_load, axis) ? c.outer : c.rows).push_back(axis);
  }
  // Trailing reduction axes that walk the broadcast operand without a gap are one segment.
  const LinearForm address = AddressOf(program, *c.broadcast_load);
  c.fused_from = static_cast<int>(c.reduction.size()) - 1;
  int64_t expected =
      address.StepOf(c.reduction.back()).value_or(0) * Extent(program, c.reduction.back());
  // A scale is the same along a block of the reduction: the loop over blocks stays outside.
  while (c.fused_from > 0 && !IsScaled(program, step)) {
    const VarId axis = c.reduction[c.fused_from - 1];
    const bool trivial = Extent(program, axis) == 1;
    if (!trivial && address.StepOf(axis) != expected) break;
    if (!trivial) expected *= Extent(program, axis);
    --c.fused_from;
  }
  return c;
}

std::optional<GroupedProgram> SplitGroups(const Program& program, BlockId id) {
  const Block& block = program.blocks[id];
  VarId axis = -1;
  int64_t size = 0;
  for (const Expr& load : DistinctLoads(block)) {
    for (VarId spatial : block.spatial) {
      if (const int64_t by = QuotientOf(program, *load, spatial); by > 0) axis = spatial, size = by;
    }
  }
  if (axis < 0) return std::nullopt;
  const std::array<std::string, 2> names = {absl::StrCat(block.name, "_og"),
                                            absl::StrCat(block.name, "_oi")};
  Schedule schedule(program);
  schedule.SplitSize(schedule.AxisLoop(axis), names, Int(size));
  absl::StatusOr<Program> split = ApplyTrace(StepsAt(schedule.steps(), {}), program);
  if (!split.ok()) return std::nullopt;
  GroupedProgram grouped{*std::move(split), std::move(schedule)};
  Program& view = grouped.program;
  Block& seen = view.blocks[id];
  const auto expand = [&](Expr& e) {
    if (e != nullptr) e = Simplify(ExpandDefs(view, e), AxisRanges(view));
  };
  for (Expr* e : {&seen.init, &seen.step, &seen.finish}) expand(*e);
  for (Expr& index : seen.output_indices) expand(index);
  const auto at = std::find(seen.spatial.begin(), seen.spatial.end(), axis);
  *at = FindVar(view, names[1]);
  seen.spatial.insert(at, FindVar(view, names[0]));
  return grouped;
}

std::vector<TileUnit> TileUnitsOf(const DeviceModel& device, const Program& program,
                                  const Contraction& c) {
  const Block& block = program.blocks[c.block];
  const int64_t columns = Extent(program, c.vector_axis);
  const int64_t depth = SegmentDepth(program, c);
  std::vector<TileUnit> units, shifted;
  for (const ComputeUnit& unit : device.units) {
    // One row of sums in vector registers: tiles of more rows are another loop structure.
    const bool row = unit.m == 1 && unit.sums_in == Residence::kVectorRegister;
    const bool takes = IsOf(unit.left, c.broadcast_load->dtype) &&
                       IsOf(unit.right, c.vector_load->dtype) && IsOf(unit.sum, block.step->dtype);
    if (!row || !takes || FindNest(unit.name) == nullptr) continue;
    // An instruction has no narrower form for a rest.
    if (columns < unit.n || depth % unit.k != 0) continue;
    const bool rest = columns % unit.n != 0;
    (rest ? shifted : units)
        .push_back({.lanes = unit.n, .depth = unit.k, .intrinsic = unit.name, .shifted = rest});
  }
  if (units.size() > 1) units.resize(1);
  const bool narrow =
      units.empty() || (!shifted.empty() && shifted[0].lanes >= kNarrow * units[0].lanes);
  if (!shifted.empty() && narrow) units.push_back(shifted[0]);
  if (GridsOfThreads(device)) {
    units.push_back({.lanes = device.FindAxis(Axis::kLane)->extent});
    return units;
  }
  const int64_t lanes = LanesOf(device.core, program, block);
  units.push_back(
      {.lanes = std::max<int64_t>(2, std::min<int64_t>(lanes, FloorPowerOfTwo(columns)))});
  return units;
}

bool BroadcastsFromMemory(const IsaModel& isa, const Program& program, const Contraction& c) {
  const DType dtype = c.broadcast_load->dtype;
  return isa.broadcast_operand && SizeBytes(dtype) >= 4 &&
         dtype == program.blocks[c.block].step->dtype;
}

int64_t SegmentDepth(const Program& program, const Contraction& c) {
  return ProductOfExtents(program, absl::MakeConstSpan(c.reduction).subspan(c.fused_from));
}

int64_t OperandBytes(const Program& program, const Expr& load) {
  const Buffer& buffer = program.buffers[load->id];
  return ElementCount(buffer.shape) * SizeBytes(buffer.dtype);
}

Decision PrefetchDecision(const SketchOptions& options) {
  Decision prefetch{.name = "prefetch", .kind = DecisionKind::kChoice, .values = {0}};
  if (options.prefetch) prefetch.values.push_back(1);
  return prefetch;
}

Decision ChunksDecision() { return {.name = "chunks", .values = {2, 4, 8, 16, 32}}; }

Expr IsWorthAChunk(const IsaModel& isa, const Program& program, const Contraction& c,
                   const Expr& parts) {
  const Expr bytes = FloorDiv(Int(OperandBytes(program, c.broadcast_load)), parts);
  return And(Le(bytes, Int(isa.l2.size_bytes / 2)), Lt(Int(isa.l2.size_bytes / 16), bytes));
}

Expr TileFitsRegisters(const IsaModel& isa, bool broadcasts_from_memory, const Expr& rows,
                       const Expr& vectors) {
  const Expr side = broadcasts_from_memory ? vectors : Min(rows, vectors);
  return Le(rows * vectors + side + 1, Int(isa.vector_register_count));
}

}  // namespace burnish
