#include "compiler/ir/choose_once.h"

#include <utility>
#include <vector>

namespace burnish {
namespace {

// Whether it loads vectors from memory, along the variable.
bool LoadsAlong(const Program& program, VarId var, const Expr& e) {
  bool loads = false;
  VisitExpr(e, [&](const ExprNode& node) {
    if (node.kind != ExprKind::kLoad || program.buffers[node.id].scope == Scope::kRegister) return;
    for (const Expr& index : node.operands) loads = loads || MentionsVar(index, var);
  });
  return loads;
}

// A vector loop with one store of a choice that it does not change.
bool IsChoice(const Program& program, NodeId id) {
  const Node& loop = program.nodes[id];
  if (loop.kind != NodeKind::kLoop || loop.loop_kind != LoopKind::kVectorized ||
      loop.children.size() != 1) {
    return false;
  }
  const Node& store = program.nodes[loop.children[0]];
  if (store.kind != NodeKind::kStore || store.combiner != Combiner::kAssign ||
      store.value->kind != ExprKind::kSelect) {
    return false;
  }
  const std::vector<Expr>& sides = store.value->operands;
  // A mask's other side is a number, and where that is chosen there is little to save.
  return !MentionsVar(sides[0], loop.var) && LoadsAlong(program, loop.var, sides[1]) &&
         LoadsAlong(program, loop.var, sides[2]);
}

NodeId CopyWith(NodeId id, Expr value, Program& program) {
  Node loop = program.nodes[id];
  Node store = program.nodes[loop.children[0]];
  loop.children.clear();
  loop.parent = store.parent = -1;
  store.value = std::move(value);
  const NodeId made = AddNode(program, std::move(loop));
  AppendChild(program, made, AddNode(program, std::move(store)));
  return made;
}

// The loop, or a choice between two.
NodeId Chosen(NodeId id, Program& program) {
  if (!IsChoice(program, id)) return id;
  const std::vector<Expr> sides = program.nodes[program.nodes[id].children[0]].value->operands;
  const NodeId choice = AddNode(program, {.kind = NodeKind::kIf, .cond = sides[0]});
  for (const size_t side : {1, 2}) {
    const NodeId seq = AddNode(program, {.kind = NodeKind::kSeq});
    AppendChild(program, seq, Chosen(CopyWith(id, sides[side], program), program));
    AppendChild(program, choice, seq);
  }
  return choice;
}

}  // namespace

void ChooseOnce(NodeId root, Program& lowered) {
  const std::vector<NodeId> children = std::exchange(lowered.nodes[root].children, {});
  for (const NodeId child : children) {
    ChooseOnce(child, lowered);
    AppendChild(lowered, root, Chosen(child, lowered));
  }
}

}  // namespace burnish
