// From a candidate to the job that builds it.
#ifndef TUNER_MEASURE_BUILD_SPEC_H_
#define TUNER_MEASURE_BUILD_SPEC_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "proto/job.h"
#include "tuner/measure/measurer.h"

namespace burnish {

std::string CandidateIdOf(const MeasureTask& task, const std::string& trace);

struct BuildSpecOptions {
  std::string id = {};  // Of the job.
  std::string study = {};
  int32_t priority = 0;
  absl::Duration build_timeout = absl::ZeroDuration();  // CPU time of the compiling child.
};
JobSpec MakeBuildSpec(const MeasureTask& task, const std::string& trace,
                      const BuildSpecOptions& options);

}  // namespace burnish

#endif  // TUNER_MEASURE_BUILD_SPEC_H_
