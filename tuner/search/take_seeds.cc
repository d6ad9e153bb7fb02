#include "tuner/search/take_seeds.h"

#include "base/status_macros.h"

namespace burnish {

std::vector<Proposal> RecognizeAll(const SearchSpace& space, absl::Span<const std::string> traces) {
  std::vector<Proposal> seeds;
  for (const std::string& trace : traces) seeds.push_back(space.Recognize(trace));
  return seeds;
}

absl::Status TakeSeeds(absl::Span<const Proposal> seeds, const CandidateScorer& scorer,
                       Selection& selection) {
  std::vector<Proposal> open;
  for (const Proposal& seed : seeds) {
    // A seed that history or an earlier batch has measured is not measured again.
    if (selection.IsOpen(seed.candidate_id)) open.push_back(seed);
  }
  if (open.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<CandidateScore> scores, scorer.Score(open));
  // At most half, so that a long history does not hold up the first looks at the model's choice.
  int left = (selection.left() + 1) / 2;
  for (size_t i = 0; i < open.size() && left > 0; ++i) left -= selection.Take(open[i], scores[i]);
  return absl::OkStatus();
}

}  // namespace burnish
