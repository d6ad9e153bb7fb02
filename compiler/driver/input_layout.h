// How a step's inputs of the model lie in a run: in the caller's memory they have the run's shape.
#ifndef COMPILER_DRIVER_INPUT_LAYOUT_H_
#define COMPILER_DRIVER_INPUT_LAYOUT_H_

#include <vector>

#include "compiler/driver/planned_model.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/ir/run_strides.h"

namespace burnish {

// Of the call's inputs, those of the model whose shape a run says and that can be read where
// callers have them. A row, in the terms of run_strides.h, is what is behind the last axis that
// callers size: an input that ends with such an axis has none, and nor has one whose program has
// that axis merged with another. Numbers are 1 and the value's axis, as sessions fill tables
// (runtime/input_strides.h).
std::vector<RunStrides> StridesOf(const PlannedModel& model, const TaskCall& call);

}  // namespace burnish

#endif  // COMPILER_DRIVER_INPUT_LAYOUT_H_
