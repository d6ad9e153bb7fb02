#include "compiler/ir/verify_launches.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/launch.h"

namespace burnish {
namespace {

template <typename... Parts>
absl::Status Broken(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// Of a block, at most.
int64_t ThreadsOf(const DeviceModel& device) {
  int64_t threads = 1;
  for (const ParallelAxis& axis : device.axes) {
    if (axis.axis != Axis::kBlock) threads *= axis.extent;
  }
  return threads;
}

int64_t SharedBytesOf(const DeviceModel& device) {
  for (const MemoryLevel& level : device.levels) {
    if (level.kind == LevelKind::kShared) return level.size_bytes;
  }
  return 0;
}

absl::Status CheckLaunch(const Launch& launch, const DeviceModel& device) {
  int64_t threads = 1;
  for (size_t tag = 0; tag < launch.extents.size(); ++tag) {
    const int64_t got = launch.extents[tag], most = device.launch_max[tag];
    if (got > most) {
      return Broken("got ", got, " iterations of ", kThreadTags[tag], ", want at most ", most,
                    " on ", device.name);
    }
    if (static_cast<int>(tag) >= kFirstThreadTag) threads *= got;
  }
  if (threads > ThreadsOf(device)) {
    return Broken("got ", threads, " threads in a block, want at most ", ThreadsOf(device), " on ",
                  device.name);
  }
  if (launch.shared_bytes > SharedBytesOf(device)) {
    return Broken("got ", launch.shared_bytes, " shared bytes in a block, want at most ",
                  SharedBytesOf(device), " on ", device.name);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyLaunches(const Program& lowered, const DeviceModel& device) {
  const bool has_blocks = device.FindAxis(Axis::kBlock) != nullptr;
  if (HasBoundLoops(lowered) && !has_blocks) {
    return Broken("loops are bound to blocks and threads, which ", device.name, " has none of");
  }
  if (!has_blocks) return absl::OkStatus();
  const bool parallel =
      std::any_of(lowered.nodes.begin(), lowered.nodes.end(), [](const Node& node) {
        return node.kind == NodeKind::kLoop && node.loop_kind == LoopKind::kParallel;
      });
  if (parallel) return Broken("a loop is parallel, and ", device.name, " has no workers");
  for (const NodeId nest : lowered.nodes[lowered.root].children) {
    RETURN_IF_ERROR(CheckLaunch(LaunchOf(lowered, nest), device));
  }
  return absl::OkStatus();
}

}  // namespace burnish
