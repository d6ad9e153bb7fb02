#include "tuner/search/evolutionary_strategy.h"

#include <algorithm>

#include "base/status_macros.h"
#include "tuner/search/evolution.h"
#include "tuner/search/random_points.h"
#include "tuner/search/take_seeds.h"

namespace burnish {
namespace {

// Shares of a batch. Nothing was measured for them; they are choices between three risks. Without
// random candidates the model learns only from what it proposed, and what it wrongly thinks slow
// stays unseen (TVM's auto_scheduler: eps_greedy, 0.05).
constexpr double kRandomShare = 0.1;
// Neighbours of the best do not depend on the model at all: a descent in measured times, which ends
// at a point that no change of one decision improves. A search that stalls under its model gives
// most of the batch to it, and keeps a third for the model, which goes on learning.
constexpr double kDescentShare = 0.25;
constexpr double kStalledDescentShare = 0.6;
// Four batches of 16. Fewer would call a single unlucky batch a stall.
// A search stalls when this many observations brought nothing better.
constexpr int kStalledAfter = 64;
// The descent goes on from the next one when a point's neighbours are all measured.
constexpr int kDescentPointsMax = 4;

}  // namespace

EvolutionaryStrategy::EvolutionaryStrategy(SearchOptions options)
    : options_(std::move(options)), seeds_(RecognizeAll(*options_.space, options_.seed_traces)) {}

absl::Status EvolutionaryStrategy::TakeNeighbours(int count, ScoredPool& pool,
                                                  Selection& selection) const {
  // By measured time, not by score: the descent is what mends the model's errors.
  for (const Observation* start : state_.Fastest(kDescentPointsMax)) {
    if (count <= 0) break;
    const int sketch = start->proposal.sketch_index;
    std::vector<Proposal> open;
    for (const Point& point : options_.space->Neighbours(sketch, start->proposal.point)) {
      ASSIGN_OR_RETURN(Proposal proposal, options_.space->Propose(sketch, point));
      // Neighbours() puts the nearest values first, and so does `open`.
      if (selection.IsOpen(proposal.candidate_id)) open.push_back(std::move(proposal));
    }
    RETURN_IF_ERROR(pool.Add(open));
    std::vector<std::pair<float, size_t>> order;  // Of equal scores the nearer one goes first.
    for (size_t i = 0; i < open.size(); ++i) {
      order.emplace_back(-pool.Find(open[i].candidate_id)->score.score, i);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [score, index] : order) {
      if (count <= 0) break;
      const Proposal& proposal = open[index];
      count -= selection.Take(proposal, pool.Find(proposal.candidate_id)->score);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Proposal>> EvolutionaryStrategy::Suggest(
    int count, absl::Span<const Proposal> pending, const CandidateScorer& scorer) const {
  const SearchSpace& space = *options_.space;
  // Nothing but the arguments and what Update was told enters here, no clock and no state of an
  // earlier call: a study that is resumed calls this again and must get the same batch.
  ASSIGN_OR_RETURN(Selection selection, Selection::Create(state_, pending, scorer, count));
  Rng rng = SuggestRng(options_.seed, options_.task, state_, pending);
  RETURN_IF_ERROR(TakeSeeds(seeds_, scorer, selection));

  // A share of a small batch is a chance: without it batches of one would never be random.
  const int rest = selection.left();
  const auto share_of = [&rng, rest](double share) {
    return static_cast<int>(share * rest + rng.Uniform());
  };
  const bool stalled = state_.stalled_count() >= kStalledAfter;
  const int random_count = share_of(kRandomShare);
  const int descent_count = share_of(stalled ? kStalledDescentShare : kDescentShare);

  // The order is that of what must not be crowded out: random ones, then neighbours, and the
  // model's choice fills what is left. The model's favourites would otherwise take the very points
  // that the others want, and their shares with them.
  ScoredPool pool(scorer);
  RETURN_IF_ERROR(TakeRandom(space, random_count, scorer, rng, selection));
  RETURN_IF_ERROR(TakeNeighbours(std::min(descent_count, selection.left()), pool, selection));
  // A small space is scored whole: the exact argmax of the model, which evolution only approaches.
  if (space.enumerated() != nullptr) {
    RETURN_IF_ERROR(pool.Add(*space.enumerated()));
  } else {
    Rng founders = PoolRng(options_.seed, options_.task, state_);
    RETURN_IF_ERROR(Evolve(space, state_, seeds_, founders, rng, pool));
  }
  for (const ScoredProposal* scored : pool.Ranked()) {
    if (selection.full()) break;
    selection.Take(scored->proposal, scored->score);
  }
  // Evolution may have met too few that are open; an enumerated space has nothing else.
  if (!selection.full() && space.enumerated() == nullptr) {
    RETURN_IF_ERROR(TakeRandom(space, selection.left(), scorer, rng, selection));
  }
  return std::move(selection).Finish();
}

}  // namespace burnish
