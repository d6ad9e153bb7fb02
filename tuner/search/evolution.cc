#include "tuner/search/evolution.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/status_macros.h"

namespace burnish {
namespace {

// What bounds them is the search's CPU time: each new point is bound, lowered and scored. By
// replays on the tables of tests/bench/search/zen5 (five seeds; tasks of 1,000 points and more)
// regrets after 8, 32 and 64 trials are 5.6, 1.1 and 0.2 % with 128 points and four
// generations, 3.8, 1.0 and 0.2 % with two, and 3.4, 0.9 and 0.2 % with 64 and two, a quarter of
// the new points. TVM's auto_scheduler runs four generations of 2,048.
constexpr int kPopulation = 64;
constexpr int kGenerations = 2;
// The measured points lead the search to where the machine was fast, the scores lead it to where
// the model believes it is. Half of the parents come from each, so that a model that is wrong about
// one region does not choose alone.
constexpr int kMeasuredMax = 32;         // Of the fastest measured points, in the population.
constexpr double kMeasuredParent = 0.5;  // Chance that a parent is chosen by its latency.
// Crossover is the smaller part: it can only mix points of one sketch, and decisions that were
// chosen to fit together come apart. TVM's auto_scheduler takes 0.05; the difference was not
// measured.
constexpr double kCrossover = 0.2;
constexpr double kNeighbourStep = 0.6;  // Of a mutation: to the next value, else to any.
// The best of four: pressure that depends on ranks only. Scores of the analytic and of the learned
// model have different scales, so that a choice in proportion to them would mean something else
// after each training.
constexpr int kTournament = 4;
// A parent in a corner of the space may have few valid neighbours. After so many refusals it has no
// child in this generation; another parent is cheaper than looking further.
constexpr int kTriesMax = 16;

class Evolution {
 public:
  Evolution(const SearchSpace& space, const SearchState& state, Rng& rng, ScoredPool& pool)
      : space_(space), measured_(state.Fastest(kMeasuredMax)), rng_(rng), pool_(pool) {}

  absl::Status Start(absl::Span<const Proposal> seeds, Rng& founders) {
    // Measured points and seeds first. They can no longer be suggested once they are known, but
    // their children can: they are here to be parents.
    for (const Observation* one : measured_) population_.push_back(one->proposal);
    for (const Proposal& seed : seeds) {
      // A seed that no sketch can say has no point, so that nothing can be changed in it.
      if (seed.sketch_index != Proposal::kNoSketch) population_.push_back(seed);
    }
    // Twice as many draws as places: a sketch whose constraints leave next to nothing gives none,
    // and must not hold up the search of the others.
    for (int draws = 2 * kPopulation; draws > 0 && Size() < kPopulation; --draws) {
      ASSIGN_OR_RETURN(std::optional<Proposal> proposal, space_.RandomProposal(founders));
      if (proposal.has_value()) population_.push_back(*std::move(proposal));
    }
    return pool_.Add(population_);
  }

  absl::Status NextGeneration() {
    if (population_.empty()) return absl::OkStatus();
    std::vector<Proposal> children;
    // All children are made before any is scored: one call of the model for a generation, and one
    // stream of random numbers that does not depend on scores of siblings.
    for (int i = 0; i < kPopulation; ++i) {
      const Proposal& parent = SelectParent();
      const std::optional<Point> point = Breed(parent);
      if (!point.has_value()) continue;
      ASSIGN_OR_RETURN(Proposal child, space_.Propose(parent.sketch_index, *point));
      children.push_back(std::move(child));
    }
    RETURN_IF_ERROR(pool_.Add(children));
    // The best quarter of the parents stays, so that a generation is never worse than the last.
    std::sort(population_.begin(), population_.end(),
              [this](const Proposal& a, const Proposal& b) { return IsBetter(a, b); });
    population_.resize(std::min(Size(), kPopulation / 4));
    population_.insert(population_.end(), children.begin(), children.end());
    return absl::OkStatus();
  }

 private:
  int Size() const { return static_cast<int>(population_.size()); }

  bool IsBetter(const Proposal& a, const Proposal& b) const {
    const CandidateScore& score_a = pool_.Find(a.candidate_id)->score;
    const CandidateScore& score_b = pool_.Find(b.candidate_id)->score;
    // A candidate that does not apply has score 0, which says nothing: log throughputs may be
    // negative.
    if (score_a.valid != score_b.valid) return score_a.valid;
    if (score_a.score != score_b.score) return score_a.score > score_b.score;
    // A total order. Ties (twins have equal features) would otherwise fall as the sort leaves them,
    // and a replayed study would suggest something else.
    return a.candidate_id < b.candidate_id;
  }

  const Proposal& SelectParent() {
    if (!measured_.empty() && rng_.Uniform() < kMeasuredParent) {
      // Fastest first: the smallest of a few indices wins the tournament.
      uint64_t winner = measured_.size();
      for (int i = 0; i < kTournament; ++i) winner = std::min(winner, rng_.Below(measured_.size()));
      return measured_[winner]->proposal;
    }
    const Proposal* winner = nullptr;
    for (int i = 0; i < kTournament; ++i) {
      const Proposal& other = population_[rng_.Below(population_.size())];
      if (winner == nullptr || IsBetter(other, *winner)) winner = &other;
    }
    return *winner;
  }

  // A valid point near `parent`, or between it and another; nullopt: none was met.
  std::optional<Point> Breed(const Proposal& parent) {
    for (int attempt = 0; attempt < kTriesMax; ++attempt) {
      Point point = parent.point;
      // A second parent of another sketch has other decisions, with which nothing can be mixed.
      // Then the child is a mutation, so that no attempt is lost.
      const bool crossed = rng_.Uniform() < kCrossover && CrossWith(SelectParent(), parent, point);
      if (!crossed && !Mutate(parent.sketch_index, point)) return std::nullopt;
      // A step off the end of a decision is clamped and leaves the point as it was.
      if (point != parent.point && space_.Contains(parent.sketch_index, point)) return point;
    }
    return std::nullopt;
  }

  // False: of another sketch.
  bool CrossWith(const Proposal& other, const Proposal& parent, Point& point) {
    if (other.sketch_index != parent.sketch_index) return false;
    for (size_t d = 0; d < point.size(); ++d) {
      if (rng_.Below(2) == 1) point[d] = other.point[d];
    }
    return true;
  }

  // Changes one decision, sometimes more: two that depend on each other change only together.
  // False: there is nothing to change.
  bool Mutate(int sketch_index, Point& point) {
    const Sketch& sketch = space_.sketches()[sketch_index];
    std::vector<size_t> open;
    for (size_t d = 0; d < point.size(); ++d) {
      // Many decisions have one value on a given target (one thread: nothing to deal out). Drawing
      // among them would give children that equal their parent.
      if (sketch.decisions[d].values.size() > 1) open.push_back(d);
    }
    if (open.empty()) return false;
    do {
      const size_t d = open[rng_.Below(open.size())];
      const std::vector<int64_t>& values = sketch.decisions[d].values;
      const int64_t size = static_cast<int64_t>(values.size());
      // Costs of neighbouring sizes are alike: a step tries the slope. A jump (the other 40 %)
      // leaves a local optimum, which steps alone could not. No choice is nearer to another.
      const bool has_slope = sketch.decisions[d].kind == DecisionKind::kSize;
      if (has_slope && rng_.Uniform() < kNeighbourStep) {
        const int64_t at =
            std::lower_bound(values.begin(), values.end(), point[d]) - values.begin();
        const int64_t to = at + (rng_.Below(2) == 1 ? 1 : -1);
        point[d] = values[std::clamp<int64_t>(to, 0, size - 1)];
      } else {
        point[d] = values[rng_.Below(values.size())];
      }
      // 1.33 decisions on average. Two are needed where a constraint ties them, such as rows times
      // vectors of a register tile: each alone leads out of the valid points.
    } while (rng_.Below(4) == 0);
    return true;
  }

  const SearchSpace& space_;
  const std::vector<const Observation*> measured_;
  Rng& rng_;
  ScoredPool& pool_;
  std::vector<Proposal> population_;
};

}  // namespace

absl::Status Evolve(const SearchSpace& space, const SearchState& state,
                    absl::Span<const Proposal> seeds, Rng& founders, Rng& rng, ScoredPool& pool) {
  Evolution evolution(space, state, rng, pool);
  RETURN_IF_ERROR(evolution.Start(seeds, founders));
  for (int i = 0; i < kGenerations; ++i) RETURN_IF_ERROR(evolution.NextGeneration());
  return absl::OkStatus();
}

}  // namespace burnish
