// Big constants that tasks want in different forms, in the bundle once.
#ifndef COMPILER_DRIVER_SHARE_CONSTANTS_H_
#define COMPILER_DRIVER_SHARE_CONSTANTS_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/driver/planned_model.h"

namespace burnish {

// A table whose rows one step looks up (an embedding) and that another reads packed (the classifier
// tied to it) lies in the bundle once: the first reads its few rows from what the pack function of
// the other makes. Calls that do so get a task of their own, whose schedule `choose` gives, and an
// entry in PlannedModel::packed_arguments.
//
// Of a model whose storage is assigned; changes nothing where no constant can be shared.
absl::Status ShareConstants(
    PlannedModel& model,
    const std::function<absl::StatusOr<std::vector<ChosenSchedule>>(const TaskList&)>& choose);

}  // namespace burnish

#endif  // COMPILER_DRIVER_SHARE_CONSTANTS_H_
