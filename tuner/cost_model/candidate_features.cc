#include "tuner/cost_model/candidate_features.h"

#include <utility>

#include "base/check.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "compiler/ir/lower.h"
#include "compiler/ir/printer.h"
#include "tuner/cost_model/features.h"

namespace burnish {

CandidateFeatureExtractor::CandidateFeatureExtractor(Program workload, const IsaModel& isa,
                                                     int threads)
    : replay_(std::move(workload)), isa_(isa), threads_(threads) {
  CHECK_GE(threads, 1);
}

absl::StatusOr<CandidateFeatures> CandidateFeatureExtractor::Extract(absl::string_view trace) {
  ASSIGN_OR_RETURN(const Trace parsed, ParseTrace(trace));
  return Extract(parsed);
}

absl::StatusOr<CandidateFeatures> CandidateFeatureExtractor::Extract(const Trace& trace) {
  ASSIGN_OR_RETURN(const Program* scheduled, replay_.Apply(trace));
  ASSIGN_OR_RETURN(const Program lowered, Lower(*scheduled));
  const std::string text = Print(lowered);
  const Sha256Digest digest = Sha256Of(text.data(), text.size());
  return CandidateFeatures{.features = ExtractFeatures(lowered, isa_, threads_),
                           .lowered_sha256 = std::string(digest.begin(), digest.end())};
}

}  // namespace burnish
