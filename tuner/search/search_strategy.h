// Search by ask and tell: which candidates to measure next, given what is known of a task.
// Source of the form: Golovin et al., "Google Vizier", KDD 2017, section 3.
#ifndef TUNER_SEARCH_SEARCH_STRATEGY_H_
#define TUNER_SEARCH_SEARCH_STRATEGY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tuner/search/candidate_scorer.h"
#include "tuner/search/proposal.h"
#include "tuner/search/search_space.h"

namespace burnish {

struct SearchOptions {
  std::shared_ptr<const SearchSpace> space = nullptr;  // Not null.
  uint64_t seed = 0;
  std::string task = {};  // Names the task's random streams; unique within the study.
  // Traces that did well elsewhere (same anchor, other contract), best first: tried first, and part
  // of the first population. The random strategy passes them over.
  std::vector<std::string> seed_traces = {};
};

// Not thread-safe. A strategy that was told the same in the same order is the same strategy, so it
// is rebuilt from records after a crash.
class SearchStrategy {
 public:
  virtual ~SearchStrategy() = default;

  // Up to `count` candidates that were neither measured nor are `pending` (in any order), each
  // once, all with a valid score, none that lowers to the same program as another of these. Fewer:
  // no more were found; none: the space is exhausted, as far as the search can tell. A pure
  // function of the options, what Update was told, the pending candidates, and scores.
  virtual absl::StatusOr<std::vector<Proposal>> Suggest(int count,
                                                        absl::Span<const Proposal> pending,
                                                        const CandidateScorer& scorer) const = 0;

  // Results in the order in which they became known; also candidates that this strategy did not
  // suggest. A candidate's first result counts.
  virtual void Update(absl::Span<const Observation> results) = 0;
};

// The names that MakeSearchStrategy knows, sorted.
std::vector<std::string> SearchStrategyNames();

// INVALID_ARGUMENT: an unknown name; the message lists the known ones.
absl::StatusOr<std::unique_ptr<SearchStrategy>> MakeSearchStrategy(absl::string_view name,
                                                                   SearchOptions options);

}  // namespace burnish

#endif  // TUNER_SEARCH_SEARCH_STRATEGY_H_
