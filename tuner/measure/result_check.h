// The border between the farm and the study: what a worker says is believed field by field, or not
// at all. A result that is refused is no failure of its candidate; the worker that sent it is at
// fault, and another attempt is made (FailureKind::kWorkerLost).
#ifndef TUNER_MEASURE_RESULT_CHECK_H_
#define TUNER_MEASURE_RESULT_CHECK_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/numerics.h"
#include "proto/build_job.h"
#include "proto/measurement.h"

namespace burnish {

// What was asked for. Results are compared with this, never overwritten by it.
struct RunClaim {
  std::string candidate_id = "";
  std::string worker_id = "";  // Whom the tracker has the result from; empty: the tracker's own.
  Numerics numerics = {};      // As built; the error is the runner's to say.
  uint64_t seed = 0;           // Of the inputs.
  int32_t threads = 0;         // Of the target.
  int32_t process_count = 1;   // At most so many processes have latencies.
  int64_t latency_count = 0;   // At most so many a process.
  int32_t method_version = 0;
  MeasureMode mode = MeasureMode::kIsolated;
};

// INVALID_ARGUMENT: another candidate's, or a field that is out of its bounds (result_check.cc has
// them all, with their units and reasons). Fields of the environment that are zero or empty were
// not said, which older workers may do; what is said must be right.
absl::Status CheckRunResult(const Measurement& measurement, const RunClaim& claim);

// The same of a builder's.
absl::Status CheckBuildResult(const BuildResult& result, absl::string_view candidate_id,
                              int32_t codegen_epoch);

// "worker w sent ...", as a failure that says nothing of the candidate and counts as no trial.
Failure MalformedResult(absl::string_view worker_id, const absl::Status& status);

}  // namespace burnish

#endif  // TUNER_MEASURE_RESULT_CHECK_H_
