#include "tuner/search/scored_pool.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace burnish {

absl::Status ScoredPool::Add(absl::Span<const Proposal> proposals) {
  // All that are new in one call: the scorer asks its model once for all rows.
  std::vector<Proposal> unscored;
  for (const Proposal& proposal : proposals) {
    const size_t next = all_.size() + unscored.size();
    // Its place is known before it is scored, and a second occurrence within `proposals` finds it
    // taken. Evolution meets the same child of different parents all the time.
    if (index_.emplace(proposal.candidate_id, next).second) unscored.push_back(proposal);
  }
  if (unscored.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::vector<CandidateScore> scores, scorer_.Score(unscored));
  CHECK_EQ(scores.size(), unscored.size());
  for (size_t i = 0; i < unscored.size(); ++i) {
    all_.push_back({std::move(unscored[i]), std::move(scores[i])});
  }
  return absl::OkStatus();
}

const ScoredProposal* ScoredPool::Find(const std::string& candidate_id) const {
  const auto found = index_.find(candidate_id);
  return found == index_.end() ? nullptr : &all_[found->second];
}

std::vector<const ScoredProposal*> ScoredPool::Ranked() const {
  std::vector<const ScoredProposal*> ranked;
  for (const ScoredProposal& scored : all_) {
    if (scored.score.valid) ranked.push_back(&scored);
  }
  std::sort(ranked.begin(), ranked.end(), [](const ScoredProposal* a, const ScoredProposal* b) {
    // Equal scores are common, since twins have equal features. The id decides, not the order of
    // arrival, so that the ranking is a function of the set alone.
    if (a->score.score != b->score.score) return a->score.score > b->score.score;
    return a->proposal.candidate_id < b->proposal.candidate_id;
  });
  return ranked;
}

}  // namespace burnish
