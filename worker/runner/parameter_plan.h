// What the runner must know about a workload's parameters, from the program.
#ifndef WORKER_RUNNER_PARAMETER_PLAN_H_
#define WORKER_RUNNER_PARAMETER_PLAN_H_

#include <vector>

#include "compiler/ir/program.h"
#include "worker/runner/runner_wire.h"

namespace burnish {

// Inputs, constants and outputs in the program's order, with their storage and the values that an
// integer input may have: where it is an index, a valid one (BoundsCheck says of what); where it
// divides, none that is zero; else what its type can hold, within +-100.
std::vector<TensorSpec> PlanParameters(const Program& program);

ElementType ElementTypeOf(DType type);

}  // namespace burnish

#endif  // WORKER_RUNNER_PARAMETER_PLAN_H_
