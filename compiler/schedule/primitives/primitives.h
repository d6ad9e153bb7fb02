// The primitives, one file each, listed in registry.cc. What each one does, and its arguments,
// stand at the top of its file.
#ifndef COMPILER_SCHEDULE_PRIMITIVES_PRIMITIVES_H_
#define COMPILER_SCHEDULE_PRIMITIVES_PRIMITIVES_H_

#include "absl/status/status.h"
#include "compiler/ir/program.h"
#include "compiler/schedule/trace.h"

namespace burnish {

absl::Status ApplySplit(const Step& step, Program& program);
absl::Status ApplyFuse(const Step& step, Program& program);
absl::Status ApplyReorder(const Step& step, Program& program);
absl::Status ApplyStage(const Step& step, Program& program);
absl::Status ApplyComputeAt(const Step& step, Program& program);
absl::Status ApplyInline(const Step& step, Program& program);
absl::Status ApplyRfactor(const Step& step, Program& program);
absl::Status ApplyRelayout(const Step& step, Program& program);
absl::Status ApplyBorder(const Step& step, Program& program);
absl::Status ApplyPrecompute(const Step& step, Program& program);
absl::Status ApplyParallel(const Step& step, Program& program);
absl::Status ApplyVectorize(const Step& step, Program& program);
absl::Status ApplyUnroll(const Step& step, Program& program);
absl::Status ApplyBind(const Step& step, Program& program);
absl::Status ApplyPrefetch(const Step& step, Program& program);
absl::Status ApplyStream(const Step& step, Program& program);
absl::Status ApplyTensorize(const Step& step, Program& program);
absl::Status ApplyWinograd(const Step& step, Program& program);

// Extents depend on outer loops only, parallel loops are outermost, no reduction loop is outside a
// tile that is computed twice. For primitives that move loops.
absl::Status CheckLoopOrder(const Program& program, NodeId nest);

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_PRIMITIVES_PRIMITIVES_H_
