#include "compiler/te/rebuild.h"

#include <functional>
#include <utility>

#include "base/check.h"

namespace burnish {

namespace {

// By BufferId: whether an output needs it.
std::vector<bool> NeededBuffers(const Program& program, const std::vector<BufferId>& outputs) {
  std::vector<bool> needed(program.buffers.size(), false);
  for (const BufferId output : outputs) needed[output] = true;
  for (auto block = program.blocks.rbegin(); block != program.blocks.rend(); ++block) {
    if (!needed[block->output]) continue;
    const auto visit = [&](const ExprNode& node) {
      if (node.kind == ExprKind::kLoad) needed[node.id] = true;
    };
    VisitExpr(block->init, visit);
    VisitExpr(block->step, visit);
    VisitExpr(block->finish, visit);
  }
  return needed;
}

}  // namespace

Program Rebuild(const Program& program, const std::vector<BufferId>& outputs) {
  const std::vector<bool> needed = NeededBuffers(program, outputs);
  Program result;
  result.name = program.name;
  result.numerics = program.numerics;
  std::vector<BufferId> new_buffer(program.buffers.size(), -1);
  const auto add = [&](BufferId id) { new_buffer[id] = AddBuffer(result, program.buffers[id]); };
  for (size_t id = 0; id < program.buffers.size(); ++id) {
    const BufferRole role = program.buffers[id].role;
    if (role == BufferRole::kInput || role == BufferRole::kConstant) add(static_cast<int>(id));
  }
  for (const BufferId id : outputs) add(id);
  for (const Block& block : program.blocks) {
    if (needed[block.output] && new_buffer[block.output] < 0) add(block.output);
  }
  result.root = AddNode(result, {.kind = NodeKind::kSeq});
  std::vector<VarId> new_var(program.vars.size(), -1);
  for (const Block& old : program.blocks) {
    if (!needed[old.output]) continue;
    Block block = old;
    for (std::vector<VarId>* axes : {&block.spatial, &block.reduction}) {
      for (VarId& axis : *axes) {
        CHECK(program.vars[axis].def == nullptr) << "a definition has no schedule";
        new_var[axis] = AddVar(result, program.vars[axis]);
        axis = new_var[axis];
      }
    }
    block.output = new_buffer[block.output];
    RewriteBlock(block, [&](const Expr& e) -> Expr {
      if (e->kind == ExprKind::kVar) return VarRef(new_var[e->id]);
      if (e->kind == ExprKind::kLoad) return Load(new_buffer[e->id], e->dtype, e->operands);
      return nullptr;
    });
    result.blocks.push_back(std::move(block));
    AddDefaultNest(result, static_cast<BlockId>(result.blocks.size()) - 1);
  }
  return result;
}

}  // namespace burnish
