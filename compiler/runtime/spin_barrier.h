// A barrier for a number of threads that meet every few microseconds.
#ifndef COMPILER_RUNTIME_SPIN_BARRIER_H_
#define COMPILER_RUNTIME_SPIN_BARRIER_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>

#include "compiler/runtime/region_thread.h"
#include "compiler/runtime/spin_wait.h"
#include "compiler/runtime/stall_watch.h"
#include "compiler/runtime/team_spread.h"

namespace burnish {

// Sense-reversing with a counter as the sense (Mellor-Crummey and Scott, "Algorithms for scalable
// synchronization on shared-memory multiprocessors", TOCS 1991, section 3.1): the last to arrive
// advances the phase, the others wait for that.
//
// Up to four threads count themselves in one place. More are counted in groups, and the last of
// each group in the place of all, a combining tree of two levels (section 3.2): each count is a
// cache line that goes from core to core, 40 to 70 ns on a server's mesh, one after another. With
// groups of the root of their number the lines go through twice the root of it hands.
//
// The place of two shares a cache line with the phase: the last to arrive owns that line already
// when it advances the phase. Two threads meet in 143 ns so, and in 290 ns with a line for each
// (EPYC Zen 4, two cores of a virtual machine). Of more threads those that wait would read the line
// that the others count in.
class alignas(64) SpinBarrier {
 public:
  // `spin_ns`: how long a thread spins before it sleeps.
  SpinBarrier(int thread_count, int64_t spin_ns)
      : spin_ns_(spin_ns), counts_(1 + Ceil(thread_count, GroupSizeOf(thread_count))) {
    SetThreadCount(thread_count);
  }

  // Before the first region; `watch` outlives it.
  void SetWatch(StallWatch* watch) { watch_ = watch; }
  void SetSpread(TeamSpread* spread) { spread_ = spread; }

  // From now on. The watch makes it 0 in a region.
  void SetSpin(int64_t spin_ns) { spin_ns_.store(spin_ns, std::memory_order_relaxed); }
  int64_t spin_ns() const { return spin_ns_.load(std::memory_order_relaxed); }

  // For a region of `thread_count` threads, before its first Wait: nobody waits now. May be called
  // by each of them, with the same number.
  void SetThreadCount(int thread_count) {
    thread_count_.store(static_cast<uint32_t>(thread_count), std::memory_order_relaxed);
    group_size_.store(GroupSizeOf(thread_count), std::memory_order_relaxed);
  }

  // Returns when all threads have called it as often as this one. What they wrote before is visible
  // after.
  void Wait() {
    const uint32_t thread_count = thread_count_.load(std::memory_order_relaxed);
    if (thread_count == 1) return;
    // Cannot advance before this thread has arrived, so reading it first is safe.
    const uint32_t phase = phase_.Load();
    if (IsLast(thread_count)) {
      phase_.Publish(phase + 1);
    } else if (!phase_.SpinWhile(phase, spin_ns())) {
      WaitLonger(phase);
    }
  }

  // As new: of a region that was left in its middle, because its process is a forked child.
  void Reset() {
    count_of_two_.store(0, std::memory_order_relaxed);
    for (Count& each : counts_) each.arrived.store(0, std::memory_order_relaxed);
    phase_.Reset();
  }

  // As BurnishKernelContext::barrier wants it; `barrier` is a SpinBarrier.
  static void WaitCallback(void* barrier) { static_cast<SpinBarrier*>(barrier)->Wait(); }

 private:
  struct alignas(64) Count {
    std::atomic<uint32_t> arrived{0};
  };

  static constexpr uint32_t kTogether = 4;

  static uint32_t Ceil(uint32_t count, uint32_t divisor) { return (count + divisor - 1) / divisor; }
  static uint32_t GroupSizeOf(uint32_t thread_count) {
    if (thread_count <= kTogether) return thread_count;
    uint32_t root = 1;
    while (root * root < thread_count) ++root;
    return root;
  }

  // Whether all have arrived with this thread.
  bool IsLast(uint32_t thread_count) {
    if (thread_count == 2) return IsLastOf(2, count_of_two_);
    const uint32_t size = group_size_.load(std::memory_order_relaxed);
    const uint32_t group = region_thread / size, group_count = Ceil(thread_count, size);
    return IsLastOf(std::min(size, thread_count - group * size), counts_[1 + group].arrived) &&
           (group_count == 1 || IsLastOf(group_count, counts_[0].arrived));
  }
  // The last one makes the count new; its next step publishes that.
  static bool IsLastOf(uint32_t thread_count, std::atomic<uint32_t>& arrived) {
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != thread_count) return false;
    arrived.store(0, std::memory_order_relaxed);
    return true;
  }

  void WaitLonger(uint32_t phase) {
    if (watch_ != nullptr) {
      watch_->WaitWhile(region_thread, phase_, phase, spin_ns_);
      return;
    }
    if (spread_ != nullptr) spread_->Look(region_thread);
    phase_.SleepWhile(phase);
    if (spread_ != nullptr) spread_->Look(region_thread);
  }

  // Every thread reads what it wrote itself, or what all read: relaxed is enough.
  std::atomic<uint32_t> thread_count_{1}, group_size_{1};
  std::atomic<int64_t> spin_ns_;
  StallWatch* watch_ = nullptr;
  TeamSpread* spread_ = nullptr;
  std::deque<Count> counts_;  // Of the groups' last ones, and of each group. Cannot be moved.
  alignas(64) std::atomic<uint32_t> count_of_two_{0};
  WaitableWord phase_;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_SPIN_BARRIER_H_
