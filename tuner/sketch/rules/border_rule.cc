// Padding of an input with zeros becomes a border of the input's storage, which its producer
// writes; padding with another value is computed where it is read.
#include <utility>

#include "tuner/sketch/rule.h"

namespace burnish {

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
  if (zero && source.role == BufferRole::kInput && s.Border(block.name, source.name).ok()) {
    return {Draft{"border", std::move(s)}};
  }
  if (s.Inline(block.name).ok()) return {Draft{"inline", std::move(s)}};
  return {};
}

}  // namespace burnish
