// Measures candidates inside a model: those of all its tasks in one process, in the model's order.
#ifndef TUNER_MEASURE_NETWORK_MEASURER_H_
#define TUNER_MEASURE_NETWORK_MEASURER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/measurement.h"
#include "proto/run_job.h"
#include "tuner/measure/measurer.h"

namespace burnish {

struct NetworkCandidate {
  std::shared_ptr<const MeasureTask> task = nullptr;  // Not null; all of one target.
  std::string trace = {};
};

struct NetworkRequest {
  std::vector<NetworkCandidate> candidates = {};  // The same one may be there twice: loaded twice.
  ModelOrder order = {};
  std::string model_id = {};  // 32 bytes that name the model's order; empty: nothing does.
  absl::Duration timeout = absl::ZeroDuration();  // Of the process that runs it; > 0.
};

// Before any model ran: it does not run, or its outputs are wrong.
inline bool FailedAlone(const Measurement& measurement) {
  return measurement.failure() != nullptr && measurement.environment.mode == MeasureMode::kIsolated;
}

struct NetworkResult {
  // One per candidate: latencies as ModelOrder says, or a failure. Candidate id and method version
  // are set.
  std::vector<Measurement> measurements = {};
  // False: no model ran. The failures are of candidates that could not be built, or that
  // FailedAlone.
  bool has_run = false;
};

class NetworkMeasurer {
 public:
  virtual ~NetworkMeasurer() = default;

  // Builds what is not built, has each run alone and its outputs judged, runs all in one fresh
  // process, and waits for it. `stop` is asked
  // about once a second; true ends it with CANCELLED. UNAVAILABLE: nobody answers, or nobody can do
  // it.
  virtual absl::StatusOr<NetworkResult> Measure(const NetworkRequest& request,
                                                const std::function<bool()>& stop) = 0;
};

}  // namespace burnish

#endif  // TUNER_MEASURE_NETWORK_MEASURER_H_
