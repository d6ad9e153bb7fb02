// Padding of an input with zeros becomes a border of the input's storage, which its producer
// writes; padding with another value is computed where it is read.
#include "absl/strings/str_cat.h"
#include "compiler/schedule/trace_text.h"
#include "tuner/sketch/rule.h"

namespace burnish {

std::vector<Sketch> BorderRule(const RuleContext& context, BlockId id) {
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
  // Does border@1 take it? Asking the primitive keeps its conditions in one place.
  if (zero && source.role == BufferRole::kInput) {
    const std::string step = absl::StrCat("border@1 ", block.name, "->", source.name);
    const absl::StatusOr<Trace> trace = ParseTrace(step);
    if (trace.ok() && ApplyTrace(*trace, program).ok()) {
      return {{.name = "border", .steps = {{.text = step}}}};
    }
  }
  const std::string step = absl::StrCat("inline@1 ", block.name);
  const absl::StatusOr<Trace> trace = ParseTrace(step);
  if (trace.ok() && ApplyTrace(*trace, program).ok()) {
    return {{.name = "inline", .steps = {{.text = step}}}};
  }
  return {};
}

}  // namespace burnish
