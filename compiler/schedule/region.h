// The box of a buffer that the body of a loop touches, as a function of the loops outside.
#ifndef COMPILER_SCHEDULE_REGION_H_
#define COMPILER_SCHEDULE_REGION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/program.h"

namespace burnish {

struct RegionDim {
  Expr start;                // Over variables of `loop` and of loops outside it.
  int64_t size = 0;          // Constant: the greatest over all iterations.
  bool may_overrun = false;  // start + size may pass the end of the dimension.
};
using Region = std::vector<RegionDim>;

// Of every access to `buffer` (loads of blocks, and the output of the block that writes it when it
// is under the loop too) by blocks under `loop`. Never too small. INVALID_ARGUMENT when nothing
// under the loop touches it.
absl::StatusOr<Region> RegionUnder(const Program& program, BufferId buffer, NodeId loop);

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_REGION_H_
