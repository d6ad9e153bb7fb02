#include "compiler/runtime/control_walk.h"

#include <algorithm>
#include <cstring>

#include "compiler/runtime/kernel_error.h"
#include "compiler/runtime/spin_wait.h"

namespace burnish {

ControlPlan PlanControl(const BundleManifest& manifest) {
  const ControlProgram& control = manifest.control;
  ControlPlan plan;
  plan.blocks.resize(control.blocks.size());
  for (uint32_t i = 0; i < control.blocks.size(); ++i) {
    const ControlBlock& block = control.blocks[i];
    if (block.parent == kNoBlock) {
      plan.top.push_back(i);
      continue;
    }
    const ControlBlock& parent = control.blocks[block.parent];
    const bool is_second = !parent.IsLoop() && block.end_step > parent.middle_step;
    plan.blocks[block.parent].children[is_second].push_back(i);
  }
  for (uint32_t i = 0; i < control.walkers.size(); ++i) {
    plan.blocks[control.walkers[i].block].walkers.push_back(i);
  }
  for (uint32_t s = 0; s < manifest.steps.size(); ++s) {
    const std::vector<Place>& places = manifest.steps[s].buffers;
    for (uint32_t b = 0; b < places.size(); ++b) {
      if (places[b].region != Region::kWalker) continue;
      plan.blocks[control.walkers[places[b].index].block].patches.push_back(
          {places[b].index, s, b, places[b].offset_bytes});
    }
  }
  return plan;
}

void WalkFailure::RecordKernel(uint64_t sequence, uint32_t step, int32_t code) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t known = sequence_.load(std::memory_order_relaxed);
  if (sequence > known || (sequence == known && code >= code_)) return;
  step_ = step;
  code_ = code;
  sequence_.store(sequence, std::memory_order_relaxed);
}

void WalkFailure::RecordLimit(uint32_t block, uint64_t limit) {
  const std::lock_guard<std::mutex> lock(mutex_);
  block_ = block;
  limit_ = limit;
}

RuntimeStatus WalkFailure::ToStatus(const BundleManifest& manifest) const {
  if (sequence_.load(std::memory_order_relaxed) != ~uint64_t{0}) {
    return KernelError("step " + std::to_string(step_) + " \"" + manifest.steps[step_].name + "\"",
                       code_);
  }
  if (block_ == kNoBlock) return RuntimeStatus();
  return RuntimeStatus(RuntimeCode::kResourceExhausted,
                       "loop \"" + manifest.control.blocks[block_].name + "\" goes on after " +
                           std::to_string(limit_) +
                           " iterations (the limit); give a higher one if that is right");
}

void ControlWalk::Walk() {
  if (run_.step_ns != nullptr) {
    if (worker_ == 0) std::fill_n(run_.step_ns, steps_.size(), 0);
    run_.barrier->Wait();  // Waking up is not part of the first step.
    last_ns_ = MonotonicNs();
  }
  static_cast<void>(WalkRange(0, static_cast<uint32_t>(steps_.size()), run_.plan->top));
}

bool ControlWalk::WalkRange(uint32_t begin, uint32_t end, const std::vector<uint32_t>& children) {
  uint32_t step = begin;
  for (const uint32_t child : children) {
    const ControlBlock& block = run_.manifest->control.blocks[child];
    for (; step < block.first_step; ++step) {
      if (!RunStep(step)) return false;
    }
    if (!WalkBlock(child)) return false;
    step = block.end_step;
  }
  for (; step < end; ++step) {
    if (!RunStep(step)) return false;
  }
  return true;
}

bool ControlWalk::WalkBlock(uint32_t number) {
  const ControlBlock& block = run_.manifest->control.blocks[number];
  if (block.IsLoop()) return WalkLoop(number);
  const ControlPlan::Block& plan = run_.plan->blocks[number];
  // Written before a barrier that all have passed, and by nothing inside of the branch.
  const bool condition = *Address(block.condition) != 0;
  return condition ? WalkRange(block.first_step, block.middle_step, plan.children[0])
                   : WalkRange(block.middle_step, block.end_step, plan.children[1]);
}

bool ControlWalk::WalkLoop(uint32_t number) {
  const ControlBlock& block = run_.manifest->control.blocks[number];
  const ControlPlan::Block& plan = run_.plan->blocks[number];
  const uint64_t count = CountOf(block);
  const bool is_last = block.kind == BlockKind::kLastIterations;
  const uint64_t first = is_last ? block.count - count : 0;
  EnterLoop(plan);
  for (uint64_t iteration = first;; ++iteration) {
    MoveTo(plan, iteration, iteration == first);
    // Iterations take turns with two places of the condition: while a slow worker reads one, a fast
    // one writes the other, and between them is a barrier of the iteration's steps.
    if (iteration == first + count || (block.has_condition && *Address(block.condition) == 0)) {
      break;
    }
    if (block.IsOpen() && iteration - first == run_.loop_limit) {
      // All workers see the same count and condition, so that all of them leave here.
      if (worker_ == 0) run_.failure->RecordLimit(number, run_.loop_limit);
      return false;
    }
    if (!WalkRange(block.first_step, block.end_step, plan.children[0])) return false;
  }
  HandOn(block);
  return true;
}

uint64_t ControlWalk::CountOf(const ControlBlock& block) const {
  if (!block.has_count) return block.count;
  int64_t count = 0;
  std::memcpy(&count, Address(block.count_place), sizeof(count));
  return std::min<uint64_t>(block.count, count < 0 ? 0 : static_cast<uint64_t>(count));
}

uint8_t* ControlWalk::Address(const Place& place) const {
  if (place.region == Region::kWalker) return table_.at[place.index] + place.offset_bytes;
  return run_.address(place);
}

// The outer loops' walkers stay where they are until this loop ends.
void ControlWalk::EnterLoop(const ControlPlan::Block& plan) {
  for (const uint32_t number : plan.walkers) {
    const Walker& walker = run_.manifest->control.walkers[number];
    table_.base[number] = Address(walker.base);
    if (walker.has_first) table_.first[number] = Address(walker.first);
  }
}

void ControlWalk::MoveTo(const ControlPlan::Block& plan, uint64_t iteration, bool is_first) {
  for (const uint32_t number : plan.walkers) {
    const Walker& walker = run_.manifest->control.walkers[number];
    if (is_first && walker.has_first) {
      table_.at[number] = table_.first[number];
      continue;
    }
    uint64_t turn = iteration - walker.lag;
    if (walker.period == 2) {
      turn &= 1;  // All that compilers write; a division takes longer than the rest.
    } else if (walker.period > 0) {
      turn %= walker.period;
    }
    // As numbers: behind the last iteration the address may be of no object.
    table_.at[number] =
        reinterpret_cast<uint8_t*>(reinterpret_cast<uintptr_t>(table_.base[number]) +
                                   turn * static_cast<uint64_t>(walker.stride_bytes));
  }
  for (const ControlPlan::Patch& patch : plan.patches) {
    steps_[patch.step].buffers[patch.buffer] = reinterpret_cast<void*>(
        reinterpret_cast<uintptr_t>(table_.at[patch.walker]) + patch.offset_bytes);
  }
}

void ControlWalk::HandOn(const ControlBlock& block) {
  if (block.results.empty()) return;
  if (worker_ == 0) {
    for (const LoopResult& result : block.results) {
      std::memmove(Address(result.to), Address(result.from), result.size_bytes);
    }
  }
  run_.barrier->Wait();
}

bool ControlWalk::RunStep(uint32_t number) {
  PlannedStep& step = steps_[number];
  const uint64_t sequence = sequence_++;
  const int32_t code = step.kernel(&step.context, worker_, worker_count_);
  if (code != BURNISH_KERNEL_OK) run_.failure->RecordKernel(sequence, number, code);
  run_.barrier->Wait();
  if (run_.failure->IsAtOrBefore(sequence)) return false;
  if (run_.step_ns != nullptr && worker_ == 0) {
    const int64_t now_ns = MonotonicNs();
    run_.step_ns[number] += now_ns - last_ns_;
    last_ns_ = now_ns;
  }
  reached_ = number == run_.last_step;
  return !reached_;
}

}  // namespace burnish
