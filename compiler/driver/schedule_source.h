// Where the driver gets schedules from: the tuner's database, or defaults.
#ifndef COMPILER_DRIVER_SCHEDULE_SOURCE_H_
#define COMPILER_DRIVER_SCHEDULE_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/graph/extract_tasks.h"
#include "compiler/target/target.h"
#include "proto/measurement.h"

namespace burnish {

enum class ScheduleOrigin {
  kTuned,       // Measured on this target.
  kCompatible,  // Measured on another target for which the trace is valid.
  kSameAnchor,  // Measured on a workload that differs in what its `finish` computes.
  kDefault,     // Not measured.
};

// "tuned", "compatible", "same-anchor", "default".
absl::string_view ScheduleOriginName(ScheduleOrigin origin);

// A schedule as a source knows it: of a record, or a default.
struct KnownSchedule {
  std::string trace = "";  // Names as in the task's workload text. Empty: the default nest.
  ScheduleOrigin origin = ScheduleOrigin::kDefault;
  int64_t latency_ns = 0;   // Of this workload; 0: not known.
  double estimated_ns = 0;  // Likewise, by the cost model.
  Numerics numerics = {.kind = NumericsClass::kExact};
};

class ScheduleSource {
 public:
  virtual ~ScheduleSource() = default;

  // A few good schedules for the task, in any order. None: the driver takes the default nest.
  // Thread-safe: tasks are looked up at the same time.
  virtual absl::StatusOr<std::vector<KnownSchedule>> Find(const ExtractedTask& task,
                                                          const Target& target) = 0;

  // What the cost model expects of another task's trace on this one, in ns. UNIMPLEMENTED: there is
  // no cost model. Other errors: the trace is none of this task's.
  virtual absl::StatusOr<double> Estimate(const ExtractedTask& task, const std::string& trace,
                                          const Target& target);
};

// Knows no schedule: every task gets the default nest, which is right and slow.
class DefaultScheduleSource : public ScheduleSource {
 public:
  absl::StatusOr<std::vector<KnownSchedule>> Find(const ExtractedTask& task,
                                                  const Target& target) override;
};

}  // namespace burnish

#endif  // COMPILER_DRIVER_SCHEDULE_SOURCE_H_
