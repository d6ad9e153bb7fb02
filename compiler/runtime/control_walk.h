// Walks the steps of a bundle with loops and branches. Internal to Session.
#ifndef COMPILER_RUNTIME_CONTROL_WALK_H_
#define COMPILER_RUNTIME_CONTROL_WALK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/spin_barrier.h"

namespace burnish {

struct PlannedStep {
  BurnishKernel kernel;
  std::vector<void*> buffers;
  BurnishKernelContext context;
};

// What a manifest's control program means for the walk, looked up once.
struct ControlPlan {
  // A step's buffer that lies where a walker is.
  struct Patch {
    uint32_t walker, step, buffer;
    uint64_t offset_bytes;
  };
  struct Block {
    std::vector<uint32_t> walkers;      // Of this loop.
    std::vector<Patch> patches;         // By those.
    std::vector<uint32_t> children[2];  // Blocks right inside; of a branch: by arm.
  };
  std::vector<Block> blocks;
  std::vector<uint32_t> top;  // Blocks of no other block.
};
ControlPlan PlanControl(const BundleManifest& manifest);

// Where one worker's walkers are. Each worker has its own: a fast one begins an iteration while a
// slow one still leaves the one before.
struct WalkerTable {
  std::vector<uint8_t*> at, base, first;  // By walker.
};

// Why a run ended before its end: the earliest reason, by how many steps had been run before.
class WalkFailure {
 public:
  void RecordKernel(uint64_t sequence, uint32_t step, int32_t code);
  void RecordLimit(uint32_t block, uint64_t limit);

  // After the barrier of step number `sequence` of the run all workers see the same, even while a
  // faster one already records a failure of the next. Steps are counted and not named by their
  // place: a loop's first step runs after its last.
  bool IsAtOrBefore(uint64_t sequence) const {
    return sequence_.load(std::memory_order_relaxed) <= sequence;
  }
  RuntimeStatus ToStatus(const BundleManifest& manifest) const;

 private:
  std::mutex mutex_;
  std::atomic<uint64_t> sequence_{~uint64_t{0}};
  uint32_t step_ = 0;
  int32_t code_ = 0;
  uint32_t block_ = kNoBlock;
  uint64_t limit_ = 0;
};

// One worker's way through one run.
class ControlWalk {
 public:
  struct Run {
    const BundleManifest* manifest;
    const ControlPlan* plan;
    SpinBarrier* barrier;
    WalkFailure* failure;
    uint64_t loop_limit;                            // Of loops that only a run knows the count of.
    uint32_t last_step;                             // Ends behind its first time.
    int64_t* step_ns;                               // Null: nobody asks. Sums over iterations.
    std::function<uint8_t*(const Place&)> address;  // Of places outside of walkers.
  };
  ControlWalk(const Run& run, std::vector<PlannedStep>& steps, WalkerTable& table, int worker,
              int worker_count)
      : run_(run), steps_(steps), table_(table), worker_(worker), worker_count_(worker_count) {}

  void Walk();
  // Whether step `last_step` was run.
  bool reached() const { return reached_; }

 private:
  // All return false where the walk ends: all workers do so at the same place.
  bool WalkRange(uint32_t begin, uint32_t end, const std::vector<uint32_t>& children);
  bool WalkBlock(uint32_t number);
  bool WalkLoop(uint32_t number);
  bool RunStep(uint32_t number);

  uint8_t* Address(const Place& place) const;
  void EnterLoop(const ControlPlan::Block& plan);
  void MoveTo(const ControlPlan::Block& plan, uint64_t iteration, bool is_first);
  uint64_t CountOf(const ControlBlock& block) const;
  void HandOn(const ControlBlock& block);

  const Run& run_;
  std::vector<PlannedStep>& steps_;
  WalkerTable& table_;
  const int worker_, worker_count_;
  uint64_t sequence_ = 0;
  int64_t last_ns_ = 0;
  bool reached_ = false;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_CONTROL_WALK_H_
