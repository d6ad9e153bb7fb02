// Weights that several tasks read, packed in few ways.
#ifndef COMPILER_DRIVER_SHARE_PACKS_H_
#define COMPILER_DRIVER_SHARE_PACKS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "compiler/driver/planned_model.h"
#include "compiler/driver/schedule_source.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/target/target.h"

namespace burnish {

struct SharedPack {
  int task = -1;
  KnownSchedule schedule;  // A trace of another task, as it would be of this one.
};

// The head of a detector runs with the same weights over each level of a pyramid. Each level is a
// task of its own, and where each packs the weights in its own way the bundle has them as often,
// transformed ones several times as large. A task takes over the trace of a larger reader of its
// weights, where by the cost model all readers together take hardly longer.
//
// `definitions`, `chosen`: by task. Default schedules alone give way: what was measured stays.
std::vector<SharedPack> SharePacks(const TaskList& tasks, absl::Span<const Program> definitions,
                                   absl::Span<const ChosenSchedule> chosen, ScheduleSource& source,
                                   const Target& target);

}  // namespace burnish

#endif  // COMPILER_DRIVER_SHARE_PACKS_H_
