// The last step of the driver: compiled kernels, constants and the plan of a model into a bundle.
#ifndef COMPILER_DRIVER_ASSEMBLE_H_
#define COMPILER_DRIVER_ASSEMBLE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/planned_model.h"
#include "compiler/driver/refit_program.h"
#include "compiler/driver/trim_step.h"
#include "compiler/driver/unwritten_bundle.h"
#include "compiler/driver/weight_pool.h"
#include "compiler/ir/run_strides.h"
#include "compiler/target/target.h"
#include "proto/compile.h"

namespace burnish {

// A call that is a kernel, in the order of execution. A host kernel has no more than its group.
struct StepPlan {
  size_t group = 0;  // Of the fusion; also its call.
  CallLayout layout;
  size_t item = 0;  // Of the compile request and its reply.
  StepGuards guards = {};
  std::vector<RunStrides> strides = {};
};

struct AssembledModel {
  UnwrittenBundle bundle;
  int64_t arena_bytes = 0;
  int kernel_count = 0;
};

struct AssembleOptions {
  // Of the model's constants; null: those parameters can be replaced that are constants as they
  // were.
  const RefitProgram* refit = nullptr;
  WeightPool* pool = nullptr;  // Of bundles that have weights in common; null: there are none.
  bool is_variant = false;     // No parameters can be replaced: the whole bundle says which.
};

// `model`: of `source`, as it came in. `reply`: of a library that was built without failure. Packs
// the constants on this machine. Pure otherwise: equal input gives equal bytes.
absl::StatusOr<AssembledModel> AssembleBundle(const Graph& source, const PlannedModel& model,
                                              const std::vector<StepPlan>& steps,
                                              const CompileReply& reply, const Target& target,
                                              const AssembleOptions& options = {});

}  // namespace burnish

#endif  // COMPILER_DRIVER_ASSEMBLE_H_
