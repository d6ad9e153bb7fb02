// Which iterations of a step's parallel loop a run may leave out.
#ifndef COMPILER_DRIVER_TRIM_STEP_H_
#define COMPILER_DRIVER_TRIM_STEP_H_

#include <optional>

#include "compiler/graph/demanded_axes.h"
#include "compiler/ir/program.h"
#include "compiler/runtime/step_trim.h"

namespace burnish {

// `lowered`: of a kernel with one output, of which `demand` is read: in the value's own shape.
// nullopt where an iteration cannot be left out: several phases, several outputs, or each iteration
// writes what is read in any run. `step` is left 0.
std::optional<StepTrim> TrimOf(const Program& lowered, const DemandedParts& demand);

}  // namespace burnish

#endif  // COMPILER_DRIVER_TRIM_STEP_H_
