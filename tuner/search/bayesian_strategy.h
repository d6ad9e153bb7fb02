// Asks the scorer which candidates to measure next, of the whole space where it is small, else of
// what evolution, the measured ones' neighbours and chance bring.
#ifndef TUNER_SEARCH_BAYESIAN_STRATEGY_H_
#define TUNER_SEARCH_BAYESIAN_STRATEGY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tuner/search/search_state.h"
#include "tuner/search/search_strategy.h"

namespace burnish {

// Whether to look where little is known is the scorer's to weigh (CandidateScorer::Choose): no
// share of a batch is left to chance.
class BayesianStrategy : public SearchStrategy {
 public:
  explicit BayesianStrategy(SearchOptions options);

  absl::StatusOr<std::vector<Proposal>> Suggest(int count, absl::Span<const Proposal> pending,
                                                const CandidateScorer& scorer) const override;
  void Update(absl::Span<const Observation> results) override { state_.Add(results); }

 private:
  // Candidates that may be taken, each lowered program once, in a random order.
  absl::StatusOr<std::vector<Proposal>> Pool(const Selection& selection,
                                             const CandidateScorer& scorer, Rng& rng) const;

  const SearchOptions options_;
  const std::vector<Proposal> seeds_;
  SearchState state_;
};

}  // namespace burnish

#endif  // TUNER_SEARCH_BAYESIAN_STRATEGY_H_
