#include "compiler/schedule/primitives/annotate.h"

#include "base/status_macros.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {

absl::StatusOr<NodeId> SerialLoop(const Step& step, const Program& program) {
  RETURN_IF_ERROR(WantNames(step, 1, 0));
  ASSIGN_OR_RETURN(const NodeId loop, FindLoopArg(program, step.inputs[0]));
  if (program.nodes[loop].loop_kind != LoopKind::kSerial) {
    return Refuse("loop ", step.inputs[0], " is annotated already");
  }
  return loop;
}

absl::Status WantIndependent(const Program& program, NodeId loop) {
  const VarId var = program.nodes[loop].var;
  if (program.vars[var].reduce) {
    return Refuse(program.vars[var].name, " is a reduction loop: its iterations depend on another");
  }
  for (VarId id = 0; id < static_cast<VarId>(program.vars.size()); ++id) {
    const Var& derived = program.vars[id];
    if (derived.repeats && MentionsVar(ExpandDefs(program, derived.def), var) &&
        !IsDistinctWithin(program, id, loop)) {
      return Refuse("iterations of ", program.vars[var].name, " share elements of ", derived.name);
    }
  }
  return absl::OkStatus();
}

}  // namespace burnish
