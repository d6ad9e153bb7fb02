#include "compiler/runtime/check_control.h"

#include <algorithm>
#include <string>

namespace burnish {
namespace {

RuntimeStatus Invalid(const std::string& text) {
  return RuntimeStatus(RuntimeCode::kInvalidArgument, text);
}

// Whether each address of iterations up to `last`, included, lies in the base's region. Those of
// kLastIterations are among them.
RuntimeStatus CheckIterations(const BundleManifest& manifest, const Walker& walker, uint64_t last) {
  const uint64_t begin = walker.has_first ? 1 : 0;
  if (last < begin) return RuntimeStatus();
  // Where `t - lag` goes. 128 bits, since both factors are foreign numbers of 64.
  const __int128 low = walker.period > 0 ? 0 : begin - walker.lag;
  const __int128 high = walker.period > 0 ? walker.period - 1 : last - walker.lag;
  for (const __int128 index : {low, high}) {
    const __int128 offset = walker.base.offset_bytes + index * walker.stride_bytes;
    if (offset < 0 || offset > static_cast<__int128>(kMemoryBytesMax)) {
      return Invalid("an iteration leaves the walker's region");
    }
    Place place = walker.base;
    place.offset_bytes = static_cast<uint64_t>(offset);
    RUNTIME_RETURN_IF_ERROR(CheckPlace(manifest, place, walker.size_bytes));
  }
  return RuntimeStatus();
}

// A place that a walker of `control` starts from: of an outer loop's walker, if of any.
RuntimeStatus CheckStart(const BundleManifest& manifest, size_t number, const Place& place) {
  const ControlProgram& control = manifest.control;
  const Walker& walker = control.walkers[number];
  if (place.region == Region::kWalker) {
    if (place.index >= number || !IsInScope(control, place, control.blocks[walker.block].parent)) {
      return Invalid("it starts from a walker of no loop around it");
    }
    if (control.walkers[place.index].alignment_bytes < walker.alignment_bytes) {
      return Invalid("it starts from a walker with less alignment");
    }
  }
  if (place.offset_bytes % walker.alignment_bytes != 0) return Invalid("got an unaligned start");
  return CheckPlace(manifest, place, walker.size_bytes);
}

RuntimeStatus CheckWalker(const BundleManifest& manifest, size_t number) {
  const ControlProgram& control = manifest.control;
  const Walker& walker = control.walkers[number];
  if (walker.block >= control.blocks.size() || !control.blocks[walker.block].IsLoop()) {
    return Invalid("got a walker of no loop");
  }
  const uint32_t alignment = walker.alignment_bytes;
  if (alignment == 0 || alignment > 4096 || (alignment & (alignment - 1)) != 0 ||
      walker.stride_bytes % static_cast<int64_t>(alignment) != 0) {
    return Invalid("got an alignment that is no power of two up to 4096, or a stride without it");
  }
  if (walker.size_bytes > kMemoryBytesMax || walker.lag > 1 ||
      (walker.lag == 1 && !walker.has_first)) {
    return Invalid("got a size or lag out of range");
  }
  if (walker.has_first) RUNTIME_RETURN_IF_ERROR(CheckStart(manifest, number, walker.first));
  RUNTIME_RETURN_IF_ERROR(CheckStart(manifest, number, walker.base));
  const uint64_t count = control.blocks[walker.block].count;
  if (count == 0) return RuntimeStatus();
  return CheckIterations(manifest, walker, count - 1);
}

// A place that the runtime itself reads or writes for `block`. `at_end`: also when the loop has
// ended, where its walkers are one iteration further.
RuntimeStatus CheckAccess(const BundleManifest& manifest, const Place& place, uint64_t size_bytes,
                          uint32_t scope, uint32_t own) {
  if (!IsInScope(manifest.control, place, scope)) {
    return Invalid("got a walker of no loop around it");
  }
  if (place.region == Region::kWalker && manifest.control.walkers[place.index].block == own) {
    RUNTIME_RETURN_IF_ERROR(CheckIterations(manifest, manifest.control.walkers[place.index],
                                            manifest.control.blocks[own].count));
  }
  return CheckPlace(manifest, place, size_bytes);
}

RuntimeStatus CheckBlock(const BundleManifest& manifest, uint32_t number) {
  const ControlBlock& block = manifest.control.blocks[number];
  if (block.has_count) {
    RUNTIME_RETURN_IF_ERROR(
        CheckAccess(manifest, block.count_place, sizeof(int64_t), block.parent, kNoBlock));
  }
  if (block.has_condition) {
    RUNTIME_RETURN_IF_ERROR(
        CheckAccess(manifest, block.condition, 1, block.IsLoop() ? number : block.parent, number));
  }
  for (const LoopResult& result : block.results) {
    RUNTIME_RETURN_IF_ERROR(CheckAccess(manifest, result.from, result.size_bytes, number, number));
    RUNTIME_RETURN_IF_ERROR(
        CheckAccess(manifest, result.to, result.size_bytes, block.parent, kNoBlock));
    if (!IsWritable(manifest, result.to)) return Invalid("it would write weights or a model input");
  }
  return RuntimeStatus();
}

// Ranges of steps only: what walkers and places are checked against.
RuntimeStatus CheckNesting(const BundleManifest& manifest) {
  const std::vector<ControlBlock>& blocks = manifest.control.blocks;
  std::vector<int> depth(blocks.size(), 1);
  std::vector<uint32_t> done(blocks.size() + 1, 0);  // By parent; the last one is of no block.
  for (size_t i = 0; i < blocks.size(); ++i) {
    const ControlBlock& block = blocks[i];
    const bool is_top = block.parent == kNoBlock;
    const bool is_known = block.kind == BlockKind::kLoop || block.kind == BlockKind::kBranch ||
                          block.kind == BlockKind::kLastIterations;
    if (!is_known || (!is_top && block.parent >= i)) {
      return Invalid("got a block of an unknown kind, or before the one around it");
    }
    if (block.first_step > block.middle_step || block.middle_step > block.end_step ||
        block.end_step > manifest.steps.size() ||
        (block.IsLoop() && block.middle_step != block.end_step)) {
      return Invalid("got steps that are out of range");
    }
    if (block.IsLoop() ? block.first_step == block.end_step
                       : !block.has_condition || block.has_count || !block.results.empty()) {
      return Invalid("got a loop without steps, or a branch without condition");
    }
    uint32_t& sibling_end = done[is_top ? blocks.size() : block.parent];
    if (block.first_step < sibling_end) return Invalid("got blocks that overlap");
    sibling_end = block.end_step;
    if (is_top) continue;
    const ControlBlock& parent = blocks[block.parent];
    depth[i] = depth[block.parent] + 1;
    const bool inside =
        block.first_step >= parent.first_step && block.end_step <= parent.end_step &&
        (block.end_step <= parent.middle_step || block.first_step >= parent.middle_step);
    if (!inside || depth[i] > kBlockDepthMax) {
      return Invalid("got a block that leaves the one around it, or too many in one another");
    }
  }
  return RuntimeStatus();
}

}  // namespace

bool IsWritable(const BundleManifest& manifest, const Place& place) {
  if (place.region != Region::kWalker) {
    return place.region != Region::kWeights && place.region != Region::kInput;
  }
  // Ends: a walker starts from earlier ones only.
  const Walker& walker = manifest.control.walkers[place.index];
  return IsWritable(manifest, walker.base) &&
         (!walker.has_first || IsWritable(manifest, walker.first));
}

bool IsInScope(const ControlProgram& control, const Place& place, uint32_t block) {
  if (place.region != Region::kWalker) return true;
  if (place.index >= control.walkers.size()) return false;
  while (block != kNoBlock && block != control.walkers[place.index].block) {
    block = control.blocks[block].parent;
  }
  return block != kNoBlock;
}

std::vector<uint32_t> BlocksOfSteps(const BundleManifest& manifest) {
  std::vector<uint32_t> found(manifest.steps.size(), kNoBlock);
  // Inner blocks come after those around them.
  for (size_t i = 0; i < manifest.control.blocks.size(); ++i) {
    const ControlBlock& block = manifest.control.blocks[i];
    std::fill(found.begin() + block.first_step, found.begin() + block.end_step,
              static_cast<uint32_t>(i));
  }
  return found;
}

RuntimeStatus CheckControl(const BundleManifest& manifest) {
  const auto in = [](const std::string& what, const RuntimeStatus& status) {
    return RuntimeStatus(status.code(), what + ": " + status.message());
  };
  const ControlProgram& control = manifest.control;
  if (control.blocks.size() >= kNoBlock || control.walkers.size() >= kNoBlock) {
    return Invalid("got too many blocks");
  }
  RUNTIME_RETURN_IF_ERROR(CheckNesting(manifest));
  for (size_t i = 0; i < control.walkers.size(); ++i) {
    if (RuntimeStatus status = CheckWalker(manifest, i); !status.ok()) {
      return in("walker " + std::to_string(i), status);
    }
  }
  for (size_t i = 0; i < control.blocks.size(); ++i) {
    if (RuntimeStatus status = CheckBlock(manifest, static_cast<uint32_t>(i)); !status.ok()) {
      return in("\"" + control.blocks[i].name + "\"", status);
    }
  }
  return RuntimeStatus();
}

}  // namespace burnish
