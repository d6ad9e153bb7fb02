#include "compiler/codegen/llvm/tile_order.h"

#include <utility>

namespace burnish {
namespace {

// Whether `update` may run for all columns of a row, or all rows of a column, alike.
bool IsTileUpdate(const Program& program, const Node& update, VarId column) {
  if (update.kind != NodeKind::kStore || update.combiner == Combiner::kAssign ||
      program.buffers[update.buffer].scope != Scope::kRegister) {
    return false;
  }
  // The column is an index of its own, so that no element belongs to two columns.
  int alone = 0;
  for (const Expr& index : update.indices) {
    if (index->kind == ExprKind::kVar && index->id == column) {
      ++alone;
    } else if (MentionsVar(index, column)) {
      return false;
    }
  }
  bool reads_itself = false;
  VisitExpr(update.value, [&](const ExprNode& node) {
    reads_itself = reads_itself || (node.kind == ExprKind::kLoad && node.id == update.buffer);
  });
  return alone == 1 && !reads_itself;
}

bool ShouldExchange(const Program& program, const Node& outer, const Node& inner) {
  const bool rows_outside =
      outer.loop_kind == LoopKind::kUnrolled && inner.loop_kind == LoopKind::kVectorized;
  const bool columns_outside =
      outer.loop_kind == LoopKind::kVectorized && inner.loop_kind == LoopKind::kUnrolled;
  if (!rows_outside && !columns_outside) return false;
  const Node& rows = rows_outside ? outer : inner;
  const Node& columns = rows_outside ? inner : outer;
  const Expr& row_count = program.vars[rows.var].extent;
  const Expr& column_count = program.vars[columns.var].extent;
  if (!IsConstInt(row_count) || !IsConstInt(column_count) || columns.lanes < 1) return false;
  if (!IsTileUpdate(program, program.nodes[inner.children[0]], columns.var)) return false;
  const int64_t vectors = (column_count->int_value + columns.lanes - 1) / columns.lanes;
  // The shorter dimension goes inside: its operands (a vector or a broadcast each) are held in
  // registers over one step of the longer one, whose operand is loaded once and used at once. Fewer
  // registers than the other way round, and a full tile has none to spare.
  return rows_outside ? row_count->int_value < vectors : row_count->int_value > vectors;
}

}  // namespace

Program OrderTileLoops(Program program) {
  for (Node& outer : program.nodes) {
    if (outer.kind != NodeKind::kLoop || outer.children.size() != 1) continue;
    Node& inner = program.nodes[outer.children[0]];
    if (inner.kind != NodeKind::kLoop || inner.children.size() != 1) continue;
    if (!ShouldExchange(program, outer, inner)) continue;
    // The nodes stay, what they say is exchanged: children and parents need no change.
    std::swap(outer.var, inner.var);
    std::swap(outer.loop_kind, inner.loop_kind);
    std::swap(outer.lanes, inner.lanes);
  }
  return program;
}

}  // namespace burnish
