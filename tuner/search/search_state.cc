#include "tuner/search/search_state.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

// Two batches of studies. Most points that a Suggest looks at in a large space are drawn by chance,
// and until November 2026 they were drawn for each; regrets are the same within noise
// (evolution.cc).
constexpr int64_t kPoolObservations = 16;

}  // namespace

void SearchState::Add(absl::Span<const Observation> results) {
  for (const Observation& result : results) {
    // The first result counts. History and the study's own trials may hold the same candidate, and
    // a later and luckier time would move the incumbent without anything having changed.
    if (!known_.insert(result.proposal.candidate_id).second) continue;
    if (!result.fingerprint.empty()) lowered_.insert(result.fingerprint);
    const int64_t index = observation_count();
    observations_.push_back(result);
    // Failures are known, so that nobody suggests them again, but no parents.
    if (result.failed()) continue;
    // Strictly faster: an equal time is no progress, and the search should notice that it stalls.
    if (best_index_ < 0 || result.latency_ns < observations_[best_index_].latency_ns) {
      best_index_ = index;
    }
    // It counts as the best, but has no point to descend from.
    if (result.proposal.sketch_index == Proposal::kNoSketch) continue;
    // Behind equals: of the same latency the first to be told stays first, as a replay needs it.
    const auto place = std::upper_bound(
        by_latency_.begin(), by_latency_.end(), index, [this](int64_t a, int64_t b) {
          return observations_[a].latency_ns < observations_[b].latency_ns;
        });
    by_latency_.insert(place, index);
  }
}

std::vector<const Observation*> SearchState::Fastest(int count) const {
  std::vector<const Observation*> fastest;
  for (int64_t index : by_latency_) {
    if (static_cast<int>(fastest.size()) == count) break;
    fastest.push_back(&observations_[index]);
  }
  return fastest;
}

Rng SuggestRng(uint64_t seed, const std::string& task, const SearchState& state,
               absl::Span<const Proposal> pending) {
  // The pending set has no order of its own, since results arrive as they like.
  std::vector<std::string> sorted;
  for (const Proposal& proposal : pending) sorted.push_back(proposal.candidate_id);
  std::sort(sorted.begin(), sorted.end());
  std::string joined;
  for (const std::string& id : sorted) joined += id;
  const Sha256Digest digest = Sha256Of(joined.data(), joined.size());
  uint64_t index = 0;
  // Two batches may be asked for between two updates, with the same number of observations. Without
  // the pending ids they would be drawn alike.
  for (int i = 0; i < 8; ++i) index = index << 8 | digest[i];
  return Rng(RngStream{.seed = seed,
                       .purpose = "suggest",
                       .task = task,
                       .round = state.observation_count(),
                       .index = static_cast<int64_t>(index)});
}

Rng PoolRng(uint64_t seed, const std::string& task, const SearchState& state) {
  return Rng(RngStream{.seed = seed,
                       .purpose = "pool",
                       .task = task,
                       .round = state.observation_count() / kPoolObservations});
}

absl::StatusOr<Selection> Selection::Create(const SearchState& state,
                                            absl::Span<const Proposal> pending,
                                            const CandidateScorer& scorer, int count) {
  Selection selection(&state, count);
  if (pending.empty()) return selection;
  // Only the fingerprints are needed: a twin of what is pending would be timed twice.
  ASSIGN_OR_RETURN(const std::vector<CandidateScore> scores, scorer.Score(pending));
  for (size_t i = 0; i < pending.size(); ++i) {
    selection.taken_.insert(pending[i].candidate_id);
    if (!scores[i].fingerprint.empty()) selection.lowered_.insert(scores[i].fingerprint);
  }
  return selection;
}

bool Selection::IsOpen(const std::string& candidate_id) const {
  return !state_->IsKnown(candidate_id) && !taken_.contains(candidate_id);
}

bool Selection::IsLoweredKnown(const std::string& fingerprint) const {
  return state_->IsLoweredKnown(fingerprint) || lowered_.contains(fingerprint);
}

bool Selection::Take(const Proposal& proposal, const CandidateScore& score) {
  if (full() || !score.valid || !IsOpen(proposal.candidate_id)) return false;
  if (!score.fingerprint.empty()) {
    // Equal lowered programs are the same machine code under two traces: timing the second one
    // spends a trial to measure noise.
    if (state_->IsLoweredKnown(score.fingerprint)) return false;
    if (!lowered_.insert(score.fingerprint).second) return false;
  }
  taken_.insert(proposal.candidate_id);
  chosen_.push_back(proposal);
  return true;
}

}  // namespace burnish
