// Candidates of one Suggest with their scores, each scored once.
#ifndef TUNER_SEARCH_SCORED_POOL_H_
#define TUNER_SEARCH_SCORED_POOL_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tuner/search/candidate_scorer.h"

namespace burnish {

struct ScoredProposal {
  Proposal proposal;
  CandidateScore score;
};

class ScoredPool {
 public:
  // The scorer outlives the pool.
  explicit ScoredPool(const CandidateScorer& scorer) : scorer_(scorer) {}

  // Scores those that are new.
  absl::Status Add(absl::Span<const Proposal> proposals);

  // Null: never added. Valid until the next Add.
  const ScoredProposal* Find(const std::string& candidate_id) const;

  // Valid ones, best first; equal scores by candidate id.
  std::vector<const ScoredProposal*> Ranked() const;

 private:
  const CandidateScorer& scorer_;
  std::vector<ScoredProposal> all_;
  absl::flat_hash_map<std::string, size_t> index_;  // By candidate id.
};

}  // namespace burnish

#endif  // TUNER_SEARCH_SCORED_POOL_H_
