// Uniform over the points of all sketches: the baseline that every other strategy must beat.
#ifndef TUNER_SEARCH_RANDOM_STRATEGY_H_
#define TUNER_SEARCH_RANDOM_STRATEGY_H_

#include <vector>

#include "tuner/search/search_state.h"
#include "tuner/search/search_strategy.h"

namespace burnish {

// Scores count only in that a trace must apply.
class RandomStrategy : public SearchStrategy {
 public:
  explicit RandomStrategy(SearchOptions options) : options_(std::move(options)) {}

  absl::StatusOr<std::vector<Proposal>> Suggest(int count, absl::Span<const Proposal> pending,
                                                const CandidateScorer& scorer) const override;
  void Update(absl::Span<const Observation> results) override { state_.Add(results); }

 private:
  const SearchOptions options_;
  SearchState state_;
};

}  // namespace burnish

#endif  // TUNER_SEARCH_RANDOM_STRATEGY_H_
