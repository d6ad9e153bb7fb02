// Lets the threads of a parallel region wait for each other as wait_policy.h decides: reads their
// CPU clocks, moves them, spins and sleeps.
#ifndef COMPILER_RUNTIME_STALL_WATCH_H_
#define COMPILER_RUNTIME_STALL_WATCH_H_

#include <sched.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "compiler/runtime/spin_wait.h"
#include "compiler/runtime/wait_policy.h"

namespace burnish {

// A mask that holds one CPU, a number below CPU_SETSIZE.
cpu_set_t MaskOf(int cpu);

// The CPU time clock of the calling thread, for other threads; a number, which names no thread any
// more when the thread has ended.
clockid_t ThreadClock();

// Threads have their numbers in the region. Where nobody waits for long it costs each of them a
// store a region.
class StallWatch {
 public:
  explicit StallWatch(int thread_count);

  // By one thread, before the others of a region start. `region`: differs from that of the region
  // before. `thread_count` 0: nobody looks during this one.
  void BeginRegion(uint32_t region, int thread_count);
  void SetThread(int number, clockid_t clock) {
    threads_[number].clock.store(clock, std::memory_order_relaxed);
  }

  // By each thread of the region when it begins.
  void Arrive(int number, uint32_t region) { region_.Arrive(number, region); }

  // By thread `self` of the region, after it has spun: returns once `word` differs from `old`,
  // which a thread of the region does before the region ends. While there is a loan `spin_ns` is 0,
  // and those spin here who share their CPU with nobody: of two that do, one that spins would keep
  // the CPU from the other.
  void WaitWhile(int self, WaitableWord& word, uint32_t old, std::atomic<int64_t>& spin_ns);

  // Of a thread of this region, for itself.
  bool SharesCpu(int number) const { return region_.SharesCpu(number); }

  // By the thread that began the region, when `word` differs from what the others could still wait
  // for. Afterwards nobody lends or takes back any more; victims of loans are still where they were
  // moved to.
  const RegionLoans& EndRegion();
  void MoveTo(int number, const cpu_set_t& mask);
  void MoveBack(const RegionLoans::Loan& loan);

  // In a forked child.
  void Reset();

 private:
  struct alignas(64) Thread {
    std::atomic<clockid_t> clock{0};
    // Of a victim: its mask before the loan, the CPU that it was moved to, the wait in which that
    // was, and the time and its CPU time then.
    cpu_set_t mask = {};
    int lent_cpu = 0;
    uint32_t lent_in = 0;
    int64_t lent_at_ns = 0, lent_at_ran_ns = 0;
  };
  // A wait on the machine: what its actions are done to.
  struct Waiter {
    int self;
    WaitableWord& word;
    uint32_t old;
    std::atomic<int64_t>& spin_ns;
  };

  void Look(const Waiter& waiter, const Wait& wait, const Wait::Action& look,
            Wait::Evidence& evidence);
  // Nothing happens where the wait is over, or the system refuses.
  void Lend(const Waiter& waiter, int victim);
  void TakeBack(const Waiter& waiter);
  bool MoveHere(int victim);
  // Of the loan in which the waiter takes part.
  bool HasRun(const Waiter& waiter, int64_t now_ns) const;
  // Where no loan is left.
  void RestoreSpin(const Waiter& waiter);

  std::deque<Thread> threads_;  // Cannot be moved.
  RegionLoans region_;
  std::atomic<int> thread_count_{0};
  // One at a time, which guards all below: its clocks are calls of the system.
  std::atomic<bool> is_looking_{false};
  std::atomic<bool> is_lending_{false};
  std::atomic<int64_t> usual_spin_ns_{0};  // Without a loan; read by all.
  std::vector<int64_t> ran_ns_;            // As Wait::Evidence has it.
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_STALL_WATCH_H_
