#include "tuner/app/recorded_schedules.h"

#include <algorithm>

#include "base/status_macros.h"
#include "compiler/ir/parser.h"
#include "compiler/schedule/trace.h"
#include "proto/device_model.h"
#include "proto/measurement.h"
#include "proto/workload.h"
#include "tuner/sketch/default_schedule.h"

namespace burnish {

BestFinder BestIn(const RecordStore& records) {
  return [&records](const BestQuery& query) { return records.Best(query); };
}

absl::StatusOr<std::vector<KnownSchedule>> RecordedSchedules::Find(const ExtractedTask& task,
                                                                   const Target& target) {
  std::vector<KnownSchedule> schedules;
  if (find_best_ != nullptr) {
    BestQuery query{.workload_id = Sha256Bytes(task.workload),
                    .target = target.ToText(),
                    .isa_key = target.IsaKey(),
                    .accuracy = options_.accuracy,
                    .method_version = kMeasureMethodVersion,
                    .limit = options_.limit};
    ASSIGN_OR_RETURN(BestAnswer best, find_best_(query));
    if (best.records.empty()) {
      // Timings of an older method do not compare with these; among themselves they do.
      query.method_version.reset();
      ASSIGN_OR_RETURN(best, find_best_(query));
    }
    if (best.workload_match == WorkloadMatch::kExact) {
      for (const Record& record : best.records) {
        schedules.push_back(
            {.trace = record.trace,
             .origin = best.exact_target ? ScheduleOrigin::kTuned : ScheduleOrigin::kCompatible,
             .latency_ns = record.rank_ns,
             .numerics = record.numerics});
      }
    }
  }
  // A schedule of this target that any accuracy allows will do without the defaults, which take a
  // second or so a task.
  const bool is_served =
      std::any_of(schedules.begin(), schedules.end(), [](const KnownSchedule& schedule) {
        return schedule.origin == ScheduleOrigin::kTuned &&
               schedule.numerics.kind != NumericsClass::kAlgorithm;
      });
  if (is_served) return schedules;
  ASSIGN_OR_RETURN(const Program workload, ParseProgram(task.workload));
  const SketchOptions sketches{.algorithms = !options_.accuracy.strict};
  // In order: the first of those that the accuracy allows is the fastest by the model.
  for (const DefaultChoice& choice :
       DefaultSchedules(workload, DeviceModelOf(target, options_.calibration), sketches)) {
    schedules.push_back({.trace = PrintTrace(choice.trace),
                         .origin = ScheduleOrigin::kDefault,
                         .numerics = choice.numerics});
  }
  return schedules;
}

}  // namespace burnish
