// A task whose latencies are a formula with a known optimum, for tests of search: no compiler, no
// device, no noise but what a seed says.
#ifndef TUNER_SEARCH_SYNTHETIC_TASK_H_
#define TUNER_SEARCH_SYNTHETIC_TASK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tuner/search/candidate_scorer.h"
#include "tuner/search/search_space.h"

namespace burnish {

struct SyntheticTaskOptions {
  int sketch_count = 2;
  int decision_count = 6;  // Per sketch.
  int value_count = 8;     // Per decision: 1, 2, 4, ..
  uint64_t seed = 0;       // Of where the optimum is.
};

// Sketches and a cost: each decision costs by its distance from the optimum, neighbours interact,
// and only the first sketch reaches the optimum.
class SyntheticTask {
 public:
  explicit SyntheticTask(const SyntheticTaskOptions& options);

  const std::vector<Sketch>& sketches() const { return sketches_; }
  std::shared_ptr<const SearchSpace> Space(int64_t enumerated_points_max = 4096) const;

  int64_t LatencyNs(const Proposal& proposal) const;
  // Of the best valid point.
  static constexpr int64_t kBestNs = 100'000;
  // The observation of a measurement without noise.
  Observation Measure(const Proposal& proposal) const;

 private:
  std::vector<Sketch> sketches_;
  std::vector<std::vector<double>> best_;  // Position of the optimum: [sketch][decision].
};

struct SyntheticScorerOptions {
  double noise = 0;        // Standard deviation of the score, in units of log latency.
  bool knows_cost = true;  // False: every score is 0.
  int invalid_one_in = 0;  // So many candidates' traces do not apply; 0: all apply.
  int twin_groups = 0;     // > 0: that many different lowered programs; 0: hashes are not known.
};

// Scores by the task's formula with noise by candidate.
class SyntheticScorer : public CandidateScorer {
 public:
  // The task outlives the scorer.
  SyntheticScorer(const SyntheticTask& task, const SyntheticScorerOptions& options)
      : task_(task), options_(options) {}

  absl::StatusOr<std::vector<CandidateScore>> Score(
      absl::Span<const Proposal> proposals) const override;
  bool IsInvalid(const std::string& candidate_id) const;
  absl::StatusOr<std::string> Fingerprint(const Proposal& proposal) const override;

 private:
  const SyntheticTask& task_;
  const SyntheticScorerOptions options_;
};

}  // namespace burnish

#endif  // TUNER_SEARCH_SYNTHETIC_TASK_H_
