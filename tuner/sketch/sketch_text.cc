#include "tuner/sketch/sketch_text.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/ir/expr_text.h"

namespace burnish {
namespace {

std::string ExprOf(const Sketch& sketch, const Expr& e) {
  return ExprText(e, {.var = [&](VarId decision) {
                    return absl::StrCat("$", sketch.decisions[decision].name);
                  }});
}

std::string StepOf(const Sketch& sketch, Step step) {
  for (Argument& argument : step.arguments) {
    const Expr* e = std::get_if<Expr>(&argument.value);
    if (e == nullptr) continue;
    const std::string text = ExprOf(sketch, *e);
    argument.value = (*e)->kind == ExprKind::kVar ? text : absl::StrCat("(", text, ")");
  }
  return PrintStep(step);
}

}  // namespace

std::string ToText(const Sketch& sketch) {
  std::string text = absl::StrCat(sketch.name, "\n");
  for (const Decision& decision : sketch.decisions) {
    absl::StrAppend(&text, "  ", decision.name, " = ",
                    decision.kind == DecisionKind::kChoice ? "choice " : "",
                    absl::StrJoin(decision.values, " "), "\n");
  }
  for (const Expr& constraint : sketch.constraints) {
    absl::StrAppend(&text, "  require ", ExprOf(sketch, constraint), "\n");
  }
  for (const OpenStep& open : sketch.steps) {
    absl::StrAppend(&text, "  ", StepOf(sketch, open.step),
                    open.when == nullptr ? "" : absl::StrCat(" when ", ExprOf(sketch, open.when)),
                    "\n");
  }
  return text;
}

}  // namespace burnish
