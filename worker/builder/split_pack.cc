#include "worker/builder/split_pack.h"

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace burnish {
namespace {

// Buffers that the nodes under the root touch.
std::set<BufferId> TouchedBy(const Program& program, NodeId root) {
  std::set<BufferId> touched;
  const auto visit = [&](const ExprNode& node) {
    if (node.kind == ExprKind::kLoad) touched.insert(node.id);
  };
  for (const NodeId id : Subtree(program, root)) {
    const Node& node = program.nodes[id];
    if (node.buffer >= 0) touched.insert(node.buffer);
    for (const Expr& index : node.indices) VisitExpr(index, visit);
    VisitExpr(node.value, visit);
    VisitExpr(node.cond, visit);
  }
  return touched;
}

// Gives every use of a buffer in `renamed` to another.
void RenameBuffers(Program& program, const std::map<BufferId, BufferId>& renamed) {
  const auto rewrite = [&](const Expr& e) -> Expr {
    if (e->kind != ExprKind::kLoad) return nullptr;
    const auto found = renamed.find(e->id);
    return found == renamed.end() ? nullptr : Load(found->second, e->dtype, e->operands);
  };
  for (const NodeId id : Subtree(program, program.root)) {
    Node& node = program.nodes[id];
    if (const auto found = renamed.find(node.buffer); found != renamed.end()) {
      node.buffer = found->second;
    }
    for (Expr& index : node.indices) index = RewriteExpr(index, rewrite);
    if (node.value != nullptr) node.value = RewriteExpr(node.value, rewrite);
    if (node.cond != nullptr) node.cond = RewriteExpr(node.cond, rewrite);
  }
}

// to[..] = from[..] for each element, at the end of the program.
void AppendCopy(Program& program, BufferId from, BufferId to) {
  const Buffer buffer = program.buffers[from];
  NodeId parent = program.root;
  std::vector<Expr> indices;
  for (const int64_t extent : buffer.shape) {
    const VarId var =
        AddVar(program, {.name = UniqueVarName(program, "copy"), .extent = Int(extent)});
    const NodeId loop = AddNode(program, {.kind = NodeKind::kLoop, .var = var});
    AppendChild(program, parent, loop);
    indices.push_back(VarRef(var));
    parent = loop;
  }
  const NodeId store = AddNode(program, {.kind = NodeKind::kStore,
                                         .buffer = to,
                                         .indices = indices,
                                         .value = Load(from, buffer.dtype, indices)});
  AppendChild(program, parent, store);
}

}  // namespace

SplitProgram SplitPack(const Program& lowered) {
  SplitProgram split{.compute = lowered};
  if (lowered.pack_root < 0) return split;
  Program& compute = split.compute;
  compute.pack_root = -1;
  Program pack = lowered;
  pack.root = lowered.pack_root;
  pack.pack_root = -1;

  // What the call still reads of its constants. All else that packing reads can stay behind when
  // the bundle is built.
  const std::set<BufferId> in_compute = TouchedBy(lowered, lowered.root);
  std::map<BufferId, BufferId> kept;  // Constants that `compute` reads as they are.
  for (size_t i = 0; i < lowered.buffers.size(); ++i) {
    const auto id = static_cast<BufferId>(i);
    Buffer buffer = lowered.buffers[i];
    switch (buffer.role) {
      case BufferRole::kPacked: {
        // What only further packing reads (transformed weights before they are laid out) is not
        // kept.
        const bool stays = in_compute.count(id) > 0;
        compute.buffers[i].role = stays ? BufferRole::kConstant : BufferRole::kTemp;
        pack.buffers[i].role = stays ? BufferRole::kOutput : BufferRole::kTemp;
        break;
      }
      case BufferRole::kConstant:
        compute.buffers[i].role = BufferRole::kTemp;  // Nothing uses it: it goes.
        if (in_compute.count(id) > 0) {
          absl::StrAppend(&buffer.name, ".kept");
          kept[id] = AddBuffer(compute, buffer);
          buffer.role = BufferRole::kOutput;
          // Every constant of the call comes out of pack, also one that nothing packs. The caller
          // then has one list to give, and not two.
          AppendCopy(pack, id, AddBuffer(pack, buffer));
        }
        break;
      case BufferRole::kInput:
      case BufferRole::kOutput:
        pack.buffers[i].role = BufferRole::kTemp;
        break;
      case BufferRole::kTemp:
        break;
    }
  }
  RenameBuffers(compute, kept);
  // Both halves began as the whole program. Prune takes out what each of them has no use for, so
  // that their texts and hashes do not depend on the other half.
  Prune(compute);
  Prune(pack);
  split.pack = std::move(pack);
  return split;
}

}  // namespace burnish
