// bind@1 m thread=block.x: iterations run on the threads of a GPU grid.
#include "base/status_macros.h"
#include "compiler/ir/launch.h"
#include "compiler/schedule/primitives/annotate.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {

absl::Status ApplyBind(const Step& step, Program& program) {
  ASSIGN_OR_RETURN(const NodeId loop, SerialLoop(step, program));
  RETURN_IF_ERROR(WantIndependent(program, loop));
  ASSIGN_OR_RETURN(const std::string tag, step.GetWord("thread"));
  if (TagOf(tag) < 0) {
    return Refuse("got thread=", tag, ", want block.x .. thread.z");
  }
  for (NodeId outer : LoopsAround(program, program.nodes[loop].parent)) {
    if (program.nodes[outer].thread_tag == tag) return Refuse(tag, " is taken by an outer loop");
  }
  program.nodes[loop].loop_kind = LoopKind::kBound;
  program.nodes[loop].thread_tag = tag;
  return absl::OkStatus();
}

}  // namespace burnish
