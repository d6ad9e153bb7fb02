// inline@1 P: block P disappears; who read it computes its value.
#include <algorithm>

#include "base/status_macros.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {

absl::Status ApplyInline(const Step& step, Program& program) {
  RETURN_IF_ERROR(WantNames(step, 1, 0));
  ASSIGN_OR_RETURN(const BlockId producer, FindBlockArg(program, step.inputs[0]));
  const Block block = program.blocks[producer];
  // A sum has no value as an expression, and would be computed by each reader again.
  if (!block.reduction.empty()) return Refuse(block.name, " has a reduction");
  // Somebody outside wants the values themselves.
  if (program.buffers[block.output].role != BufferRole::kTemp) {
    return Refuse("output of ", block.name, " is not private");
  }
  if (!WritesInAxisOrder(program, block)) {
    return Refuse(block.name, " does not write its elements in order of its axes");
  }
  const NodeId nest = NestOf(program, NodeOf(program, producer));
  for (BlockId other : BlocksUnder(program, nest)) {
    if (!LoadsOf(block, program.blocks[other].output).empty()) {
      return Refuse(block.name, " reads ", program.blocks[other].name,
                    ", which is computed in its loops");
    }
  }
  for (const Expr& e : {block.step, block.finish}) {
    if (e == nullptr) continue;
    for (VarId var : FreeVars(e)) {
      if (std::find(block.spatial.begin(), block.spatial.end(), var) == block.spatial.end()) {
        return Refuse(block.name, " reads by its loop ", program.vars[var].name);
      }
    }
  }
  Expr value = block.step;
  if (block.finish != nullptr) {
    value = RewriteExpr(block.finish, [&](const Expr& node) -> Expr {
      return node->kind == ExprKind::kSelf ? block.step : nullptr;
    });
  }
  for (BlockId reader : ReadersOf(program, block.output)) {
    RewriteBlock(program.blocks[reader], [&](const Expr& node) -> Expr {
      if (node->kind != ExprKind::kLoad || node->id != block.output) return nullptr;
      return SubstituteVars(value, [&](VarId var) -> Expr {
        for (size_t d = 0; d < block.spatial.size(); ++d) {
          if (block.spatial[d] == var) return node->operands[d];
        }
        return nullptr;
      });
    });
  }
  RemoveBlock(program, producer);
  return absl::OkStatus();
}

}  // namespace burnish
