// One bundle of several: the model for a range of sizes, and again for smaller bounds
// (docs/adr/0017-several-bounds.md).
#ifndef COMPILER_DRIVER_LADDER_H_
#define COMPILER_DRIVER_LADDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"

namespace burnish {

// The size that smaller bounds are made of, as its number in `sizes`, and the bounds, ascending,
// without its greatest. Empty bounds: one bundle does.
struct Ladder {
  size_t size = 0;
  std::vector<int64_t> bounds;
};
Ladder LadderOf(const std::vector<GraphSize>& sizes);

// `whole` with what `smaller`, from the smallest, has beside it: all are bundles of one model. A
// constant that lies in several as the same bytes is there once. Errors: INVALID_ARGUMENT where
// they are no such bundles.
absl::StatusOr<std::string> ComposeLadder(const std::string& whole,
                                          const std::vector<std::string>& smaller);

}  // namespace burnish

#endif  // COMPILER_DRIVER_LADDER_H_
