// Random candidates of a space, for the strategies.
#ifndef TUNER_SEARCH_RANDOM_POINTS_H_
#define TUNER_SEARCH_RANDOM_POINTS_H_

#include <vector>

#include "absl/status/status.h"
#include "base/rng.h"
#include "tuner/search/candidate_scorer.h"
#include "tuner/search/search_space.h"
#include "tuner/search/search_state.h"

namespace burnish {

// Takes up to `count` more into `selection`: of an enumerated space each open candidate with the
// same chance, until none is left; else sketch and values uniform, giving up after fifty draws a
// candidate.
absl::Status TakeRandom(const SearchSpace& space, int count, const CandidateScorer& scorer,
                        Rng& rng, Selection& selection);

}  // namespace burnish

#endif  // TUNER_SEARCH_RANDOM_POINTS_H_
