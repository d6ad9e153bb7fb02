#include "compiler/ir/launch.h"

#include <algorithm>
#include <set>

#include "compiler/ir/lowered.h"

namespace burnish {

int TagOf(absl::string_view tag) {
  const auto found = std::find(kThreadTags.begin(), kThreadTags.end(), tag);
  return found == kThreadTags.end() ? -1 : static_cast<int>(found - kThreadTags.begin());
}

int TagOf(const Node& node) {
  const bool bound = node.kind == NodeKind::kLoop && node.loop_kind == LoopKind::kBound;
  return bound ? TagOf(node.thread_tag) : -1;
}

bool HasBoundLoops(const Program& program) {
  return std::any_of(program.nodes.begin(), program.nodes.end(),
                     [](const Node& node) { return node.loop_kind == LoopKind::kBound; });
}

Launch LaunchOf(const Program& lowered, NodeId nest) {
  Launch launch;
  std::set<BufferId> shared;
  const auto touch = [&](BufferId id) {
    if (lowered.buffers[id].scope == Scope::kShared) shared.insert(id);
  };
  for (const NodeId id : Subtree(lowered, nest)) {
    const Node& node = lowered.nodes[id];
    if (const int tag = TagOf(node); tag >= 0) {
      launch.extents[tag] = std::max(launch.extents[tag], MaxExtent(lowered, node.var));
    }
    if (node.kind == NodeKind::kStore) touch(node.buffer);
    VisitLoads(node, [&](const ExprNode& load) { touch(load.id); });
  }
  for (const BufferId id : shared) {
    const Buffer& buffer = lowered.buffers[id];
    launch.shared_bytes += StorageElementCount(buffer) * SizeBytes(buffer.dtype);
  }
  return launch;
}

}  // namespace burnish
