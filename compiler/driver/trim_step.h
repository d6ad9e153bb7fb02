// Which iterations of a step's parallel loop, and of the loops inside its kernel, a run may leave
// out.
#ifndef COMPILER_DRIVER_TRIM_STEP_H_
#define COMPILER_DRIVER_TRIM_STEP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/demanded_axes.h"
#include "compiler/ir/guard_loops.h"
#include "compiler/ir/program.h"
#include "compiler/runtime/step_trim.h"

namespace burnish {

// `lowered`: of a kernel with one output, of which `demand` is read: in the value's own shape.
// nullopt where an iteration cannot be left out: several phases, several outputs, or each iteration
// writes what is read in any run. `step` is left 0.
std::optional<StepTrim> TrimOf(const Program& lowered, const DemandedParts& demand);

// Axes of the program's only output of which a run may read a part; none where it has more outputs.
// Tasks have dimensions merged that their operators do not tell apart.
std::vector<int> GuardedAxes(const DemandedParts& demand, const Program& program);

// What the table of `guarded` says in a run that reads `demand` of the program's only output.
std::vector<LoopFlags> LoopFlagsOf(const GuardedLoops& guarded, const DemandedParts& demand,
                                   const Program& program);

}  // namespace burnish

#endif  // COMPILER_DRIVER_TRIM_STEP_H_
