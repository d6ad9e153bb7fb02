// From a candidate's trace to its row of features: replay, lowering, extraction.
#ifndef TUNER_COST_MODEL_CANDIDATE_FEATURES_H_
#define TUNER_COST_MODEL_CANDIDATE_FEATURES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/program.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_replay.h"
#include "compiler/target/device_model.h"

namespace burnish {

struct CandidateFeatures {
  std::vector<float> features;  // [kFeatureCount]
  // Of the lowered kernel (compiler/ir/fingerprint.h): equal for candidates that compile to the
  // same.
  std::string fingerprint;
};

// Of one task. Not thread-safe: remembers how far the candidate before went along the same way.
class CandidateFeatureExtractor {
 public:
  // `workload`: the task's program without a schedule. `device`: a CPU. `threads` >= 1.
  CandidateFeatureExtractor(Program workload, DeviceModel device, int threads);

  // INVALID_ARGUMENT: the trace does not apply, or cannot be lowered.
  absl::StatusOr<CandidateFeatures> Extract(const Trace& trace);

 private:
  TraceReplay replay_;
  const DeviceModel device_;
  const int threads_;
};

}  // namespace burnish

#endif  // TUNER_COST_MODEL_CANDIDATE_FEATURES_H_
