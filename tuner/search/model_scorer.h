// Scores candidates by a cost model on features of their lowered programs.
#ifndef TUNER_SEARCH_MODEL_SCORER_H_
#define TUNER_SEARCH_MODEL_SCORER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tuner/cost_model/cost_model.h"
#include "tuner/search/candidate_scorer.h"

namespace burnish {

struct Extraction {
  std::vector<float> features = {};  // One row, as many columns as the model's.
  std::string fingerprint = {};      // May be empty.
};

// INVALID_ARGUMENT: the trace does not apply. Any other error: our fault; scoring fails with it.
using FeatureExtractor = std::function<absl::StatusOr<Extraction>(const Proposal&)>;

// A model that the tasks of a study share: what one teaches it helps the others.
struct SharedModel {
  std::unique_ptr<CostModel> model;  // Not null.
  std::string snapshot_id = "untrained";
};

// Which columns of a feature row a Gaussian process over them may use (gaussian_choice.h).
struct ProcessColumns {
  static constexpr int kNone = -1;

  int prior = kNone;  // Holds what is believed of ln(seconds).
  int hidden_begin = 0, hidden_count = 0;
};

class ModelScorer : public TrainableScorer {
 public:
  // `task`: as in CostModel::Update. `columns`: of a feature row, >= 1. `process`: by what Choose
  // chooses; nullopt: by the model's score.
  ModelScorer(std::shared_ptr<SharedModel> shared, std::string task, int columns,
              FeatureExtractor extract, std::optional<ProcessColumns> process = std::nullopt);

  absl::StatusOr<std::vector<CandidateScore>> Score(
      absl::Span<const Proposal> proposals) const override;
  absl::StatusOr<std::vector<int>> Choose(absl::Span<const Proposal> candidates,
                                          absl::Span<const Proposal> pending,
                                          absl::Span<const Observation> measured,
                                          int count) const override;
  absl::StatusOr<std::string> Fingerprint(const Proposal& proposal) const override;
  absl::Status Train(absl::Span<const TrainingSample> samples) override;
  std::string snapshot_id() const override { return shared_->snapshot_id; }

 private:
  struct Known {
    bool valid = false;
    Extraction extraction;
  };

  // Remembered candidates; all are forgotten when there are more, which costs time only.
  static constexpr size_t kKnownMax = 32768;

  absl::StatusOr<const Known*> Extract(const Proposal& proposal) const;

  const std::shared_ptr<SharedModel> shared_;
  const std::string task_;
  const int columns_;
  const FeatureExtractor extract_;
  const std::optional<ProcessColumns> process_;
  mutable absl::flat_hash_map<std::string, Known> known_;  // By candidate id.
};

}  // namespace burnish

#endif  // TUNER_SEARCH_MODEL_SCORER_H_
