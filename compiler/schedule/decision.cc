#include "compiler/schedule/decision.h"

#include <utility>

#include "compiler/ir/simplify.h"

namespace burnish {

int64_t ValueAt(const Expr& e, absl::Span<const int64_t> point) {
  // Most are a constant or one decision.
  if (e->kind == ExprKind::kIntImm) return e->int_value;
  if (e->kind == ExprKind::kVar) return point[e->id];
  return EvalInt(e, [&](VarId decision) { return point[decision]; });
}

Trace StepsAt(absl::Span<const OpenStep> steps, absl::Span<const int64_t> point) {
  Trace trace;
  trace.reserve(steps.size());
  for (const OpenStep& open : steps) {
    if (open.when != nullptr && ValueAt(open.when, point) == 0) continue;
    trace.push_back(open.step);
    for (Argument& argument : trace.back().arguments) {
      if (const Expr* e = std::get_if<Expr>(&argument.value)) {
        argument.value = ValueAt(*e, point);
      }
    }
  }
  return trace;
}

Expr Or(Expr a, Expr b) { return Binary(ExprKind::kOr, std::move(a), std::move(b)); }

Expr CeilDiv(Expr a, Expr b) { return FloorDiv(std::move(a) + (b - Int(1)), b); }

}  // namespace burnish
