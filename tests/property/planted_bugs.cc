#include "tests/property/planted_bugs.h"

#include <algorithm>
#include <functional>

namespace burnish {
namespace {

// Rewrites one expression that `rewrite` changes, the first one; false where it changes none.
bool RewriteFirst(Expr& e, const std::function<Expr(const Expr&)>& rewrite) {
  if (e == nullptr) return false;
  bool done = false;
  e = RewriteExpr(e, [&](const Expr& node) -> Expr {
    if (done) return nullptr;
    Expr changed = rewrite(node);
    done = changed != nullptr;
    return changed;
  });
  return done;
}

std::vector<NodeId> AllNodes(const Program& program) {
  std::vector<NodeId> nodes = Subtree(program, program.root);
  if (program.pack_root >= 0) {
    const std::vector<NodeId> pack = Subtree(program, program.pack_root);
    nodes.insert(nodes.end(), pack.begin(), pack.end());
  }
  return nodes;
}

// ---- Primitives.

// split by size: as many tiles as fit, without the one that is cut short.
bool SplitForgetsTheRest(Program& program) {
  for (const Var& var : program.vars) {
    if (var.def == nullptr || var.def->kind != ExprKind::kAdd) continue;
    const Expr &tile = var.def->operands[0], &inner = var.def->operands[1];
    if (tile->kind != ExprKind::kMul || tile->operands[0]->kind != ExprKind::kVar) continue;
    if (inner->kind != ExprKind::kVar) continue;
    if (program.vars[inner->id].extent->kind != ExprKind::kMin) continue;
    Var& outer = program.vars[tile->operands[0]->id];
    if (outer.def != nullptr || !IsConstInt(outer.extent) || outer.extent->int_value < 2) continue;
    outer.extent = Int(outer.extent->int_value - 1);
    return true;
  }
  return false;
}

// split by max: tiles start as if all were of the smaller size.
bool SplitStartsTilesTooEarly(Program& program) {
  for (Var& var : program.vars) {
    const bool planted = RewriteFirst(var.def, [](const Expr& e) -> Expr {
      const bool rest = e->kind == ExprKind::kMin && e->operands[0]->kind == ExprKind::kVar;
      return rest ? Int(0) : nullptr;
    });
    if (planted) return true;
  }
  return false;
}

bool SplitForgetsTheGuard(Program& program) {
  for (Var& var : program.vars) {
    if (!var.guarded) continue;
    var.guarded = false;
    return true;
  }
  return false;
}

// relayout: the reader has two dimensions of the copy in the wrong order.
bool RelayoutSwapsDimensions(Program& program) {
  for (Block& block : program.blocks) {
    const bool planted = RewriteFirst(block.step, [&](const Expr& e) -> Expr {
      if (e->kind != ExprKind::kLoad || WriterOf(program, e->id) < 0) return nullptr;
      const std::vector<int64_t>& shape = program.buffers[e->id].shape;
      for (size_t a = 0; a < shape.size(); ++a) {
        for (size_t b = a + 1; b < shape.size(); ++b) {
          if (shape[a] != shape[b] || shape[a] == 1) continue;
          std::vector<Expr> indices = e->operands;
          std::swap(indices[a], indices[b]);
          return Load(e->id, e->dtype, indices);
        }
      }
      return nullptr;
    });
    if (planted) return true;
  }
  return false;
}

bool BorderHoldsAnotherValue(Program& program) {
  for (Buffer& buffer : program.buffers) {
    if (buffer.storage.border.empty()) continue;
    buffer.storage.border_value = buffer.storage.border_value == 0 ? 1 : 0;
    return true;
  }
  return false;
}

// inline, compute_at: the reader takes the neighbour of the element that it needs.
bool RegionIsOneElementOff(Program& program) {
  for (Block& block : program.blocks) {
    const bool planted = RewriteFirst(block.step, [&](const Expr& e) -> Expr {
      if (e->kind != ExprKind::kLoad || WriterOf(program, e->id) < 0) return nullptr;
      for (size_t d = 0; d < e->operands.size(); ++d) {
        const int64_t extent = program.buffers[e->id].shape[d];
        if (extent == 1) continue;
        std::vector<Expr> indices = e->operands;
        indices[d] = Mod(indices[d] + 1, extent);
        return Load(e->id, e->dtype, indices);
      }
      return nullptr;
    });
    if (planted) return true;
  }
  return false;
}

// ---- Lowering.

// Changes the number that a comparison of a loop variable with `of(extent)` waits for.
bool MoveComparison(Program& program, const std::function<int64_t(int64_t)>& of, int64_t by) {
  for (NodeId id : AllNodes(program)) {
    Node& node = program.nodes[id];
    if (node.kind != NodeKind::kIf || node.children.size() != 2) continue;
    const bool planted = RewriteFirst(node.cond, [&](const Expr& e) -> Expr {
      if (e->kind != ExprKind::kEq && e->kind != ExprKind::kLt) return nullptr;
      for (int side = 0; side < 2; ++side) {
        const Expr &var = e->operands[side], &number = e->operands[1 - side];
        if (var->kind != ExprKind::kVar || !IsConstInt(number)) continue;
        const int64_t extent = MaxExtent(program, var->id);
        if (extent < 2 || number->int_value != of(extent)) continue;
        const Expr moved = Int(number->int_value + by);
        return Binary(e->kind, side == 0 ? var : moved, side == 0 ? moved : var);
      }
      return nullptr;
    });
    if (planted) return true;
  }
  return false;
}

bool StageInitialisesTooLate(Program& program) {
  return MoveComparison(program, [](int64_t) { return 0; }, 1);
}

bool StageFinishesTooEarly(Program& program) {
  return MoveComparison(program, [](int64_t extent) { return extent - 1; }, -1);
}

// A reduction's running value is overwritten instead of added to.
bool StepAssigns(Program& program) {
  for (NodeId id : AllNodes(program)) {
    Node& node = program.nodes[id];
    if (node.kind != NodeKind::kStore || node.combiner == Combiner::kAssign) continue;
    node.combiner = Combiner::kAssign;
    return true;
  }
  return false;
}

// The body for one tile size has one iteration too few.
bool SpecializedBodyIsTooShort(Program& program) {
  for (NodeId id : AllNodes(program)) {
    const Node& branch = program.nodes[id];
    if (branch.kind != NodeKind::kIf || branch.children.size() != 2) continue;
    for (NodeId inner : Subtree(program, branch.children[0])) {
      const Node& loop = program.nodes[inner];
      if (loop.kind != NodeKind::kLoop || loop.loop_kind == LoopKind::kSerial) continue;
      Var& var = program.vars[loop.var];
      if (!IsConstInt(var.extent) || var.extent->int_value < 2) continue;
      var.extent = Int(var.extent->int_value - 1);
      return true;
    }
  }
  return false;
}

bool PackStoresOneElementOff(Program& program) {
  if (program.pack_root < 0) return false;
  for (NodeId id : Subtree(program, program.pack_root)) {
    Node& node = program.nodes[id];
    if (node.kind != NodeKind::kStore) continue;
    for (size_t d = 0; d < node.indices.size(); ++d) {
      const int64_t extent = program.buffers[node.buffer].shape[d];
      if (extent == 1) continue;
      node.indices[d] = Mod(node.indices[d] + 1, extent);
      return true;
    }
  }
  return false;
}

// ---- Code generation.

bool VectorLoopDropsTheRest(Program& program) {
  for (NodeId id : AllNodes(program)) {
    const Node& node = program.nodes[id];
    if (node.kind != NodeKind::kLoop || node.loop_kind != LoopKind::kVectorized) continue;
    const int64_t extent = program.vars[node.var].extent->int_value;
    if (extent < node.lanes || extent % node.lanes == 0) continue;
    program.vars[node.var].extent = Int(extent - extent % node.lanes);
    return true;
  }
  return false;
}

// A load whose address moves with the lanes is taken for one that does not.
bool LoadIsBroadcast(Program& program) {
  for (NodeId id : AllNodes(program)) {
    Node& leaf = program.nodes[id];
    if (leaf.kind != NodeKind::kStore) continue;
    for (NodeId around : LoopsAround(program, id)) {
      const Node& loop = program.nodes[around];
      if (loop.loop_kind != LoopKind::kVectorized) continue;
      const bool planted = RewriteFirst(leaf.value, [&](const Expr& e) -> Expr {
        if (e->kind != ExprKind::kLoad || !MentionsVar(e, loop.var)) return nullptr;
        if (program.buffers[e->id].scope == Scope::kRegister) return nullptr;
        return SubstituteVars(e, [&](VarId var) -> Expr {
          if (var != loop.var) return nullptr;
          return VarRef(var) - Mod(VarRef(var), loop.lanes);
        });
      });
      if (planted) return true;
    }
  }
  return false;
}

bool LastParallelIterationIsNotRun(Program& program) {
  for (NodeId id : program.nodes[program.root].children) {
    const Node& node = program.nodes[id];
    if (node.kind != NodeKind::kLoop || node.loop_kind != LoopKind::kParallel) continue;
    Var& var = program.vars[node.var];
    if (!IsConstInt(var.extent) || var.extent->int_value < 2) continue;
    var.extent = Int(var.extent->int_value - 1);
    return true;
  }
  return false;
}

// Two phases without a barrier between them: an iteration of the second may run before those of the
// first that it needs. Here each runs after the one of the first phase with its own number.
bool BarrierIsMissing(Program& program) {
  const std::vector<NodeId> phases = program.nodes[program.root].children;
  for (size_t i = 0; i + 1 < phases.size(); ++i) {
    const Node &first = program.nodes[phases[i]], &second = program.nodes[phases[i + 1]];
    if (first.kind != NodeKind::kLoop || second.kind != NodeKind::kLoop) continue;
    const Expr &a = program.vars[first.var].extent, &b = program.vars[second.var].extent;
    if (!IsConstInt(a) || !IsConstInt(b) || a->int_value != b->int_value) continue;
    if (a->int_value < 2) continue;
    const VarId from = second.var, to = first.var;
    const auto renamed = [&](const Expr& e) {
      return SubstituteVars(e,
                            [&](VarId var) -> Expr { return var == from ? VarRef(to) : nullptr; });
    };
    for (NodeId id : Subtree(program, phases[i + 1])) {
      Node& node = program.nodes[id];
      for (Expr& index : node.indices) index = renamed(index);
      if (node.value != nullptr) node.value = renamed(node.value);
      if (node.cond != nullptr) node.cond = renamed(node.cond);
    }
    for (Var& var : program.vars) var.extent = renamed(var.extent);
    const std::vector<NodeId> body = program.nodes[phases[i + 1]].children;
    Detach(program, phases[i + 1]);
    for (NodeId child : body) AppendChild(program, phases[i], child);
    return true;
  }
  return false;
}

}  // namespace

const std::vector<PlantedBug>& PlantedBugs() {
  using Stage = PlantedBug::Stage;
  static const auto* const bugs = new std::vector<PlantedBug>{
      {"split forgets the rest", Stage::kPrimitive, SplitForgetsTheRest},
      {"split starts tiles too early", Stage::kPrimitive, SplitStartsTilesTooEarly},
      {"split forgets the guard", Stage::kPrimitive, SplitForgetsTheGuard},
      {"relayout swaps dimensions", Stage::kPrimitive, RelayoutSwapsDimensions},
      {"border holds another value", Stage::kPrimitive, BorderHoldsAnotherValue},
      {"region is one element off", Stage::kPrimitive, RegionIsOneElementOff},
      {"stage initialises too late", Stage::kLowering, StageInitialisesTooLate},
      {"stage finishes too early", Stage::kLowering, StageFinishesTooEarly},
      {"step assigns", Stage::kLowering, StepAssigns},
      {"specialized body is too short", Stage::kLowering, SpecializedBodyIsTooShort},
      {"pack stores one element off", Stage::kLowering, PackStoresOneElementOff},
      {"vector loop drops the rest", Stage::kCodegen, VectorLoopDropsTheRest},
      {"load is broadcast", Stage::kCodegen, LoadIsBroadcast},
      {"last parallel iteration is not run", Stage::kCodegen, LastParallelIterationIsNotRun},
      {"barrier is missing", Stage::kCodegen, BarrierIsMissing},
  };
  return *bugs;
}

}  // namespace burnish
