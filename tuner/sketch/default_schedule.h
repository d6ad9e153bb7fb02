// The schedule that a task gets before anything was measured: the best point by the analytic model.
#ifndef TUNER_SKETCH_DEFAULT_SCHEDULE_H_
#define TUNER_SKETCH_DEFAULT_SCHEDULE_H_

#include "compiler/ir/program.h"
#include "compiler/schedule/trace.h"
#include "proto/isa_model.h"
#include "tuner/sketch/sketch.h"

namespace burnish {

// Candidate 0 of every study. Always applies; deterministic.
Trace DefaultSchedule(const Program& workload, const IsaModel& isa, int threads,
                      const SketchOptions& options = {});

}  // namespace burnish

#endif  // TUNER_SKETCH_DEFAULT_SCHEDULE_H_
