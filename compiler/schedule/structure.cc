#include "compiler/schedule/structure.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace burnish {
namespace {

bool Reads(const Block& block, BufferId buffer) {
  bool reads = false;
  for (const Expr& e : {block.init, block.step, block.finish}) {
    if (e == nullptr) continue;
    VisitExpr(e, [&](const ExprNode& node) {
      reads = reads || (node.kind == ExprKind::kLoad && node.id == buffer);
    });
  }
  return reads;
}

NodeId AddLoop(Program& structure, VarId var) {
  return AddNode(structure, {.kind = NodeKind::kLoop, .var = var});
}

bool HoldsBlock(const Program& program, NodeId id) {
  const Node& node = program.nodes[id];
  return node.kind == NodeKind::kBlock ||
         std::any_of(node.children.begin(), node.children.end(),
                     [&](NodeId child) { return HoldsBlock(program, child); });
}

void AppendText(const Program& program, NodeId id, int depth, std::string& text) {
  // Loops of prefetches alone, which structures do not have.
  if (!HoldsBlock(program, id)) return;
  const Node& node = program.nodes[id];
  std::string line;
  switch (node.kind) {
    case NodeKind::kLoop:
      line = absl::StrCat("loop ", program.vars[node.var].name,
                          " kind=", static_cast<int>(node.loop_kind), " ", node.lanes,
                          node.thread_tag, node.intrinsic);
      break;
    case NodeKind::kBlock:
      line = absl::StrCat("block ", program.blocks[node.block].name);
      break;
    case NodeKind::kStage:
      line = absl::StrCat("stage ", program.blocks[node.block].name, " ",
                          program.buffers[node.buffer].name, " ",
                          static_cast<int>(program.buffers[node.buffer].scope));
      break;
    default:
      break;
  }
  if (!line.empty()) absl::StrAppend(&text, std::string(2 * depth, ' '), line, "\n");
  for (NodeId child : node.children) AppendText(program, child, depth + 1, text);
}

}  // namespace

NodeId TopOf(const Program& structure, NodeId node) {
  while (structure.nodes[structure.nodes[node].parent].kind != NodeKind::kSeq) {
    node = structure.nodes[node].parent;
  }
  return node;
}

void ReplaceLoop(Program& structure, VarId var, absl::Span<const VarId> loops) {
  const NodeId old = LoopOf(structure, var);
  const std::vector<NodeId> body = structure.nodes[old].children;
  NodeId innermost = AddLoop(structure, loops[0]);
  ReplaceChild(structure, old, innermost);
  for (size_t i = 1; i < loops.size(); ++i) {
    const NodeId next = AddLoop(structure, loops[i]);
    AppendChild(structure, innermost, next);
    innermost = next;
  }
  for (NodeId child : body) AppendChild(structure, innermost, child);
}

bool FuseLoops(Program& structure, absl::Span<const VarId> loops, VarId fused) {
  const NodeId first = LoopOf(structure, loops[0]);
  NodeId last = first;
  for (size_t i = 1; i < loops.size(); ++i) {
    const NodeId next = LoopOf(structure, loops[i]);
    if (structure.nodes[next].parent != last || structure.nodes[last].children.size() != 1) {
      return false;
    }
    last = next;
  }
  const std::vector<NodeId> body = structure.nodes[last].children;
  const NodeId loop = AddLoop(structure, fused);
  ReplaceChild(structure, first, loop);
  for (NodeId child : body) AppendChild(structure, loop, child);
  return true;
}

bool ReorderLoops(Program& structure, absl::Span<const VarId> loops) {
  std::vector<NodeId> wanted;
  for (VarId var : loops) wanted.push_back(LoopOf(structure, var));
  // On the way from the innermost to the root all the others must be met.
  NodeId innermost = wanted[0];
  for (NodeId loop : wanted) {
    if (IsInside(structure, loop, innermost)) innermost = loop;
  }
  std::vector<NodeId> places;
  for (NodeId id = innermost; id >= 0; id = structure.nodes[id].parent) {
    if (std::find(wanted.begin(), wanted.end(), id) != wanted.end()) places.push_back(id);
  }
  if (places.size() != wanted.size()) return false;
  std::reverse(places.begin(), places.end());
  // Nodes stay where they are; what makes the loop moves between them.
  std::vector<Node> moved;
  for (NodeId id : wanted) moved.push_back(structure.nodes[id]);
  for (size_t i = 0; i < places.size(); ++i) {
    Node& place = structure.nodes[places[i]];
    place.var = moved[i].var;
    place.loop_kind = moved[i].loop_kind;
    place.lanes = moved[i].lanes;
    place.thread_tag = moved[i].thread_tag;
  }
  return true;
}

void InsertStage(Program& structure, VarId inside, BlockId block, BufferId buffer) {
  const NodeId loop = LoopOf(structure, inside);
  const NodeId stage =
      AddNode(structure, {.kind = NodeKind::kStage, .block = block, .buffer = buffer});
  const std::vector<NodeId> body = std::exchange(structure.nodes[loop].children, {});
  AppendChild(structure, loop, stage);
  for (NodeId child : body) AppendChild(structure, stage, child);
}

BlockId AddBlockBefore(Program& structure, Block block, BlockId before) {
  structure.blocks.push_back(std::move(block));
  const auto id = static_cast<BlockId>(structure.blocks.size() - 1);
  const NodeId nest = AddDefaultNest(structure, id);
  if (before < 0) return id;
  // As the primitive does: a copy is made before the whole nest of its reader, also where that is
  // deep inside.
  const NodeId place = TopOf(structure, NodeOf(structure, before));
  std::vector<NodeId>& order = structure.nodes[structure.root].children;
  // AddDefaultNest has put it last.
  order.pop_back();
  order.insert(std::find(order.begin(), order.end(), place), nest);
  return id;
}

void MoveToPack(Program& structure, BlockId block) {
  const NodeId nest = TopOf(structure, NodeOf(structure, block));
  if (structure.pack_root < 0) {
    structure.pack_root = AddNode(structure, {.kind = NodeKind::kSeq});
  }
  Detach(structure, nest);
  AppendChild(structure, structure.pack_root, nest);
}

void MoveInside(Program& structure, BlockId block, absl::Span<const VarId> loops, VarId inside) {
  const NodeId parent = LoopOf(structure, inside);
  Detach(structure, NodeOf(structure, block));
  std::vector<VarId> nest(loops.begin(), loops.end());
  const Block& moved = structure.blocks[block];
  nest.insert(nest.end(), moved.reduction.begin(), moved.reduction.end());
  const NodeId outermost = AddLoop(structure, nest[0]);
  NodeId innermost = outermost;
  for (size_t i = 1; i < nest.size(); ++i) {
    const NodeId next = AddLoop(structure, nest[i]);
    AppendChild(structure, innermost, next);
    innermost = next;
  }
  AppendChild(structure, innermost, AddNode(structure, {.kind = NodeKind::kBlock, .block = block}));
  std::vector<NodeId>& body = structure.nodes[parent].children;
  const auto reader = std::find_if(body.begin(), body.end(), [&](NodeId child) {
    const std::vector<NodeId> under = Subtree(structure, child);
    return std::any_of(under.begin(), under.end(), [&](NodeId id) {
      const Node& node = structure.nodes[id];
      return node.kind == NodeKind::kBlock &&
             Reads(structure.blocks[node.block], structure.blocks[block].output);
    });
  });
  // Before the first reader and not first of all: other blocks of the body may be what this one
  // reads.
  body.insert(reader, outermost);
  structure.nodes[outermost].parent = parent;
}

BlockId GiveNest(Program& structure, BlockId block, Block partial) {
  const NodeId leaf = NodeOf(structure, block), nest = TopOf(structure, leaf);
  structure.blocks.push_back(std::move(partial));
  const auto id = static_cast<BlockId>(structure.blocks.size() - 1);
  structure.nodes[leaf].block = id;
  const NodeId combining = AddDefaultNest(structure, block);
  std::vector<NodeId>& order = structure.nodes[structure.root].children;
  order.pop_back();
  // Behind the partial sums, which it reads.
  order.insert(std::find(order.begin(), order.end(), nest) + 1, combining);
  return id;
}

void ReplaceNest(Program& structure, BlockId block) {
  const NodeId old = TopOf(structure, NodeOf(structure, block));
  const NodeId nest = AddDefaultNest(structure, block);
  structure.nodes[structure.root].children.pop_back();
  ReplaceChild(structure, old, nest);
}

void RemoveNest(Program& structure, BlockId block) {
  Detach(structure, TopOf(structure, NodeOf(structure, block)));
}

std::string StructureText(const Program& program) {
  std::string text = "kernel\n";
  AppendText(program, program.root, 0, text);
  if (program.pack_root >= 0) {
    text += "pack\n";
    AppendText(program, program.pack_root, 0, text);
  }
  return text;
}

}  // namespace burnish
