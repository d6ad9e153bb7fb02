#include "compiler/runtime/stall_watch.h"

#include <pthread.h>

#include <algorithm>

#include "base/check.h"

namespace burnish {
namespace {

// How long a look lasts. Long beside what it takes to read a clock (0.3 µs, EPYC Zen 5), short
// beside the 3 ms for which Linux lets a thread run that shares its CPU.
constexpr int64_t kLookNs = 25'000;

// So long a thread that slept may take to wake up: an idle CPU of a virtual machine comes back
// within 100 µs or two.
constexpr int64_t kWakingNs = 200'000;

// What a loan lasts, doubled with each of one region. All threads of a region go at half their
// speed meanwhile, so that the first one is short beside the 3 ms that Linux gives to who competes
// for a CPU: most of those who take one do so for less, and where all CPUs of a machine run a
// region there is always one. Beside somebody who stays, the looks between the loans of the first
// turn cost 0.2 ms.
constexpr int64_t kFirstLoanNs = 500'000, kLongestLoanNs = 128'000'000;

int64_t CpuNs(clockid_t clock) {
  timespec now;
  // Of a thread that has ended: no stall.
  if (clock_gettime(clock, &now) != 0) return -1;
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Linux makes a thread's clock of its number (include/linux/posix-timers_types.h,
// make_thread_cpuclock), which its users rely on since clock_getcpuclockid(3) is made so.
pid_t ThreadOf(clockid_t clock) { return static_cast<pid_t>(~(clock >> 3)); }

}  // namespace

clockid_t ThreadClock() {
  clockid_t clock = 0;
  // Of the calling thread it cannot fail, and it makes no call of the system.
  pthread_getcpuclockid(pthread_self(), &clock);
  return clock;
}

NextWait NextWaitOf(const WaitState& state) {
  // What is left of a CPU that two share is for the one that works.
  if (state.shares_cpu) {
    // Not shorter: another thread may be looking, so that this one could not.
    return {.spins = false, .ns = std::max(state.loan_left_ns, NextWait::kFirstNapNs)};
  }
  if (state.others_run && state.waited_ns < NextWait::kSpinOnNs) {
    return {.spins = true, .ns = NextWait::kLookAgainNs};
  }
  const int doublings = std::min(state.nap_count, 16);  // Beyond the longest nap.
  return {.spins = false,
          .ns = std::min(NextWait::kFirstNapNs << doublings, NextWait::kLongestNapNs)};
}

StallWatch::StallWatch(int thread_count) : threads_(thread_count), cpu_ns_(thread_count) {
  loans_.reserve(thread_count);  // So that a loan takes no memory.
}

void StallWatch::BeginRegion(uint32_t region, int thread_count) {
  region_.store(region, std::memory_order_relaxed);
  if (thread_count_.load(std::memory_order_relaxed) != thread_count) {
    thread_count_.store(thread_count, std::memory_order_relaxed);
  }
  if (has_lent_) EndLoans();
}

void StallWatch::WaitWhile(int self, WaitableWord& word, uint32_t old,
                           std::atomic<int64_t>& spin_ns) {
  if (self >= thread_count_.load(std::memory_order_relaxed)) {
    word.SleepWhile(old);
    return;
  }
  Thread& thread = threads_[self];
  if (spin_ns.load(std::memory_order_relaxed) == 0 &&
      !thread.shares_cpu.load(std::memory_order_relaxed) &&
      word.SpinWhile(old, usual_spin_ns_.load(std::memory_order_relaxed))) {
    return;
  }
  const int64_t began_ns = MonotonicNs();
  int nap_count = 0;
  while (word.Load() == old) {
    // Another thread that looks at the same time does so for all.
    bool others_run = true;
    if (!is_looking_.exchange(true, std::memory_order_acquire)) {
      if (!thread.shares_cpu.load(std::memory_order_relaxed)) {
        others_run = Look(word, old, self, began_ns, spin_ns);
      } else if (TakeBack(word, old, self, spin_ns)) {
        nap_count = 0;
      }
      is_looking_.store(false, std::memory_order_release);
    }
    const int64_t now_ns = MonotonicNs();
    const NextWait next =
        NextWaitOf({.waited_ns = now_ns - began_ns,
                    .others_run = others_run,
                    .shares_cpu = thread.shares_cpu.load(std::memory_order_relaxed),
                    .loan_left_ns = thread.until_ns.load(std::memory_order_relaxed) - now_ns,
                    .nap_count = nap_count});
    if (next.spins) {
      if (word.SpinWhile(old, next.ns)) return;
      continue;
    }
    thread.is_asleep.store(true, std::memory_order_relaxed);
    word.SleepWhile(old, next.ns);
    thread.is_asleep.store(false, std::memory_order_relaxed);
    ++nap_count;
  }
}

bool StallWatch::MayBeStalled(int number, int self, int64_t now_ns, int64_t waited_ns) const {
  const Thread& thread = threads_[number];
  if (number == self || thread.is_asleep.load(std::memory_order_relaxed) ||
      thread.shares_cpu.load(std::memory_order_relaxed) ||
      now_ns < thread.until_ns.load(std::memory_order_relaxed)) {
    return false;
  }
  return waited_ns >= kWakingNs || thread.arrived_in.load(std::memory_order_relaxed) ==
                                       region_.load(std::memory_order_relaxed);
}

bool StallWatch::Look(WaitableWord& word, uint32_t old, int self, int64_t began_ns,
                      std::atomic<int64_t>& spin_ns) {
  const int count = thread_count_.load(std::memory_order_relaxed);
  const auto cpu_ns = [this](int number) {
    return CpuNs(threads_[number].clock.load(std::memory_order_relaxed));
  };
  const int64_t start_ns = MonotonicNs();
  for (int i = 0; i < count; ++i) {
    cpu_ns_[i] = i == self || MayBeStalled(i, self, start_ns, start_ns - began_ns) ? cpu_ns(i) : -1;
  }
  if (word.SpinWhile(old, kLookNs)) return true;
  const int64_t looked_ns = MonotonicNs() - start_ns;
  // Who looks has spun all the time. Where that does not show, the clocks are coarse, or this
  // thread was the one that did not run.
  if (cpu_ns(self) - cpu_ns_[self] < looked_ns / 2) return false;
  bool others_run = true;
  for (int i = 0; i < count; ++i) {
    if (i == self || cpu_ns_[i] < 0) continue;
    const int64_t now_ns = cpu_ns(i);
    if (now_ns < 0 || now_ns - cpu_ns_[i] > looked_ns / 8) continue;
    is_lending_.store(true, std::memory_order_seq_cst);
    // Either this sees that the wait is over, or EndRegion sees is_lending_.
    const bool has_lent = word.LoadInOrder() == old && Lend(i, self, spin_ns);
    is_lending_.store(false, std::memory_order_release);
    if (has_lent) return false;
    others_run = false;
  }
  return others_run;
}

bool StallWatch::Lend(int victim, int self, std::atomic<int64_t>& spin_ns) {
  const pid_t thread = ThreadOf(threads_[victim].clock.load(std::memory_order_relaxed));
  Loan loan{.victim = victim, .helper = self, .victims_mask = {}};
  const int cpu = sched_getcpu();
  if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  // A thread that waits in a CPU's queue is moved at once.
  if (sched_getaffinity(thread, sizeof(loan.victims_mask), &loan.victims_mask) != 0 ||
      sched_setaffinity(thread, sizeof(mask), &mask) != 0) {
    return false;
  }
  int& count = threads_[victim].loan_count;
  const int64_t until_ns = MonotonicNs() + std::min(kFirstLoanNs << count, kLongestLoanNs);
  count = std::min(count + 1, 32);
  for (int number : {victim, self}) {
    threads_[number].until_ns.store(until_ns, std::memory_order_relaxed);
    threads_[number].shares_cpu.store(true, std::memory_order_relaxed);
  }
  if (loans_.empty()) {
    usual_spin_ns_.store(spin_ns.load(std::memory_order_relaxed), std::memory_order_relaxed);
    spin_ns.store(0, std::memory_order_relaxed);
  }
  loans_.push_back(loan);
  has_lent_ = true;
  return true;
}

bool StallWatch::TakeBack(WaitableWord& word, uint32_t old, int self,
                          std::atomic<int64_t>& spin_ns) {
  const int64_t now_ns = MonotonicNs();
  if (now_ns < threads_[self].until_ns.load(std::memory_order_relaxed)) return false;
  is_lending_.store(true, std::memory_order_seq_cst);
  // As in Look.
  const bool goes_on = word.LoadInOrder() == old;
  if (goes_on) {
    const auto loan = std::find_if(loans_.begin(), loans_.end(), [self](const Loan& each) {
      return each.victim == self || each.helper == self;
    });
    CHECK(loan != loans_.end());
    MoveTo(loan->victim, loan->victims_mask);
    for (int number : {loan->victim, loan->helper}) {
      threads_[number].until_ns.store(now_ns + kWakingNs, std::memory_order_relaxed);
      threads_[number].shares_cpu.store(false, std::memory_order_relaxed);
    }
    loans_.erase(loan);
    if (loans_.empty())
      spin_ns.store(usual_spin_ns_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  is_lending_.store(false, std::memory_order_release);
  return goes_on;
}

const std::vector<StallWatch::Loan>& StallWatch::EndRegion() {
  while (is_lending_.load(std::memory_order_seq_cst)) sched_yield();
  return loans_;
}

void StallWatch::MoveTo(int number, const cpu_set_t& mask) {
  const pid_t thread = ThreadOf(threads_[number].clock.load(std::memory_order_relaxed));
  // Where those CPUs have gone away meanwhile the thread stays where it is.
  static_cast<void>(sched_setaffinity(thread, sizeof(mask), &mask));
}

void StallWatch::Reset() {
  is_looking_.store(false, std::memory_order_relaxed);
  is_lending_.store(false, std::memory_order_relaxed);
  EndLoans();
  for (Thread& thread : threads_) thread.is_asleep.store(false, std::memory_order_relaxed);
}

void StallWatch::EndLoans() {
  has_lent_ = false;
  loans_.clear();
  for (Thread& thread : threads_) {
    thread.shares_cpu.store(false, std::memory_order_relaxed);
    thread.until_ns.store(0, std::memory_order_relaxed);
    thread.loan_count = 0;
  }
}

}  // namespace burnish
