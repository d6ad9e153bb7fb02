// fuse@1 (a,b,..)->m: nested loops become one, the last running fastest.
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {

absl::Status ApplyFuse(const Step& step, Program& program) {
  RETURN_IF_ERROR(WantNames(step, -1, 1));
  if (step.inputs.size() < 2) return Refuse("got one loop, want at least two");
  RETURN_IF_ERROR(WantNewVar(program, step.outputs[0]));
  std::vector<NodeId> loops;
  for (const std::string& name : step.inputs) {
    ASSIGN_OR_RETURN(const NodeId loop, FindLoopArg(program, name));
    const Node& node = program.nodes[loop];
    const Var& var = program.vars[node.var];
    if (node.loop_kind != LoopKind::kSerial) return Refuse("loop ", name, " is annotated already");
    if (!loops.empty()) {
      const Node& outer = program.nodes[loops.back()];
      if (node.parent != loops.back() || outer.children.size() != 1) {
        return Refuse("loop ", name, " is not directly inside ", program.vars[outer.var].name);
      }
      // The inner value is a modulus by its extent, which must not change from one outer iteration
      // to the next. The outermost extent may.
      if (!IsConstInt(var.extent)) return Refuse("extent of inner loop ", name, " is not constant");
      // One loop is either the sum's or the output's: the rules of reductions go by loops.
      if (var.reduce != program.vars[outer.var].reduce) {
        return Refuse("cannot fuse a reduction loop with a spatial one");
      }
    }
    loops.push_back(loop);
  }
  const VarId first = program.nodes[loops[0]].var;
  Expr extent = program.vars[first].extent;
  for (size_t i = 1; i < loops.size(); ++i) {
    extent = extent * program.vars[program.nodes[loops[i]].var].extent;
  }
  const VarId fused = AddVar(
      program, {.name = step.outputs[0], .extent = extent, .reduce = program.vars[first].reduce});
  // From the fastest outward: value = (m / inner) % extent; the slowest needs no modulus.
  int64_t inner = 1;
  for (size_t i = loops.size(); i-- > 0;) {
    Var& var = program.vars[program.nodes[loops[i]].var];
    var.def = FloorDiv(VarRef(fused), inner);
    if (i == 0) break;
    var.def = Mod(var.def, var.extent);
    inner *= var.extent->int_value;
  }
  RETURN_IF_ERROR(CheckExtentsBy(program, {fused}));
  const NodeId loop = AddNode(program, {.kind = NodeKind::kLoop, .var = fused});
  const std::vector<NodeId> children = program.nodes[loops.back()].children;
  ReplaceChild(program, loops[0], loop);
  for (NodeId child : children) AppendChild(program, loop, child);
  return absl::OkStatus();
}

}  // namespace burnish
