// Scores candidates by a cost model on features of their lowered programs.
#ifndef TUNER_SEARCH_MODEL_SCORER_H_
#define TUNER_SEARCH_MODEL_SCORER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tuner/cost_model/cost_model.h"
#include "tuner/search/candidate_scorer.h"

namespace burnish {

struct Extraction {
  std::vector<float> features = {};  // One row, as many columns as the model's.
  std::string lowered_sha256 = {};   // May be empty.
};

// INVALID_ARGUMENT: the trace does not apply. Any other error: our fault; scoring fails with it.
using FeatureExtractor = std::function<absl::StatusOr<Extraction>(const Proposal&)>;

class ModelScorer : public TrainableScorer {
 public:
  // `columns`: of a feature row, >= 1.
  ModelScorer(std::unique_ptr<CostModel> model, int columns, FeatureExtractor extract);

  absl::StatusOr<std::vector<CandidateScore>> Score(
      absl::Span<const Proposal> proposals) const override;
  absl::Status Train(absl::Span<const TrainingSample> samples) override;
  std::string snapshot_id() const override { return snapshot_id_; }

 private:
  struct Known {
    bool valid = false;
    Extraction extraction;
  };

  // Remembered candidates; all are forgotten when there are more, which costs time only.
  static constexpr size_t kKnownMax = 32768;

  absl::StatusOr<const Known*> Extract(const Proposal& proposal) const;

  const std::unique_ptr<CostModel> model_;
  const int columns_;
  const FeatureExtractor extract_;
  std::string snapshot_id_;
  mutable absl::flat_hash_map<std::string, Known> known_;  // By candidate id.
};

}  // namespace burnish

#endif  // TUNER_SEARCH_MODEL_SCORER_H_
