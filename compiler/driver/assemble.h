// The last step of the driver: compiled kernels, constants and the plan of a model into a bundle.
#ifndef COMPILER_DRIVER_ASSEMBLE_H_
#define COMPILER_DRIVER_ASSEMBLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/planned_model.h"
#include "compiler/driver/refit_program.h"
#include "compiler/driver/trim_step.h"
#include "proto/compile.h"
#include "proto/target.h"

namespace burnish {

// A call that is a kernel, in the order of execution. A host kernel has no more than its group.
struct StepPlan {
  size_t group = 0;  // Of the fusion; also its call.
  CallLayout layout;
  size_t item = 0;  // Of the compile request and its reply.
  StepGuards guards = {};
};

struct AssembledModel {
  std::string bundle;
  int64_t arena_bytes = 0;
  int64_t weights_bytes = 0;
  int kernel_count = 0;
};

// `model`: of `source`, as it came in. `reply`: of a library that was built without failure. Packs
// the constants on this machine. `refit`: of the model's constants; nullptr: those parameters can
// be replaced that are constants as they were. Pure otherwise: equal input gives equal bytes.
absl::StatusOr<AssembledModel> AssembleBundle(const Graph& source, const PlannedModel& model,
                                              const std::vector<StepPlan>& steps,
                                              const CompileReply& reply, const Target& target,
                                              const RefitProgram* refit = nullptr);

}  // namespace burnish

#endif  // COMPILER_DRIVER_ASSEMBLE_H_
