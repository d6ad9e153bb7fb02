// Which threads of a GPU a window in registers belongs to.
//
// A thread sees its own registers only, while a program has one window for all. So each dimension
// that threads tell apart is an *owner dimension*: everywhere its index is the variable of a thread
// loop, of one tag and with as many iterations as the dimension has places. A thread keeps its
// slice of the window. Without an owner dimension for a loop over threads (or blocks), all who
// touch the window stand inside of that one loop, whose iterations have a window each.
#ifndef COMPILER_IR_OWNER_DIMS_H_
#define COMPILER_IR_OWNER_DIMS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/program.h"

namespace burnish {

struct WindowOwners {
  std::vector<int> tags;      // By dimension: the owner's tag (launch.h), or -1.
  std::vector<NodeId> loops;  // Bound loops around all touches whose iterations have a window each.
};

// By BufferId; empty for what is neither kRegister nor kTile, or is not touched by the threads of a
// GPU. INVALID_ARGUMENT for a window of a lowered program that breaks the rule.
absl::StatusOr<std::vector<WindowOwners>> FindOwners(const Program& lowered);

}  // namespace burnish

#endif  // COMPILER_IR_OWNER_DIMS_H_
