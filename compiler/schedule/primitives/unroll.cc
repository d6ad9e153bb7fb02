// unroll@1 ki: the body is written out once for each iteration.
#include "base/status_macros.h"
#include "compiler/schedule/primitives/annotate.h"
#include "compiler/schedule/primitives/primitives.h"
#include "compiler/schedule/rewrite.h"

namespace burnish {

absl::Status ApplyUnroll(const Step& step, Program& program) {
  ASSIGN_OR_RETURN(const NodeId loop, SerialLoop(step, program));
  // Code grows with the product of all unrolled loops of a nest; the code generator bounds the
  // product (kMaxStores). A guess, not tuned.
  if (MaxExtent(program, program.nodes[loop].var) > 64) return Refuse("over 64 iterations");
  program.nodes[loop].loop_kind = LoopKind::kUnrolled;
  return absl::OkStatus();
}

}  // namespace burnish
