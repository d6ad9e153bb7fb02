// How the steps of a bundle are walked: which ranges of them repeat, of which pairs one runs, and
// which addresses an iteration changes (docs/adr/0011-control-as-ranges-of-steps.md).
#ifndef COMPILER_RUNTIME_CONTROL_PROGRAM_H_
#define COMPILER_RUNTIME_CONTROL_PROGRAM_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/runtime/place.h"
#include "compiler/runtime/runtime_status.h"

namespace burnish {

// An address that each iteration t of a loop changes:
//   first                                             the first one, where there is a `first`
//   base + ((t - lag) mod period) * stride_bytes      otherwise; period 0: without the mod
struct Walker {
  uint32_t block = 0;  // The loop.
  bool has_first = false;
  Place first;
  Place base;  // May be where a walker of a loop around this one is.
  int64_t stride_bytes = 0;
  uint32_t period = 0;
  uint32_t lag = 0;              // 0 or 1: 1 is where the iteration before was.
  uint32_t alignment_bytes = 1;  // Of each of the addresses.
  uint64_t size_bytes = 0;       // What may be touched at each of them.

  friend bool operator==(const Walker&, const Walker&) = default;
};

// What a loop hands on: copied when it has ended, with walkers where iteration `count` would have
// them.
struct LoopResult {
  Place from;
  Place to;
  uint64_t size_bytes = 0;

  friend bool operator==(const LoopResult&, const LoopResult&) = default;
};

// Stored: never reused.
enum class BlockKind : uint8_t {
  kLoop = 1,    // Steps [first_step, end_step), again and again; middle_step is end_step.
  kBranch = 2,  // Steps [first_step, middle_step) where `condition` is true, the others where not.
  // As kLoop, of `count` iterations the last that `count_place` says: they keep their numbers, and
  // the first of them reads what iteration 0 would. From format version 7 on.
  kLastIterations = 3,
};

inline constexpr uint32_t kNoBlock = ~uint32_t{0};
inline constexpr int kBlockDepthMax = 64;  // Blocks in blocks: the runtime recurses.

struct ControlBlock {
  BlockKind kind = BlockKind::kLoop;
  std::string name;            // For people: the node's.
  uint32_t parent = kNoBlock;  // The innermost block around it, before it in the list.
  uint32_t first_step = 0;
  uint32_t middle_step = 0;
  uint32_t end_step = 0;
  // Of a loop: iterations, or at most so many where it has one of the next two.
  uint64_t count = 0;
  bool has_count = false;  // An i64; below 0 is 0.
  Place count_place;
  bool has_condition = false;  // A bool, read before each iteration.
  Place condition;             // Of a branch, too.
  std::vector<LoopResult> results;

  bool IsLoop() const { return kind != BlockKind::kBranch; }
  // Whether only a run knows how often the loop repeats: then a session's limit holds.
  bool IsOpen() const { return IsLoop() && (has_count || has_condition); }
  friend bool operator==(const ControlBlock&, const ControlBlock&) = default;
};

struct ControlProgram {
  std::vector<ControlBlock> blocks;  // By first step; one that is around another comes before it.
  std::vector<Walker> walkers;       // Those of outer loops before those of inner ones.

  bool empty() const { return blocks.empty(); }
  friend bool operator==(const ControlProgram&, const ControlProgram&) = default;
};

std::string EncodeControl(const ControlProgram& control);
// kDataLoss: not such bytes. Checks no meaning: CheckManifest does.
RuntimeOr<ControlProgram> DecodeControl(std::span<const uint8_t> bytes);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_CONTROL_PROGRAM_H_
