#include "compiler/ir/cut_loops.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ir/lowered.h"

namespace burnish {
namespace {

// Elements of a block: enough that a test costs nothing beside them, and few beside a loop.
constexpr int64_t kBlockMin = 64;
// Of a loop. In less than so much there is nothing to leave out.
constexpr int64_t kLoopMin = 16 * kBlockMin;
constexpr int64_t kBlockIterationsMax = 256;

// 0: none.
int64_t BlockOf(const Program& program, NodeId loop, int64_t body_min) {
  const Node& node = program.nodes[loop];
  if (node.kind != NodeKind::kLoop || node.loop_kind != LoopKind::kSerial) return 0;
  const Expr& extent = program.vars[node.var].extent;
  if (!IsConstInt(extent)) return 0;
  const int64_t body = StoredInIteration(program, loop, body_min);
  if (body < 1 || body >= body_min || extent->int_value * body < kLoopMin) return 0;
  for (int64_t block = 2; block <= kBlockIterationsMax; ++block) {
    if (extent->int_value % block == 0 && block * body >= kBlockMin) return block;
  }
  return 0;
}

// Each iteration stores elsewhere: a reduction has no part that stands for some results.
bool Moves(const Program& program, const std::vector<NodeId>& inside, VarId var) {
  return std::any_of(inside.begin(), inside.end(), [&](NodeId id) {
    const Node& node = program.nodes[id];
    return node.kind == NodeKind::kStore &&
           std::any_of(node.indices.begin(), node.indices.end(),
                       [&](const Expr& index) { return MentionsVar(index, var); });
  });
}

}  // namespace

int64_t StoredInIteration(const Program& lowered, NodeId loop, int64_t enough) {
  int64_t size = 0;
  for (const NodeId id : Subtree(lowered, loop)) {
    if (lowered.nodes[id].kind != NodeKind::kStore) continue;
    int64_t stores = 1;
    for (NodeId at = lowered.nodes[id].parent; at != loop; at = lowered.nodes[at].parent) {
      if (lowered.nodes[at].kind == NodeKind::kLoop && stores < enough) {
        stores *= MaxExtent(lowered, lowered.nodes[at].var);
      }
    }
    size = std::max(size, stores);
  }
  return size;
}

std::vector<ShortLoop> ShortLoops(const Program& lowered, int64_t body_min) {
  std::vector<ShortLoop> loops;
  for (const NodeId loop : Subtree(lowered, lowered.root)) {
    const int64_t block = BlockOf(lowered, loop, body_min);
    if (block == 0) continue;
    const VarId var = lowered.nodes[loop].var;
    const std::vector<NodeId> inside = Subtree(lowered, loop);
    const auto is_loop_of = [&](const Node& node) {
      return node.kind == NodeKind::kLoop && node.var == var;
    };
    const bool is_ragged = std::any_of(inside.begin(), inside.end(), [&](NodeId id) {
      const Node& node = lowered.nodes[id];
      return node.kind == NodeKind::kLoop && MentionsVar(lowered.vars[node.var].extent, var);
    });
    if (is_ragged || !Moves(lowered, inside, var) ||
        std::count_if(lowered.nodes.begin(), lowered.nodes.end(), is_loop_of) != 1) {
      continue;
    }
    loops.push_back({.loop = loop, .block = block});
  }
  return loops;
}

void CutLoop(const ShortLoop& short_loop, Program& lowered) {
  const auto [loop, block] = short_loop;
  const VarId inner = lowered.nodes[loop].var;
  const int64_t extent = lowered.vars[inner].extent->int_value;
  const VarId outer =
      AddVar(lowered, {.name = UniqueVarName(lowered, absl::StrCat(lowered.vars[inner].name, "_b")),
                       .extent = Int(extent / block)});
  lowered.vars[inner].extent = Int(block);
  const auto at = [&, block = block](VarId var) -> Expr {
    if (var != inner) return nullptr;
    return VarRef(outer) * block + VarRef(inner);
  };
  for (const NodeId id : Subtree(lowered, loop)) {
    EditExprs(lowered.nodes[id], [&](Expr& e) { e = SubstituteVars(e, at); });
  }
  const NodeId body = AddNode(lowered, {.kind = NodeKind::kLoop, .var = inner});
  const std::vector<NodeId> children = std::exchange(lowered.nodes[loop].children, {});
  for (const NodeId child : children) AppendChild(lowered, body, child);
  AppendChild(lowered, loop, body);
  lowered.nodes[loop].var = outer;
}

}  // namespace burnish
