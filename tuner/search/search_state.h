// What a strategy remembers of its updates, and what keeps it from suggesting anything twice.
#ifndef TUNER_SEARCH_SEARCH_STATE_H_
#define TUNER_SEARCH_SEARCH_STATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/rng.h"
#include "tuner/search/candidate_scorer.h"
#include "tuner/search/proposal.h"

namespace burnish {

class SearchState {
 public:
  // A candidate that is known already is passed over.
  void Add(absl::Span<const Observation> results);

  bool IsKnown(const std::string& candidate_id) const { return known_.contains(candidate_id); }
  bool IsLoweredKnown(const std::string& sha256) const { return lowered_.contains(sha256); }

  // Of successful candidates that have a sketch, fastest first; at most `count`.
  std::vector<const Observation*> Fastest(int count) const;

  // As told, each candidate once.
  absl::Span<const Observation> observations() const { return observations_; }
  int64_t observation_count() const { return static_cast<int64_t>(observations_.size()); }
  // Observations since the best one.
  int64_t stalled_count() const { return observation_count() - 1 - best_index_; }

 private:
  std::vector<Observation> observations_;  // As told.
  absl::flat_hash_set<std::string> known_;
  absl::flat_hash_set<std::string> lowered_;
  std::vector<int64_t> by_latency_;  // Indices of what Fastest returns.
  int64_t best_index_ = -1;          // Of all successful ones; -1: none.
};

// The stream of one Suggest: of everything that it is a function of, but the scores.
Rng SuggestRng(uint64_t seed, const std::string& task, const SearchState& state,
               absl::Span<const Proposal> pending);

// The stream of what a Suggest draws without regard to scores. The same for some observations in
// turn, so that those points are lowered once and not for each Suggest.
Rng PoolRng(uint64_t seed, const std::string& task, const SearchState& state);

// A batch in the making: takes a candidate only if it may be suggested.
class Selection {
 public:
  // `state` outlives it. Errors are the scorer's, which is asked for what `pending` lowers to.
  static absl::StatusOr<Selection> Create(const SearchState& state,
                                          absl::Span<const Proposal> pending,
                                          const CandidateScorer& scorer, int count);

  bool full() const { return static_cast<int>(chosen_.size()) >= count_; }
  int left() const { return count_ - static_cast<int>(chosen_.size()); }

  // Neither measured nor pending nor chosen: worth a score.
  bool IsOpen(const std::string& candidate_id) const;

  // Lowers to what was measured, is pending or chosen.
  bool IsLoweredKnown(const std::string& fingerprint) const;

  absl::Span<const Proposal> chosen() const { return chosen_; }

  // False: full, not valid, not open, or a twin of one that was measured or chosen.
  bool Take(const Proposal& proposal, const CandidateScore& score);

  std::vector<Proposal> Finish() && { return std::move(chosen_); }

 private:
  Selection(const SearchState* state, int count) : state_(state), count_(count) {}

  const SearchState* state_;
  int count_;
  absl::flat_hash_set<std::string> taken_;    // Pending and chosen.
  absl::flat_hash_set<std::string> lowered_;  // Of both.
  std::vector<Proposal> chosen_;
};

}  // namespace burnish

#endif  // TUNER_SEARCH_SEARCH_STATE_H_
