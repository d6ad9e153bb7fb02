// Evolution under a cost model where the space is large, a ranking of all of it where it is small,
// and in both a descent around the best measured point.
// Source: Zheng et al., "Ansor", OSDI 2020, section 5.1.
#ifndef TUNER_SEARCH_EVOLUTIONARY_STRATEGY_H_
#define TUNER_SEARCH_EVOLUTIONARY_STRATEGY_H_

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tuner/search/scored_pool.h"
#include "tuner/search/search_state.h"
#include "tuner/search/search_strategy.h"

namespace burnish {

// A batch is: seeds that were not tried; random candidates, so that the model sees what it would
// never propose; neighbours of the best measured points; and the best by score. The share of
// neighbours grows when the search stalls.
class EvolutionaryStrategy : public SearchStrategy {
 public:
  explicit EvolutionaryStrategy(SearchOptions options);

  absl::StatusOr<std::vector<Proposal>> Suggest(int count, absl::Span<const Proposal> pending,
                                                const CandidateScorer& scorer) const override;
  void Update(absl::Span<const Observation> results) override { state_.Add(results); }

 private:
  // Takes up to `count` neighbours of the fastest points, best score first.
  absl::Status TakeNeighbours(int count, ScoredPool& pool, Selection& selection) const;

  const SearchOptions options_;
  const std::vector<Proposal> seeds_;
  SearchState state_;
};

}  // namespace burnish

#endif  // TUNER_SEARCH_EVOLUTIONARY_STRATEGY_H_
