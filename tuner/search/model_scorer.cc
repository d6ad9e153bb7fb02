#include "tuner/search/model_scorer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "tuner/cost_model/gaussian_choice.h"
#include "tuner/search/rank_latency.h"

namespace burnish {

ModelScorer::ModelScorer(std::shared_ptr<SharedModel> shared, std::string task, int columns,
                         FeatureExtractor extract, std::optional<ProcessColumns> process)
    : shared_(std::move(shared)),
      task_(std::move(task)),
      columns_(columns),
      extract_(std::move(extract)),
      process_(process) {}

absl::StatusOr<const ModelScorer::Known*> ModelScorer::Extract(const Proposal& proposal) const {
  const auto found = known_.find(proposal.candidate_id);
  if (found != known_.end()) return &found->second;
  // All at once rather than the oldest: what is forgotten is only computed again, so no order of
  // use is kept.
  if (known_.size() >= kKnownMax) known_.clear();
  absl::StatusOr<Extraction> extraction = extract_(proposal);
  Known known;
  if (extraction.ok()) {
    known = {true, *std::move(extraction)};
    CHECK_EQ(known.extraction.features.size(), static_cast<size_t>(columns_));
    // A trace that does not apply is a fact about the candidate, and is remembered as such. Any
    // other error is ours and would make valid candidates vanish, so it ends the study.
  } else if (!absl::IsInvalidArgument(extraction.status())) {
    return extraction.status();
  }
  return &known_.insert_or_assign(proposal.candidate_id, std::move(known)).first->second;
}

absl::StatusOr<std::vector<CandidateScore>> ModelScorer::Score(
    absl::Span<const Proposal> proposals) const {
  FeatureMatrix features(columns_);
  std::vector<CandidateScore> scores(proposals.size());
  for (size_t i = 0; i < proposals.size(); ++i) {
    ASSIGN_OR_RETURN(const Known* known, Extract(proposals[i]));
    if (!known->valid) continue;
    scores[i].valid = true;
    scores[i].fingerprint = known->extraction.fingerprint;
    features.AddRow(known->extraction.features);
  }
  // Models need not take an empty matrix.
  if (features.rows() == 0) return scores;
  ASSIGN_OR_RETURN(const std::vector<float> predicted, shared_->model->Predict(features));
  // Rows are those of the valid candidates alone, in their order.
  size_t row = 0;
  for (CandidateScore& score : scores) {
    if (score.valid) score.score = predicted[row++];
  }
  return scores;
}

absl::StatusOr<std::vector<int>> ModelScorer::Choose(absl::Span<const Proposal> candidates,
                                                     absl::Span<const Proposal> pending,
                                                     absl::Span<const Observation> measured,
                                                     int count) const {
  if (!process_.has_value()) {
    return CandidateScorer::Choose(candidates, pending, measured, count);
  }
  FeatureMatrix features(columns_);
  std::vector<double> log_latencies, prior;
  std::vector<float> row;
  // False: the trace does not apply.
  const auto add = [&](const Proposal& proposal) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const Known* known, Extract(proposal));
    if (!known->valid) return false;
    row = known->extraction.features;
    if (process_->prior != ProcessColumns::kNone) prior.push_back(row[process_->prior]);
    std::fill_n(row.begin() + process_->hidden_begin, process_->hidden_count,
                std::numeric_limits<float>::quiet_NaN());
    features.AddRow(row);
    return true;
  };
  std::vector<int> places;  // Of the candidates among the rows.
  for (int i = 0; i < static_cast<int>(candidates.size()); ++i) {
    ASSIGN_OR_RETURN(const bool valid, add(candidates[i]));
    if (valid) places.push_back(i);
  }
  for (const Proposal& proposal : pending) RETURN_IF_ERROR(add(proposal).status());
  const int asked_count = features.rows();
  for (const Observation& observation : measured) {
    ASSIGN_OR_RETURN(const bool valid, add(observation.proposal));
    if (!valid) continue;
    log_latencies.push_back(observation.failed()
                                ? std::numeric_limits<double>::infinity()
                                : std::log(static_cast<double>(observation.latency_ns)));
  }
  const int candidate_count = static_cast<int>(places.size());
  std::vector<int> chosen = burnish::Choose({.features = features,
                                             .candidate_count = candidate_count,
                                             .pending_count = asked_count - candidate_count,
                                             .log_latencies = log_latencies,
                                             .prior = prior},
                                            count);
  for (int& place : chosen) place = places[place];
  return chosen;
}

absl::StatusOr<std::string> ModelScorer::Fingerprint(const Proposal& proposal) const {
  ASSIGN_OR_RETURN(const Known* known, Extract(proposal));
  return known->extraction.fingerprint;
}

absl::Status ModelScorer::Train(absl::Span<const TrainingSample> samples) {
  FeatureMatrix features(columns_);
  std::vector<Measurement> results;
  std::string snapshot = shared_->snapshot_id;
  for (const TrainingSample& sample : samples) {
    ASSIGN_OR_RETURN(const Known* known, Extract(sample.proposal));
    if (!known->valid) continue;
    features.AddRow(known->extraction.features);
    results.push_back(sample.measurement);
    // A chain over samples, not over calls: a study that trained in rounds and one that replays its
    // log in one go have learned the same, and must say so. Latencies are in it since a failure and
    // a time teach different things.
    snapshot = Sha256Hex(absl::StrCat(snapshot, sample.proposal.candidate_id, ":",
                                      RankLatencyNs(sample.measurement)));
  }
  if (results.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(shared_->model->Update(task_, features, results));
  shared_->snapshot_id = std::move(snapshot);
  return absl::OkStatus();
}

}  // namespace burnish
