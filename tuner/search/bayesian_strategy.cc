#include "tuner/search/bayesian_strategy.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "tuner/search/evolution.h"
#include "tuner/search/random_points.h"
#include "tuner/search/scored_pool.h"
#include "tuner/search/take_seeds.h"

namespace burnish {
namespace {

// Of a space that is not enumerated: the measured ones whose neighbours join the pool, and points
// by chance in it. Choices that bound its time.
constexpr int kNeighboursOf = 4;
constexpr int kRandomPoints = 256;

}  // namespace

BayesianStrategy::BayesianStrategy(SearchOptions options)
    : options_(std::move(options)), seeds_(RecognizeAll(*options_.space, options_.seed_traces)) {}

absl::StatusOr<std::vector<Proposal>> BayesianStrategy::Pool(const Selection& selection,
                                                             const CandidateScorer& scorer,
                                                             Rng& rng) const {
  const SearchSpace& space = *options_.space;
  std::vector<Proposal> all;
  if (space.enumerated() != nullptr) {
    all = *space.enumerated();
  } else {
    ScoredPool pool(scorer);
    Rng draws = PoolRng(options_.seed, options_.task, state_);
    RETURN_IF_ERROR(Evolve(space, state_, seeds_, draws, rng, pool));
    for (const ScoredProposal* scored : pool.Ranked()) all.push_back(scored->proposal);
    for (const Observation* start : state_.Fastest(kNeighboursOf)) {
      const int sketch = start->proposal.sketch_index;
      for (const Point& point : space.Neighbours(sketch, start->proposal.point)) {
        ASSIGN_OR_RETURN(all.emplace_back(), space.Propose(sketch, point));
      }
    }
    for (int i = 0; i < kRandomPoints; ++i) {
      ASSIGN_OR_RETURN(std::optional<Proposal> proposal, space.RandomProposal(draws));
      if (proposal.has_value()) all.push_back(*std::move(proposal));
    }
  }
  // Where nothing is known the first of equals is taken: another one by each seed.
  for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[rng.Below(i)]);
  std::vector<Proposal> open;
  absl::flat_hash_set<std::string> ids, lowered;
  for (Proposal& proposal : all) {
    if (!selection.IsOpen(proposal.candidate_id)) continue;
    if (!ids.insert(proposal.candidate_id).second) continue;
    ASSIGN_OR_RETURN(const std::string fingerprint, scorer.Fingerprint(proposal));
    if (!fingerprint.empty() &&
        (selection.IsLoweredKnown(fingerprint) || !lowered.insert(fingerprint).second)) {
      continue;
    }
    open.push_back(std::move(proposal));
  }
  return open;
}

absl::StatusOr<std::vector<Proposal>> BayesianStrategy::Suggest(
    int count, absl::Span<const Proposal> pending, const CandidateScorer& scorer) const {
  ASSIGN_OR_RETURN(Selection selection, Selection::Create(state_, pending, scorer, count));
  Rng rng = SuggestRng(options_.seed, options_.task, state_, pending);
  RETURN_IF_ERROR(TakeSeeds(seeds_, scorer, selection));
  ASSIGN_OR_RETURN(const std::vector<Proposal> open, Pool(selection, scorer, rng));
  std::vector<Proposal> beside(pending.begin(), pending.end());
  beside.insert(beside.end(), selection.chosen().begin(), selection.chosen().end());
  ASSIGN_OR_RETURN(const std::vector<int> places,
                   scorer.Choose(open, beside, state_.observations(), selection.left()));
  for (const int place : places) {
    ASSIGN_OR_RETURN(std::string fingerprint, scorer.Fingerprint(open[place]));
    selection.Take(open[place], {.valid = true, .fingerprint = std::move(fingerprint)});
  }
  // Evolution may have met too few that are open; an enumerated space has nothing else.
  if (!selection.full() && options_.space->enumerated() == nullptr) {
    RETURN_IF_ERROR(TakeRandom(*options_.space, selection.left(), scorer, rng, selection));
  }
  return std::move(selection).Finish();
}

}  // namespace burnish
