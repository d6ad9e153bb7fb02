#include "compiler/ir/join_parallel.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"

namespace burnish {
namespace {

// As many can be dealt to 64 threads where a run wants a sixteenth of them.
constexpr int64_t kEnough = 1024;
// Of a joined loop with the loops inside: guards have a flag for each combination (guard_loops.cc).
constexpr int64_t kCombinationsMax = int64_t{1} << 15;

bool IsSerial(const Program& program, const Node& node) {
  return node.kind == NodeKind::kLoop && node.loop_kind == LoopKind::kSerial &&
         !program.vars[node.var].reduce;
}

// The most iterations of serial loops around any place inside.
int64_t CombinationsInside(const Program& program, NodeId id) {
  int64_t most = 1;
  for (const NodeId child : program.nodes[id].children) {
    most = std::max(most, CombinationsInside(program, child));
  }
  const Node& node = program.nodes[id];
  if (!IsSerial(program, node)) return most;
  return std::min(kCombinationsMax + 1, most * MaxExtent(program, node.var));
}

// Whether iterations may write the same elements, as those of a tail that is shifted: at the same
// time they must not.
bool SharesElements(const Program& program, VarId loop) {
  return std::any_of(program.vars.begin(), program.vars.end(), [&](const Var& var) {
    return var.repeats && MentionsVar(ExpandDefs(program, var.def), loop);
  });
}

// The loop inside that can be joined; -1: there is none.
NodeId LoopToJoin(const Program& program, NodeId parallel) {
  const Node& outer = program.nodes[parallel];
  if (outer.children.size() != 1) return -1;
  const NodeId inside = outer.children[0];
  const Node& inner = program.nodes[inside];
  const Expr& extent = program.vars[outer.var].extent;
  if (!IsSerial(program, inner) || !IsConstInt(extent)) return -1;
  const Expr& inner_extent = program.vars[inner.var].extent;
  if (!IsConstInt(inner_extent) || extent->int_value >= kEnough) return -1;
  const int64_t count = extent->int_value * inner_extent->int_value;
  if (count * CombinationsInside(program, inside) / inner_extent->int_value > kCombinationsMax ||
      SharesElements(program, inner.var)) {
    return -1;
  }
  return inside;
}

void Join(NodeId parallel, NodeId inside, Program& program) {
  const VarId outer = program.nodes[parallel].var, inner = program.nodes[inside].var;
  const Expr extent = program.vars[inner].extent;
  const VarId joined = AddVar(
      program, {.name = UniqueVarName(
                    program, absl::StrCat(program.vars[outer].name, "_", program.vars[inner].name)),
                .extent = Int(program.vars[outer].extent->int_value * extent->int_value)});
  program.vars[outer].def = FloorDiv(VarRef(joined), extent);
  program.vars[inner].def = Mod(VarRef(joined), extent);
  const std::vector<NodeId> children = program.nodes[inside].children;
  program.nodes[parallel].var = joined;
  program.nodes[parallel].children.clear();
  for (const NodeId child : children) AppendChild(program, parallel, child);
}

}  // namespace

void JoinParallel(Program& scheduled) {
  const std::vector<NodeId> phases = scheduled.nodes[scheduled.root].children;
  for (const NodeId phase : phases) {
    const Node& node = scheduled.nodes[phase];
    if (node.kind != NodeKind::kLoop || node.loop_kind != LoopKind::kParallel) continue;
    for (NodeId inside = LoopToJoin(scheduled, phase); inside >= 0;
         inside = LoopToJoin(scheduled, phase)) {
      Join(phase, inside, scheduled);
    }
  }
}

}  // namespace burnish
