// A nest of bound loops as a launch of a GPU: how many blocks of how many threads it takes.
//
// Each top-level nest of a lowered program is one launch. An axis of the launch has the greatest
// extent of the loops that are bound to it; threads beyond a smaller loop's extent pass over it.
// Work outside of all loops that are bound to an axis is that of the axis' first thread.
#ifndef COMPILER_IR_LAUNCH_H_
#define COMPILER_IR_LAUNCH_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "compiler/ir/program.h"

namespace burnish {

// A tag's position; blocks come first.
inline constexpr std::array<absl::string_view, 6> kThreadTags = {
    "block.x", "block.y", "block.z", "thread.x", "thread.y", "thread.z"};
inline constexpr int kFirstThreadTag = 3;

// -1: no such tag, or the node is no bound loop.
int TagOf(absl::string_view tag);
int TagOf(const Node& node);
inline bool IsThreadLoop(const Node& node) { return TagOf(node) >= kFirstThreadTag; }

// Most programs are for CPUs, and have none.
bool HasBoundLoops(const Program& program);

struct Launch {
  std::array<int64_t, 6> extents = {1, 1, 1, 1, 1, 1};  // By tag.
  int64_t shared_bytes = 0;                             // Of one block.
};

// `nest`: a child of the root of a verified program. Extents beyond any device's do not overflow:
// they are numbers of the program's loops.
Launch LaunchOf(const Program& lowered, NodeId nest);

}  // namespace burnish

#endif  // COMPILER_IR_LAUNCH_H_
