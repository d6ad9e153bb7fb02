#include "tuner/search/random_strategy.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "tuner/search/random_points.h"

namespace burnish {

absl::StatusOr<std::vector<Proposal>> RandomStrategy::Suggest(int count,
                                                              absl::Span<const Proposal> pending,
                                                              const CandidateScorer& scorer) const {
  ASSIGN_OR_RETURN(Selection selection, Selection::Create(state_, pending, scorer, count));
  Rng rng = SuggestRng(options_.seed, options_.task, state_, pending);
  RETURN_IF_ERROR(TakeRandom(*options_.space, count, scorer, rng, selection));
  return std::move(selection).Finish();
}

}  // namespace burnish
