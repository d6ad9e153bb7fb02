// Which iterations of a step's parallel loop, and of the loops inside its kernel, a run may leave
// out.
#ifndef COMPILER_DRIVER_TRIM_STEP_H_
#define COMPILER_DRIVER_TRIM_STEP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/demanded_axes.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/known_rests.h"
#include "compiler/ir/guard_loops.h"
#include "compiler/ir/program.h"
#include "compiler/runtime/step_trim.h"

namespace burnish {

// `lowered`: of a kernel with one output, of which `demand` is read: in the value's own shape.
// nullopt where an iteration cannot be left out: several phases, several outputs, or each iteration
// writes what is read in any run. `step` is left 0.
std::optional<StepTrim> TrimOf(const Program& lowered, const DemandedParts& demand);

// What a run may say of a step, and in what terms.
struct StepGuards {
  GuardRequest request = {};
  DemandedParts demand = {};           // Of its only output; empty: all.
  std::vector<AxisPart> extents = {};  // By KnownRest::extent.
};

// `program`: of the call's task, in which dimensions are merged that its operators do not tell
// apart. `demand`: of the call's result. `rests`: of the graph's values. Nothing where the program
// has several outputs.
StepGuards GuardsOf(const Graph& graph, const TaskCall& call, const Program& program,
                    const DemandedParts& demand, const std::vector<std::vector<ValueRest>>& rests);

// What the table of `guarded` says in a run.
std::vector<LoopFlags> LoopFlagsOf(const GuardedLoops& guarded, const StepGuards& guards,
                                   const Program& program);

}  // namespace burnish

#endif  // COMPILER_DRIVER_TRIM_STEP_H_
