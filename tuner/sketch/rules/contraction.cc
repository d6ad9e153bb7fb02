#include "tuner/sketch/rules/contraction.h"

#include <algorithm>

namespace burnish {
namespace {

// The axis of the output's last dimension that is longer than one element; -1 where the output is
// indexed by more than its axes. A transposed output has its axes in another order than the block.
VarId FastestAxis(const Program& program, const Block& block) {
  VarId fastest = -1;
  for (const Expr& index : block.output_indices) {
    if (IsInt(index, 0)) continue;
    if (index->kind != ExprKind::kVar) return -1;
    if (Extent(program, index->id) > 1) fastest = index->id;
  }
  return fastest;
}

}  // namespace

std::optional<Contraction> RecognizeContraction(const Program& program, BlockId id) {
  const Block& block = program.blocks[id];
  if (block.reduction.empty() || block.combiner != Combiner::kSum || block.spatial.empty()) {
    return std::nullopt;
  }
  const Expr& step = block.step;
  if (step->kind != ExprKind::kMul || step->dtype != DType::kF32) return std::nullopt;
  const Expr &a = step->operands[0], &b = step->operands[1];
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
      address.CoefficientOf(c.reduction.back()) * Extent(program, c.reduction.back());
  while (c.fused_from > 0) {
    const VarId axis = c.reduction[c.fused_from - 1];
    const bool trivial = Extent(program, axis) == 1;
    if (!trivial && (address.HidesVar(axis) || address.CoefficientOf(axis) != expected)) break;
    if (!trivial) expected *= Extent(program, axis);
    --c.fused_from;
  }
  return c;
}

bool TileFitsRegisters(const IsaModel& isa, int64_t rows, int64_t vectors) {
  const int64_t side = isa.broadcast_operand ? vectors : std::min(rows, vectors);
  return rows * vectors + side + 1 <= isa.vector_register_count;
}

}  // namespace burnish
