// Breeds points under a score: tournament selection, mutation, crossover within a sketch.
// Source: Zheng et al., "Ansor", OSDI 2020, section 5.1.
#ifndef TUNER_SEARCH_EVOLUTION_H_
#define TUNER_SEARCH_EVOLUTION_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/rng.h"
#include "tuner/search/scored_pool.h"
#include "tuner/search/search_space.h"
#include "tuner/search/search_state.h"

namespace burnish {

// Adds what a few generations brought forth to `pool`, scored. The first generation: the fastest
// measured points, the seeds that have a sketch, and points that `founders` draws.
absl::Status Evolve(const SearchSpace& space, const SearchState& state,
                    absl::Span<const Proposal> seeds, Rng& founders, Rng& rng, ScoredPool& pool);

}  // namespace burnish

#endif  // TUNER_SEARCH_EVOLUTION_H_
