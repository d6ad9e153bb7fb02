// What parallel, vectorize, unroll and bind share: a loop that runs in another way than in turn.
#ifndef COMPILER_SCHEDULE_PRIMITIVES_ANNOTATE_H_
#define COMPILER_SCHEDULE_PRIMITIVES_ANNOTATE_H_

#include "absl/status/statusor.h"
#include "compiler/ir/program.h"
#include "compiler/schedule/trace.h"

namespace burnish {

// The serial loop that the step names. Refused if it is annotated already.
absl::StatusOr<NodeId> SerialLoop(const Step& step, const Program& program);

// Refused if iterations of the loop are not independent: it feeds a reduction, or visits elements
// twice.
absl::Status WantIndependent(const Program& program, NodeId loop);

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_PRIMITIVES_ANNOTATE_H_
