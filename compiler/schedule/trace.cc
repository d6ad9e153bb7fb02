#include "compiler/schedule/trace.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/schedule/primitive.h"

namespace burnish {

absl::Status ApplyStepInPlace(const Step& step, Program& program) {
  return step.primitive->apply(step, program);
}

absl::Status RefusedStep(size_t index, const Step& step, const absl::Status& reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("step ", index + 1, ", ", PrintStep(step), ": ", reason.message()));
}

absl::Status ApplyStep(const Step& step, Program& program) {
  Program copy = program;
  RETURN_IF_ERROR(ApplyStepInPlace(step, copy));
  program = std::move(copy);
  return absl::OkStatus();
}

absl::StatusOr<Program> ApplyTrace(const Trace& trace, const Program& program) {
  Program scheduled = program;
  for (size_t i = 0; i < trace.size(); ++i) {
    const absl::Status status = ApplyStepInPlace(trace[i], scheduled);
    if (!status.ok()) return RefusedStep(i, trace[i], status);
  }
  return scheduled;
}

}  // namespace burnish
