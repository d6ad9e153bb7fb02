// Padding of an input with zeros, or with the zero point of quantized numbers that products read,
// becomes a border of the input's storage, which its producer writes; padding with another value is
// computed where it is read.
#include <algorithm>
#include <utility>

#include "tuner/sketch/rule.h"

namespace burnish {

namespace {

// Whether integers are padded for sums of products alone. There a condition for each element costs
// the instructions for dot products.
bool PadsFactors(const Program& program, BufferId padded) {
  if (IsFloat(program.buffers[padded].dtype)) return false;
  return std::all_of(program.blocks.begin(), program.blocks.end(), [&](const Block& block) {
    bool reads = false;
    VisitExpr(block.step, [&](const ExprNode& node) {
      reads = reads || (node.kind == ExprKind::kLoad && node.id == padded);
    });
    return !reads || (block.combiner == Combiner::kSum && block.step->kind == ExprKind::kMul);
  });
}

}  // namespace

std::vector<Draft> BorderRule(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  const Expr& e = block.step;
  if (!block.reduction.empty() || program.buffers[block.output].role != BufferRole::kTemp ||
      e->kind != ExprKind::kSelect || e->operands[1]->kind != ExprKind::kLoad) {
    return {};
  }
  const Buffer& source = program.buffers[e->operands[1]->id];
  const Expr& value = e->operands[2];
  const bool zero =
      (value->kind == ExprKind::kFloatImm && value->float_value == 0) || IsInt(value, 0);
  const bool is_constant = value->kind == ExprKind::kFloatImm || IsConstInt(value);
  if (!is_constant) return {};
  // Does the primitive take it? Asking keeps its conditions in one place.
  Schedule s(program);
  const bool stored = zero || PadsFactors(program, block.output);
  if (stored && source.role == BufferRole::kInput && s.Border(block.name, source.name).ok()) {
    return {Draft{"border", std::move(s)}};
  }
  if (s.Inline(block.name).ok()) return {Draft{"inline", std::move(s)}};
  return {};
}

}  // namespace burnish
