// The schedule that a task gets before anything was measured: the best point by the analytic model.
#ifndef TUNER_SKETCH_DEFAULT_SCHEDULE_H_
#define TUNER_SKETCH_DEFAULT_SCHEDULE_H_

#include <vector>

#include "compiler/ir/program.h"
#include "compiler/schedule/trace.h"
#include "compiler/target/device_model.h"
#include "tuner/sketch/sketch.h"

namespace burnish {

struct DefaultNeeds {
  // Whether each form of packed weights has a best one, too.
  bool by_form = false;
  // The least that a call wants is one part in so many (ExtractedTask::call_parts). The best is
  // best in the mean of such calls and those that want all, by what each element takes.
  double call_parts = 1;
};

struct DefaultChoice {
  Trace trace = {};
  double seconds = 0;  // Of all, by the analytic model; infinite where nothing is known.
  Numerics numerics = {.kind = NumericsClass::kExact};  // Of the scheduled program.
};

// The best for each way of rounding: without an algorithm, and where `options` allow algorithms
// with each parameter of each of them, for all workers of `device`. Fastest first, never empty. All
// apply; deterministic.
std::vector<DefaultChoice> DefaultSchedules(const Program& workload, const DeviceModel& device,
                                            const SketchOptions& options = {},
                                            const DefaultNeeds& needs = {});

// The fastest of them. Without options: candidate 0 of every study.
Trace DefaultSchedule(const Program& workload, const DeviceModel& device,
                      const SketchOptions& options = {});

}  // namespace burnish

#endif  // TUNER_SKETCH_DEFAULT_SCHEDULE_H_
