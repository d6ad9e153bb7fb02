#include "tuner/search/random_strategy.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "tuner/search/random_points.h"

namespace burnish {

absl::StatusOr<std::vector<Proposal>> RandomStrategy::Suggest(
    int count, absl::Span<const std::string> pending_ids, const CandidateScorer& scorer) const {
  Selection selection(state_, pending_ids, count);
  Rng rng = SuggestRng(options_.seed, options_.task, state_, pending_ids);
  RETURN_IF_ERROR(TakeRandom(*options_.space, count, scorer, rng, selection));
  return std::move(selection).Finish();
}

}  // namespace burnish
