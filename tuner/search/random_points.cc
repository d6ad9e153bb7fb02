#include "tuner/search/random_points.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status_macros.h"

namespace burnish {
namespace {

// In a large space most draws are open at once. Fifty misses in a row say that this space is nearly
// used up, and the batch ends shorter.
constexpr int kDrawsPerCandidate = 50;

// Scores `proposals` and takes what may be taken, at most `count`. Returns how many were taken.
absl::StatusOr<int> TakeValid(absl::Span<const Proposal> proposals, int count,
                              const CandidateScorer& scorer, Selection& selection) {
  ASSIGN_OR_RETURN(const std::vector<CandidateScore> scores, scorer.Score(proposals));
  int taken = 0;
  for (size_t i = 0; i < proposals.size() && taken < count; ++i) {
    taken += selection.Take(proposals[i], scores[i]);
  }
  return taken;
}

absl::Status TakeEnumerated(const std::vector<Proposal>& all, int count,
                            const CandidateScorer& scorer, Rng& rng, Selection& selection) {
  std::vector<const Proposal*> open;
  for (const Proposal& proposal : all) {
    if (selection.IsOpen(proposal.candidate_id)) open.push_back(&proposal);
  }
  // Fisher and Yates, only as far as it is needed.
  // Places before `i` are drawn. Those of them that were not taken are twins or do not apply, and
  // never will be taken, so none is drawn twice.
  for (size_t i = 0; i < open.size() && count > 0 && !selection.full();) {
    std::vector<Proposal> drawn;
    for (; i < open.size() && static_cast<int>(drawn.size()) < count; ++i) {
      std::swap(open[i], open[i + rng.Below(open.size() - i)]);
      drawn.push_back(*open[i]);
    }
    ASSIGN_OR_RETURN(const int taken, TakeValid(drawn, count, scorer, selection));
    count -= taken;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status TakeRandom(const SearchSpace& space, int count, const CandidateScorer& scorer,
                        Rng& rng, Selection& selection) {
  count = std::min(count, selection.left());
  if (space.enumerated() != nullptr) {
    return TakeEnumerated(*space.enumerated(), count, scorer, rng, selection);
  }
  for (int draws = count * kDrawsPerCandidate; draws > 0 && count > 0;) {
    std::vector<Proposal> drawn;
    // In groups of as many as are wanted: one call of the scorer for the usual case that all of
    // them are taken.
    for (; draws > 0 && static_cast<int>(drawn.size()) < count; --draws) {
      ASSIGN_OR_RETURN(std::optional<Proposal> proposal, space.RandomProposal(rng));
      if (!proposal.has_value()) continue;
      if (selection.IsOpen(proposal->candidate_id)) drawn.push_back(*std::move(proposal));
    }
    ASSIGN_OR_RETURN(const int taken, TakeValid(drawn, count, scorer, selection));
    count -= taken;
  }
  return absl::OkStatus();
}

}  // namespace burnish
