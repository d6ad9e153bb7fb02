// What passes over lowered programs have in common.
#ifndef COMPILER_IR_LOWERED_H_
#define COMPILER_IR_LOWERED_H_

#include <cstdint>
#include <functional>

#include "absl/strings/string_view.h"
#include "compiler/ir/program.h"

namespace burnish {

// What a leaf or a condition loads. A prefetch has no meaning, and loads nothing.
void VisitLoads(const Node& node, const std::function<void(const ExprNode&)>& visit);

// Calls `edit` on each expression of the node.
void EditExprs(Node& node, const std::function<void(Expr&)>& edit);

// A new input of one dimension, the last parameter, with this name or underscores behind it: what a
// caller says of a run.
BufferId AddInputTable(absl::string_view name, DType dtype, int64_t count, Program& lowered);

}  // namespace burnish

#endif  // COMPILER_IR_LOWERED_H_
