// One bundle of several: the model for a range of sizes, and again for smaller bounds
// (docs/adr/0017-several-bounds.md).
#ifndef COMPILER_DRIVER_LADDER_H_
#define COMPILER_DRIVER_LADDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/driver/unwritten_bundle.h"
#include "compiler/driver/weight_pool.h"
#include "compiler/graph/graph.h"

namespace burnish {

// Bounds of a list of steps: greatest extents, one a size.
using LadderBounds = std::vector<int64_t>;
// Those that a bundle for the graph's sizes has beside its own. Each shares most with its
// neighbours, so that whoever builds them in this order makes most things once. Empty: one bundle
// does.
std::vector<LadderBounds> LadderOf(const Graph& graph);
// By size, the least that runs at `bounds`, one of the ladder or the graph's own: smaller ones,
// with others as large as any here, have other bounds.
std::vector<int64_t> LeastServed(const LadderBounds& bounds, absl::Span<const LadderBounds> ladder,
                                 const Graph& graph);
// In which of two a run that both hold is faster: `a`. No order is better founded than that of
// their products.
bool HasLessWork(const LadderBounds& a, const LadderBounds& b);

// `whole` with what `smaller` has beside it, in the order in which a run looks for the first that
// serves it: all are bundles of one model, and sizes of the whole may be fixed in smaller ones. A
// constant that lies in several as the same bytes is there once; `pool`: which these are. Errors:
// INVALID_ARGUMENT where they are no such bundles, here or when the bundle is written.
absl::StatusOr<UnwrittenBundle> ComposeLadder(UnwrittenBundle whole,
                                              absl::Span<const UnwrittenBundle> smaller,
                                              WeightPool& pool);

// How much longer `composed`, of ComposeLadder, is than `whole`: kernels, and weights in another
// form.
uint64_t AddedBytes(const UnwrittenBundle& whole, const UnwrittenBundle& composed);

}  // namespace burnish

#endif  // COMPILER_DRIVER_LADDER_H_
