// Traces at work: a definition and the steps that turn it into one schedule.
#ifndef COMPILER_SCHEDULE_TRACE_H_
#define COMPILER_SCHEDULE_TRACE_H_

#include "absl/status/statusor.h"
#include "compiler/ir/program.h"
#include "compiler/schedule/step.h"

namespace burnish {

// Applies the steps in order. INVALID_ARGUMENT names the step, its number and the reason.
absl::StatusOr<Program> ApplyTrace(const Trace& trace, const Program& program);

// One step. `program` is unchanged when the step is refused.
absl::Status ApplyStep(const Step& step, Program& program);

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_TRACE_H_
