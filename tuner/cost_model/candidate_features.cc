#include "tuner/cost_model/candidate_features.h"

#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "compiler/ir/fingerprint.h"
#include "compiler/ir/lower.h"
#include "tuner/cost_model/features.h"

namespace burnish {

CandidateFeatureExtractor::CandidateFeatureExtractor(Program workload, DeviceModel device,
                                                     int threads)
    : replay_(std::move(workload)), device_(std::move(device)), threads_(threads) {
  CHECK_GE(threads, 1);
}

absl::StatusOr<CandidateFeatures> CandidateFeatureExtractor::Extract(const Trace& trace) {
  ASSIGN_OR_RETURN(const Program* scheduled, replay_.Apply(trace));
  ASSIGN_OR_RETURN(const Program lowered, Lower(*scheduled, {.for_estimate = true}));
  return CandidateFeatures{.features = ExtractFeatures(lowered, device_, threads_),
                           .fingerprint = FingerprintOf(lowered)};
}

}  // namespace burnish
