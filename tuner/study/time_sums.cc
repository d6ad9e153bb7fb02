#include "tuner/study/time_sums.h"

namespace burnish {

void AddEffort(const Measurement& measurement, StudyTimes& times) {
  times.build += absl::Nanoseconds(measurement.build.build_ns);
  times.check += absl::Nanoseconds(measurement.effort.check_ns);
  times.run += absl::Nanoseconds(measurement.effort.run_ns);
  times.queue += absl::Nanoseconds(measurement.effort.wait_ns);
}

}  // namespace burnish
