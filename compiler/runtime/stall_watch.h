// Notices threads of a parallel region that wait for a CPU while somebody else uses it, and lends
// them the CPU of a thread that would only wait for them, for a while. ADR 14.
#ifndef COMPILER_RUNTIME_STALL_WATCH_H_
#define COMPILER_RUNTIME_STALL_WATCH_H_

#include <sched.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "compiler/runtime/spin_wait.h"

namespace burnish {

// The CPU time clock of the calling thread, for other threads; a number, which names no thread any
// more when the thread has ended.
clockid_t ThreadClock();

// What a thread knows that has spun to its end, looked at the others, and waits still.
struct WaitState {
  int64_t waited_ns = 0;
  bool others_run = false;   // None of them lacks a CPU, and this thread has one to itself.
  bool shares_cpu = false;   // With a thread of the region, by a loan,
  int64_t loan_left_ns = 0;  // which lasts so much longer; may be over.
  int nap_count = 0;         // Since it slept first.
};

struct NextWait {
  // Where all others run nobody lacks this CPU, and a sleep costs more than the wait: the sleeper
  // comes back after 40 µs on a quiet virtual machine and after 0.2 to 0.6 ms on a busy host, late
  // for the next barrier, at which the others sleep in their turn. So who waits spins on for so
  // long, four times that, and looks again as often as others could lose their CPUs. Longer waits
  // are for steps that few threads work at.
  static constexpr int64_t kSpinOnNs = 2'000'000, kLookAgainNs = 50'000;
  // Between looks after that, doubled each time.
  static constexpr int64_t kFirstNapNs = 150'000, kLongestNapNs = 5'000'000;

  bool spins = false;  // Else it sleeps, for at most:
  int64_t ns = 0;
};

// The policy of a wait, apart from lending: a pure function.
NextWait NextWaitOf(const WaitState& state);

// Threads have their numbers in the region. Where nobody waits for long it costs each of them a
// store a region.
class StallWatch {
 public:
  // The thread `victim` did not run while others waited, and got the CPU of `helper`.
  struct Loan {
    int victim, helper;
    cpu_set_t victims_mask;  // As before.
  };

  explicit StallWatch(int thread_count);

  // By one thread, before the others of a region start. `region`: differs from that of the region
  // before. `thread_count` 0: nobody looks during this one.
  void BeginRegion(uint32_t region, int thread_count);
  void SetThread(int number, clockid_t clock) {
    threads_[number].clock.store(clock, std::memory_order_relaxed);
  }

  // By each thread of the region when it begins.
  void Arrive(int number, uint32_t region) {
    threads_[number].arrived_in.store(region, std::memory_order_relaxed);
  }

  // By thread `self` of the region, after it has spun: returns once `word` differs from `old`,
  // which a thread of the region does before the region ends. While there is a loan `spin_ns` is 0,
  // and those spin here who share their CPU with nobody: of two that do, one that spins would keep
  // the CPU from the other.
  void WaitWhile(int self, WaitableWord& word, uint32_t old, std::atomic<int64_t>& spin_ns);

  // Of a thread of this region, for itself.
  bool SharesCpu(int number) const {
    return threads_[number].shares_cpu.load(std::memory_order_relaxed);
  }

  // By the thread that began the region, when `word` differs from what the others could still wait
  // for. Afterwards nobody lends or takes back any more; the masks of these victims are still those
  // of the loans.
  const std::vector<Loan>& EndRegion();
  void MoveTo(int number, const cpu_set_t& mask);

  // In a forked child.
  void Reset();

 private:
  struct alignas(64) Thread {
    std::atomic<clockid_t> clock{0};
    std::atomic<uint32_t> arrived_in{0};
    std::atomic<bool> is_asleep{false};   // In WaitWhile, so that it need not run.
    std::atomic<bool> shares_cpu{false};  // Has lent or got a CPU.
    // When the loan may be taken back; afterwards, until when this thread may be waking up.
    std::atomic<int64_t> until_ns{0};
    int loan_count = 0;  // Of this region, as a victim.
  };

  // Lends this thread's CPU to the first other one that does not run. True: there is none, and this
  // thread has a CPU to itself.
  bool Look(WaitableWord& word, uint32_t old, int self, int64_t began_ns,
            std::atomic<int64_t>& spin_ns);
  bool MayBeStalled(int number, int self, int64_t now_ns, int64_t waited_ns) const;
  bool Lend(int victim, int self, std::atomic<int64_t>& spin_ns);
  void EndLoans();
  // Whether the loan of this thread, whose time is over, was ended.
  bool TakeBack(WaitableWord& word, uint32_t old, int self, std::atomic<int64_t>& spin_ns);

  std::deque<Thread> threads_;  // Cannot be moved.
  std::atomic<int> thread_count_{0};
  std::atomic<uint32_t> region_{0};
  // One at a time, which guards all below: its clocks are calls of the system.
  std::atomic<bool> is_looking_{false};
  std::atomic<bool> is_lending_{false};
  bool has_lent_ = false;                  // In this region.
  std::atomic<int64_t> usual_spin_ns_{0};  // Without a loan; read by all.
  std::vector<int64_t> cpu_ns_;            // Of the one that looks.
  std::vector<Loan> loans_;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_STALL_WATCH_H_
