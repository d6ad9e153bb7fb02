#include "compiler/ir/program.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/ir/simplify.h"

namespace burnish {

int64_t ElementCount(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

std::pair<int64_t, int64_t> BorderOf(const Buffer& buffer, int dim) {
  if (buffer.storage.border.empty()) return {0, 0};
  return buffer.storage.border[dim];
}

Storage DenseStorage(const std::vector<int64_t>& shape,
                     std::vector<std::pair<int64_t, int64_t>> border, double border_value) {
  Storage storage{.border = std::move(border), .border_value = border_value};
  storage.strides.resize(shape.size());
  int64_t stride = 1;
  for (int d = static_cast<int>(shape.size()) - 1; d >= 0; --d) {
    storage.strides[d] = stride;
    const auto [below, above] =
        storage.border.empty() ? std::pair<int64_t, int64_t>{0, 0} : storage.border[d];
    // The first element lies behind its border: offset counts from the allocation's start.
    storage.offset += below * stride;
    stride *= shape[d] + below + above;
  }
  return storage;
}

int64_t StorageElementCount(const Buffer& buffer) {
  int64_t last = buffer.storage.offset;
  for (size_t d = 0; d < buffer.shape.size(); ++d) {
    // To the last element that may be read, border included. Of a view this is less than the whole
    // allocation.
    last += (buffer.shape[d] - 1 + BorderOf(buffer, static_cast<int>(d)).second) *
            buffer.storage.strides[d];
  }
  return last + 1;
}

BufferId AddBuffer(Program& program, Buffer buffer) {
  program.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(program.buffers.size()) - 1;
}

VarId AddVar(Program& program, Var var) {
  program.vars.push_back(std::move(var));
  return static_cast<VarId>(program.vars.size()) - 1;
}

NodeId AddNode(Program& program, Node node) {
  program.nodes.push_back(std::move(node));
  return static_cast<NodeId>(program.nodes.size()) - 1;
}

void AppendChild(Program& program, NodeId parent, NodeId child) {
  program.nodes[parent].children.push_back(child);
  program.nodes[child].parent = parent;
}

void ReplaceChild(Program& program, NodeId node, NodeId with) {
  const NodeId parent = program.nodes[node].parent;
  CHECK_GE(parent, 0);
  auto& children = program.nodes[parent].children;
  *std::find(children.begin(), children.end(), node) = with;
  program.nodes[with].parent = parent;
  program.nodes[node].parent = -1;
}

void Detach(Program& program, NodeId node) {
  while (true) {
    const NodeId parent = program.nodes[node].parent;
    if (parent < 0) return;
    auto& children = program.nodes[parent].children;
    children.erase(std::find(children.begin(), children.end(), node));
    program.nodes[node].parent = -1;
    // A loop without a body is no program; an empty sequence is (a root, or a branch).
    if (!children.empty() || program.nodes[parent].kind == NodeKind::kSeq) return;
    node = parent;
  }
}

namespace {

// Where each kept element goes, -1 for the others, and the kept elements in order.
template <typename T>
std::vector<int32_t> KeepOnly(std::vector<T>& items, const std::vector<bool>& keep) {
  std::vector<int32_t> position(items.size(), -1);
  std::vector<T> kept;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!keep[i]) continue;
    position[i] = static_cast<int32_t>(kept.size());
    kept.push_back(std::move(items[i]));
  }
  items = std::move(kept);
  return position;
}

// New ids in execution order: what a program prints does not depend on the order in which
// primitives made its nodes.
void PruneNodes(Program& program) {
  std::vector<NodeId> order;
  for (NodeId root : {program.root, program.pack_root}) {
    if (root < 0) continue;
    const std::vector<NodeId> subtree = Subtree(program, root);
    order.insert(order.end(), subtree.begin(), subtree.end());
  }
  std::vector<NodeId> position(program.nodes.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<NodeId>(i);
  std::vector<Node> nodes;
  nodes.reserve(order.size());
  for (NodeId id : order) {
    Node node = std::move(program.nodes[id]);
    node.parent = node.parent < 0 ? -1 : position[node.parent];
    for (NodeId& child : node.children) child = position[child];
    nodes.push_back(std::move(node));
  }
  program.nodes = std::move(nodes);
  program.root = program.root < 0 ? -1 : position[program.root];
  program.pack_root = program.pack_root < 0 ? -1 : position[program.pack_root];
}

void PruneBlocks(Program& program) {
  std::vector<bool> live(program.blocks.size(), false);
  for (const Node& node : program.nodes) {
    if (node.kind == NodeKind::kBlock) live[node.block] = true;
  }
  const std::vector<int32_t> position = KeepOnly(program.blocks, live);
  for (Node& node : program.nodes) {
    if (node.block >= 0) node.block = position[node.block];
  }
}

// Calls `edit` on every expression slot of the program.
void EditExprs(Program& program, const std::function<void(Expr&)>& edit) {
  for (Var& var : program.vars) {
    edit(var.extent);
    edit(var.def);
  }
  for (Block& block : program.blocks) {
    for (Expr& index : block.output_indices) edit(index);
    edit(block.init);
    edit(block.step);
    edit(block.finish);
  }
  for (Node& node : program.nodes) {
    for (Expr& index : node.indices) edit(index);
    edit(node.value);
    edit(node.cond);
  }
}

// Calls `visit` for every mention of a variable.
template <typename Visit>
void ForEachMention(const Expr& e, const Visit& visit) {
  if (e == nullptr) return;
  if (e->kind == ExprKind::kVar) visit(e->id);
  for (const Expr& operand : e->operands) ForEachMention(operand, visit);
}

// Variables that a live loop, block or node needs, directly or through a definition or extent.
std::vector<bool> LiveVars(Program& program) {
  std::vector<bool> live(program.vars.size(), false);
  std::vector<VarId> open;
  const auto need = [&](VarId var) {
    if (live[var]) return;
    live[var] = true;
    open.push_back(var);
  };
  for (const Node& node : program.nodes) {
    if (node.kind == NodeKind::kLoop) need(node.var);
    for (const Expr& index : node.indices) ForEachMention(index, need);
    ForEachMention(node.value, need);
    ForEachMention(node.cond, need);
  }
  for (const Block& block : program.blocks) {
    for (VarId var : block.spatial) need(var);
    for (VarId var : block.reduction) need(var);
    ForEachMention(block.init, need);
    ForEachMention(block.step, need);
    ForEachMention(block.finish, need);
    for (const Expr& index : block.output_indices) ForEachMention(index, need);
  }
  while (!open.empty()) {
    const VarId var = open.back();
    open.pop_back();
    ForEachMention(program.vars[var].def, need);
    ForEachMention(program.vars[var].extent, need);
  }
  return live;
}

void PruneVarsAndBuffers(Program& program) {
  const std::vector<int32_t> var_at = KeepOnly(program.vars, LiveVars(program));
  std::vector<bool> live(program.buffers.size(), false);
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    // Parameters stay though nothing reads them: they are the caller's list.
    live[i] = program.buffers[i].role != BufferRole::kTemp &&
              program.buffers[i].role != BufferRole::kPacked;
  }
  for (const Block& block : program.blocks) live[block.output] = true;
  for (const Node& node : program.nodes) {
    if (node.buffer >= 0) live[node.buffer] = true;
  }
  EditExprs(program, [&](Expr& e) {
    VisitExpr(e, [&](const ExprNode& node) {
      if (node.kind == ExprKind::kLoad) live[node.id] = true;
    });
  });
  const size_t buffers_before = program.buffers.size();
  const std::vector<int32_t> buffer_at = KeepOnly(program.buffers, live);
  // Nothing went: every expression can stay the node that it is.
  if (program.vars.size() == var_at.size() && program.buffers.size() == buffers_before) return;
  std::vector<Expr> var_refs(program.vars.size());
  const std::function<Expr(const Expr&)> renumber = [&](const Expr& node) -> Expr {
    if (node->kind == ExprKind::kVar) {
      const VarId var = var_at[node->id];
      if (var == node->id) return nullptr;
      // One node a variable, shared by all that mention it.
      if (var_refs[var] == nullptr) var_refs[var] = VarRef(var);
      return var_refs[var];
    }
    if (node->kind == ExprKind::kLoad && buffer_at[node->id] != node->id) {
      return Load(buffer_at[node->id], node->dtype, node->operands);
    }
    return nullptr;
  };
  EditExprs(program, [&](Expr& e) { e = RewriteExpr(e, renumber); });
  for (Block& block : program.blocks) {
    for (VarId& var : block.spatial) var = var_at[var];
    for (VarId& var : block.reduction) var = var_at[var];
    block.output = buffer_at[block.output];
  }
  for (Node& node : program.nodes) {
    if (node.var >= 0) node.var = var_at[node.var];
    if (node.buffer >= 0) node.buffer = buffer_at[node.buffer];
  }
}

}  // namespace

void Prune(Program& program) {
  PruneNodes(program);
  PruneBlocks(program);
  PruneVarsAndBuffers(program);
}

NodeId AddDefaultNest(Program& program, BlockId block) {
  std::vector<VarId> axes = program.blocks[block].spatial;
  axes.insert(axes.end(), program.blocks[block].reduction.begin(),
              program.blocks[block].reduction.end());
  NodeId parent = program.root, outermost = -1;
  for (VarId axis : axes) {
    const NodeId loop = AddNode(program, {.kind = NodeKind::kLoop, .var = axis});
    AppendChild(program, parent, loop);
    if (outermost < 0) outermost = loop;
    parent = loop;
  }
  const NodeId leaf = AddNode(program, {.kind = NodeKind::kBlock, .block = block});
  AppendChild(program, parent, leaf);
  return outermost < 0 ? leaf : outermost;
}

BufferId FindBuffer(const Program& program, absl::string_view name) {
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i].name == name) return static_cast<BufferId>(i);
  }
  return -1;
}

BlockId FindBlock(const Program& program, absl::string_view name) {
  for (size_t i = 0; i < program.blocks.size(); ++i) {
    if (program.blocks[i].name == name) return static_cast<BlockId>(i);
  }
  return -1;
}

VarId FindVar(const Program& program, absl::string_view name) {
  VarId by_suffix = -1;
  int suffix_count = 0;
  const std::string dotted = absl::StrCat(".", name);
  for (size_t i = 0; i < program.vars.size(); ++i) {
    if (program.vars[i].name == name) return static_cast<VarId>(i);
    if (absl::EndsWith(program.vars[i].name, dotted)) {
      by_suffix = static_cast<VarId>(i);
      ++suffix_count;
    }
  }
  // A short name only where it names one: traces are written with it, and must not change their
  // meaning with another block.
  return suffix_count == 1 ? by_suffix : -1;
}

BlockId WriterOf(const Program& program, BufferId buffer) {
  for (size_t i = 0; i < program.blocks.size(); ++i) {
    if (program.blocks[i].output == buffer) return static_cast<BlockId>(i);
  }
  return -1;
}

namespace {

// Calls visit(id) for `node` and all under it, in the order in which they run, until it says so.
// A stack of its own: hostile depth must not use the thread's. On it for most programs, since steps
// of schedules look for loops again and again.
template <typename Visit>
bool VisitUntil(const Program& program, NodeId node, const Visit& visit) {
  absl::InlinedVector<NodeId, 32> stack = {node};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (visit(id)) return true;
    const auto& children = program.nodes[id].children;
    // Backwards, so that the first child is on top.
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
  return false;
}

// The first node that is wanted; -1: none.
template <typename Wanted>
NodeId FindNode(const Program& program, const Wanted& wanted) {
  NodeId found = -1;
  for (const NodeId root : {program.root, program.pack_root}) {
    const auto look = [&](NodeId id) {
      if (wanted(program.nodes[id])) found = id;
      return found >= 0;
    };
    if (root >= 0 && VisitUntil(program, root, look)) break;
  }
  return found;
}

}  // namespace

NodeId LoopOf(const Program& program, VarId var) {
  return FindNode(
      program, [var](const Node& node) { return node.kind == NodeKind::kLoop && node.var == var; });
}

NodeId NodeOf(const Program& program, BlockId block) {
  return FindNode(program, [block](const Node& node) {
    return node.kind == NodeKind::kBlock && node.block == block;
  });
}

std::vector<NodeId> LoopsAround(const Program& program, NodeId node) {
  std::vector<NodeId> loops;
  for (; node >= 0; node = program.nodes[node].parent) {
    if (program.nodes[node].kind == NodeKind::kLoop) loops.push_back(node);
  }
  std::reverse(loops.begin(), loops.end());
  return loops;
}

bool IsInside(const Program& program, NodeId node, NodeId ancestor) {
  for (; node >= 0; node = program.nodes[node].parent) {
    if (node == ancestor) return true;
  }
  return false;
}

std::vector<NodeId> Subtree(const Program& program, NodeId node) {
  std::vector<NodeId> order;
  VisitUntil(program, node, [&](NodeId id) {
    order.push_back(id);
    return false;
  });
  return order;
}

// Ends, as no variable needs itself: the verifier's CycleFinder.
Expr ExpandDefs(const Program& program, const Expr& e) {
  return SubstituteVars(e, [&](VarId var) -> Expr {
    const Var& v = program.vars[var];
    return v.def == nullptr ? nullptr : ExpandDefs(program, v.def);
  });
}

std::vector<VarId> LoopVarsOf(const Program& program, VarId var) {
  if (program.vars[var].def == nullptr) return {var};
  return FreeVars(ExpandDefs(program, program.vars[var].def));
}

bool WritesInAxisOrder(const Program& program, const Block& block) {
  if (block.output_indices.size() != block.spatial.size()) return false;
  for (size_t d = 0; d < block.spatial.size(); ++d) {
    const Expr& index = block.output_indices[d];
    const bool is_axis = index->kind == ExprKind::kVar && index->id == block.spatial[d];
    const bool is_zero = IsInt(index, 0) && IsInt(program.vars[block.spatial[d]].extent, 1);
    if (!is_axis && !is_zero) return false;
  }
  return true;
}

void RewriteBlock(Block& block, const std::function<Expr(const Expr&)>& rewrite) {
  block.init = RewriteExpr(block.init, rewrite);
  block.step = RewriteExpr(block.step, rewrite);
  block.finish = RewriteExpr(block.finish, rewrite);
  for (Expr& index : block.output_indices) index = RewriteExpr(index, rewrite);
}

std::string UniqueVarName(const Program& program, absl::string_view base) {
  const auto taken = [&](absl::string_view name) {
    return std::any_of(program.vars.begin(), program.vars.end(),
                       [&](const Var& var) { return var.name == name; });
  };
  if (!taken(base)) return std::string(base);
  for (int i = 1;; ++i) {
    std::string name = absl::StrCat(base, "_", i);
    if (!taken(name)) return name;
  }
}

Expr Identity(Combiner combiner, DType dtype) {
  const auto number = [&](double value, int64_t integer) {
    return IsFloat(dtype) ? Float(value, dtype) : Int(integer, dtype);
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // As numbers of the type: the greatest u64 has all bits.
  const bool is_u64 = dtype == DType::kU64;
  switch (combiner) {
    case Combiner::kProd:
      return number(1, 1);
    case Combiner::kMax:
      return number(-kInfinity, is_u64 ? 0 : LimitsOf(dtype).least);
    case Combiner::kMin:
      return number(kInfinity, is_u64 ? -1 : LimitsOf(dtype).greatest);
    case Combiner::kAssign:
    case Combiner::kSum:
      return number(0, 0);
  }
  return nullptr;
}

Expr Combine(Combiner combiner, Expr a, Expr b) {
  switch (combiner) {
    case Combiner::kSum:
      return std::move(a) + std::move(b);
    case Combiner::kProd:
      return std::move(a) * std::move(b);
    case Combiner::kMax:
      return Max(std::move(a), std::move(b));
    case Combiner::kMin:
      return Min(std::move(a), std::move(b));
    case Combiner::kAssign:
      return b;
  }
  return nullptr;
}

}  // namespace burnish
