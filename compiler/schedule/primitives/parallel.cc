// parallel@1 p: iterations of an outermost loop are dealt out to the workers.
#include "base/status_macros.h"
#include "compiler/schedule/primitives/annotate.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {

absl::Status ApplyParallel(const Step& step, Program& program) {
  ASSIGN_OR_RETURN(const NodeId loop, SerialLoop(step, program));
  RETURN_IF_ERROR(WantIndependent(program, loop));
  const NodeId parent = program.nodes[loop].parent;
  // Workers meet at barriers between the root's children only. A parallel loop deeper inside would
  // need a barrier in each iteration of the loops around it.
  if (parent != program.root && parent != program.pack_root) {
    return Refuse("loop ", step.inputs[0], " is not outermost");
  }
  program.nodes[loop].loop_kind = LoopKind::kParallel;
  return absl::OkStatus();
}

}  // namespace burnish
