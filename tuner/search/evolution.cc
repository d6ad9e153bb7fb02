#include "tuner/search/evolution.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/status_macros.h"

namespace burnish {
namespace {

constexpr int kPopulation = 128;
constexpr int kGenerations = 4;
constexpr int kMeasuredMax = 32;         // Of the fastest measured points, in the population.
constexpr double kMeasuredParent = 0.5;  // Chance that a parent is chosen by its latency.
constexpr double kCrossover = 0.2;
constexpr double kNeighbourStep = 0.6;  // Of a mutation: to the next value, else to any.
constexpr int kTournament = 4;
constexpr int kTriesMax = 16;

class Evolution {
 public:
  Evolution(const SearchSpace& space, const SearchState& state, Rng& rng, ScoredPool& pool)
      : space_(space), measured_(state.Fastest(kMeasuredMax)), rng_(rng), pool_(pool) {}

  absl::Status Start(absl::Span<const Proposal> seeds) {
    for (const Observation* one : measured_) population_.push_back(one->proposal);
    for (const Proposal& seed : seeds) {
      if (seed.sketch_index != Proposal::kNoSketch) population_.push_back(seed);
    }
    for (int draws = 2 * kPopulation; draws > 0 && Size() < kPopulation; --draws) {
      const int sketch = static_cast<int>(rng_.Below(space_.sketches().size()));
      const std::optional<Point> point = space_.RandomPoint(sketch, rng_);
      if (!point.has_value()) continue;
      ASSIGN_OR_RETURN(Proposal proposal, space_.Propose(sketch, *point));
      population_.push_back(std::move(proposal));
    }
    return pool_.Add(population_);
  }

  absl::Status NextGeneration() {
    if (population_.empty()) return absl::OkStatus();
    std::vector<Proposal> children;
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
    if (score_a.valid != score_b.valid) return score_a.valid;
    if (score_a.score != score_b.score) return score_a.score > score_b.score;
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
      const bool crossed = rng_.Uniform() < kCrossover && CrossWith(SelectParent(), parent, point);
      if (!crossed && !Mutate(parent.sketch_index, point)) return std::nullopt;
      if (point != parent.point && IsValid(space_.sketches()[parent.sketch_index], point))
        return point;
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
      if (sketch.decisions[d].values.size() > 1) open.push_back(d);
    }
    if (open.empty()) return false;
    do {
      const size_t d = open[rng_.Below(open.size())];
      const std::vector<int64_t>& values = sketch.decisions[d].values;
      const int64_t size = static_cast<int64_t>(values.size());
      if (rng_.Uniform() < kNeighbourStep) {
        const int64_t at =
            std::lower_bound(values.begin(), values.end(), point[d]) - values.begin();
        const int64_t to = at + (rng_.Below(2) == 1 ? 1 : -1);
        point[d] = values[std::clamp<int64_t>(to, 0, size - 1)];
      } else {
        point[d] = values[rng_.Below(values.size())];
      }
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
                    absl::Span<const Proposal> seeds, Rng& rng, ScoredPool& pool) {
  Evolution evolution(space, state, rng, pool);
  RETURN_IF_ERROR(evolution.Start(seeds));
  for (int i = 0; i < kGenerations; ++i) RETURN_IF_ERROR(evolution.NextGeneration());
  return absl::OkStatus();
}

}  // namespace burnish
