// reorder@1 (a,b,..): the named loops of one nest take the given order in the places they have.
#include <algorithm>

#include "base/status_macros.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {

absl::Status ApplyReorder(const Step& step, Program& program) {
  RETURN_IF_ERROR(WantNames(step, -1, 0));
  std::vector<NodeId> wanted;
  for (const std::string& name : step.inputs) {
    ASSIGN_OR_RETURN(const NodeId loop, FindLoopArg(program, name));
    if (std::find(wanted.begin(), wanted.end(), loop) != wanted.end()) {
      return Refuse("loop ", name, " is named twice");
    }
    wanted.push_back(loop);
  }
  // The places: from the innermost loop outward all the others must be met on the way.
  NodeId innermost = wanted[0];
  for (NodeId loop : wanted) {
    if (IsInside(program, loop, innermost)) innermost = loop;
  }
  std::vector<NodeId> places;
  for (NodeId id = innermost;; id = program.nodes[id].parent) {
    if (program.nodes[id].kind != NodeKind::kLoop) {
      return Refuse("something other than a loop lies between the loops");
    }
    if (std::find(wanted.begin(), wanted.end(), id) != wanted.end()) places.push_back(id);
    if (places.size() == wanted.size()) break;
    // A second child would run as often as the loop that moves past it.
    if (program.nodes[program.nodes[id].parent].children.size() != 1) {
      return Refuse("the loops are not nested perfectly");
    }
  }
  std::reverse(places.begin(), places.end());

  // Nodes stay where they are; what makes the loop moves between them.
  std::vector<Node> loops;
  for (NodeId id : wanted) loops.push_back(program.nodes[id]);
  for (size_t i = 0; i < places.size(); ++i) {
    Node& place = program.nodes[places[i]];
    place.var = loops[i].var;
    place.loop_kind = loops[i].loop_kind;
    place.lanes = loops[i].lanes;
    place.thread_tag = loops[i].thread_tag;
  }
  return CheckLoopOrder(program, NestOf(program, innermost));
}

absl::Status CheckLoopOrder(const Program& program, NodeId nest) {
  for (NodeId id : Subtree(program, nest)) {
    const Node& node = program.nodes[id];
    if (node.kind != NodeKind::kLoop) continue;
    std::vector<VarId> outside;
    for (NodeId loop : LoopsAround(program, node.parent)) {
      outside.push_back(program.nodes[loop].var);
    }
    for (VarId var : FreeVars(ExpandDefs(program, program.vars[node.var].extent))) {
      if (std::find(outside.begin(), outside.end(), var) == outside.end()) {
        return Refuse("extent of ", program.vars[node.var].name, " depends on ",
                      program.vars[var].name, ", which would not be outside it");
      }
    }
    if (node.loop_kind == LoopKind::kParallel && node.parent != program.root &&
        node.parent != program.pack_root) {
      return Refuse("parallel loop ", program.vars[node.var].name, " would not be outermost");
    }
  }
  // A tile that is computed twice must be computed whole each time: under a reduction loop only
  // what lies inside one tile.
  for (VarId id = 0; id < static_cast<VarId>(program.vars.size()); ++id) {
    const Var& var = program.vars[id];
    if (!var.repeats) continue;
    for (VarId leaf : FreeVars(ExpandDefs(program, var.def))) {
      const NodeId loop = LoopOf(program, leaf);
      if (loop < 0 || !IsInside(program, loop, nest)) continue;
      for (NodeId outer : LoopsAround(program, program.nodes[loop].parent)) {
        if (program.vars[program.nodes[outer].var].reduce &&
            !IsDistinctWithin(program, id, outer)) {
          return Refuse("reduction loop ", program.vars[program.nodes[outer].var].name,
                        " would be outside a shifted tile of ", var.name);
        }
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace burnish
