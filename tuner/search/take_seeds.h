// Candidates that did well elsewhere, for the strategies.
#ifndef TUNER_SEARCH_TAKE_SEEDS_H_
#define TUNER_SEARCH_TAKE_SEEDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tuner/search/candidate_scorer.h"
#include "tuner/search/search_space.h"
#include "tuner/search/search_state.h"

namespace burnish {

std::vector<Proposal> RecognizeAll(const SearchSpace& space, absl::Span<const std::string> traces);

// Takes those that are open, in order, up to half of what is left.
absl::Status TakeSeeds(absl::Span<const Proposal> seeds, const CandidateScorer& scorer,
                       Selection& selection);

}  // namespace burnish

#endif  // TUNER_SEARCH_TAKE_SEEDS_H_
