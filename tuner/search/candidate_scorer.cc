#include "tuner/search/candidate_scorer.h"

#include <algorithm>

#include "base/status_macros.h"

namespace burnish {

absl::StatusOr<std::vector<int>> CandidateScorer::Choose(absl::Span<const Proposal> candidates,
                                                         absl::Span<const Proposal> pending,
                                                         absl::Span<const Observation> measured,
                                                         int count) const {
  ASSIGN_OR_RETURN(const std::vector<CandidateScore> scores, Score(candidates));
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(scores.size()); ++i) {
    if (scores[i].valid) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return scores[a].score != scores[b].score ? scores[a].score > scores[b].score : a < b;
  });
  order.resize(std::min<size_t>(order.size(), std::max(count, 0)));
  return order;
}

}  // namespace burnish
