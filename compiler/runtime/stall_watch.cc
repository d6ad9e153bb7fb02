#include "compiler/runtime/stall_watch.h"

#include <pthread.h>

namespace burnish {
namespace {

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

cpu_set_t MaskOf(int cpu) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  return mask;
}

clockid_t ThreadClock() {
  clockid_t clock = 0;
  // Of the calling thread it cannot fail, and it makes no call of the system.
  pthread_getcpuclockid(pthread_self(), &clock);
  return clock;
}

StallWatch::StallWatch(int thread_count)
    : threads_(thread_count), region_(thread_count), ran_ns_(thread_count) {}

void StallWatch::BeginRegion(uint32_t region, int thread_count) {
  region_.BeginRegion(region);
  if (thread_count_.load(std::memory_order_relaxed) != thread_count) {
    thread_count_.store(thread_count, std::memory_order_relaxed);
  }
}

void StallWatch::WaitWhile(int self, WaitableWord& word, uint32_t old,
                           std::atomic<int64_t>& spin_ns) {
  if (self >= thread_count_.load(std::memory_order_relaxed)) {
    word.SleepWhile(old);
    return;
  }
  if (spin_ns.load(std::memory_order_relaxed) == 0 && !region_.SharesCpu(self) &&
      word.SpinWhile(old, usual_spin_ns_.load(std::memory_order_relaxed))) {
    return;
  }
  const Waiter waiter{.self = self, .word = word, .old = old, .spin_ns = spin_ns};
  Wait wait(self, MonotonicNs());
  Wait::Evidence evidence;
  while (word.Load() == old) {
    if (!evidence.has_turn) {
      evidence.has_turn = !is_looking_.exchange(true, std::memory_order_acquire);
    }
    evidence.now_ns = MonotonicNs();
    evidence.shares_cpu = region_.SharesCpu(self);
    evidence.until_ns = region_.UntilNs(self);
    const Wait::Action action = wait.Next(evidence);
    const bool pauses = action.what == Wait::Do::kSpin || action.what == Wait::Do::kSleep;
    if (pauses && evidence.has_turn) {
      evidence.has_turn = false;
      is_looking_.store(false, std::memory_order_release);
    }
    switch (action.what) {
      case Wait::Do::kSpin:
        word.SpinWhile(old, action.ns);
        break;
      case Wait::Do::kSleep:
        region_.SetAsleep(self, old);
        word.SleepWhile(old, action.ns);
        region_.SetAsleep(self, RegionLoans::kAwake);
        break;
      case Wait::Do::kLook:
        Look(waiter, wait, action, evidence);
        break;
      case Wait::Do::kLend:
        Lend(waiter, action.victim);
        break;
      case Wait::Do::kTakeBack:
        TakeBack(waiter);
        break;
    }
  }
  if (evidence.has_turn) is_looking_.store(false, std::memory_order_release);
}

void StallWatch::Look(const Waiter& waiter, const Wait& wait, const Wait::Action& look,
                      Wait::Evidence& evidence) {
  const int count = thread_count_.load(std::memory_order_relaxed);
  const auto cpu_ns = [this](int number) {
    return CpuNs(threads_[number].clock.load(std::memory_order_relaxed));
  };
  const int64_t start_ns = MonotonicNs();
  for (int i = 0; i < count; ++i) {
    const bool is_asked =
        i == waiter.self || region_.MayLackCpu(i, waiter.old, start_ns, start_ns - wait.began_ns());
    ran_ns_[i] = is_asked ? cpu_ns(i) : -1;
  }
  waiter.word.SpinWhile(waiter.old, look.ns);
  evidence.looked_ns = MonotonicNs() - start_ns;
  for (int i = 0; i < count; ++i) {
    if (ran_ns_[i] < 0) continue;
    const int64_t now_ns = cpu_ns(i);
    ran_ns_[i] = now_ns < 0 ? -1 : now_ns - ran_ns_[i];
  }
  evidence.ran_ns = {ran_ns_.data(), static_cast<size_t>(count)};
}

bool StallWatch::MoveHere(int victim) {
  Thread& moved = threads_[victim];
  const pid_t thread = ThreadOf(moved.clock.load(std::memory_order_relaxed));
  const int cpu = sched_getcpu();
  if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
  const cpu_set_t mask = MaskOf(cpu);
  moved.lent_cpu = cpu;
  // A thread that waits in a CPU's queue is moved at once.
  return sched_getaffinity(thread, sizeof(moved.mask), &moved.mask) == 0 &&
         sched_setaffinity(thread, sizeof(mask), &mask) == 0;
}

void StallWatch::Lend(const Waiter& waiter, int victim) {
  is_lending_.store(true, std::memory_order_seq_cst);
  // Either this sees that the wait is over, or EndRegion sees is_lending_.
  if (waiter.word.LoadInOrder() != waiter.old) {
    is_lending_.store(false, std::memory_order_release);
    return;
  }
  if (region_.loans().empty()) {
    usual_spin_ns_.store(waiter.spin_ns.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  // Before the victim moves: it may have this CPU at once, and until this thread has it again
  // nobody would tell the victim to sleep where it waits.
  Thread& lent = threads_[victim];
  lent.lent_in = waiter.old;
  lent.lent_at_ns = MonotonicNs();
  lent.lent_at_ran_ns = CpuNs(lent.clock.load(std::memory_order_relaxed));
  region_.Lend(victim, waiter.self, lent.lent_at_ns);
  waiter.spin_ns.store(0, std::memory_order_relaxed);
  if (!MoveHere(victim)) {
    region_.Refuse(victim, MonotonicNs());
    RestoreSpin(waiter);
  }
  is_lending_.store(false, std::memory_order_release);
}

void StallWatch::TakeBack(const Waiter& waiter) {
  is_lending_.store(true, std::memory_order_seq_cst);
  // As in Lend.
  if (waiter.word.LoadInOrder() == waiter.old) {
    const int64_t now_ns = MonotonicNs();
    MoveBack(region_.TakeBack(waiter.self, now_ns, HasRun(waiter, now_ns)));
    RestoreSpin(waiter);
  }
  is_lending_.store(false, std::memory_order_release);
}

bool StallWatch::HasRun(const Waiter& waiter, int64_t now_ns) const {
  const Thread& victim = threads_[region_.LoanOf(waiter.self).victim];
  const int64_t ran_ns =
      CpuNs(victim.clock.load(std::memory_order_relaxed)) - victim.lent_at_ran_ns;
  return waiter.old != victim.lent_in || 8 * ran_ns > now_ns - victim.lent_at_ns;
}

void StallWatch::RestoreSpin(const Waiter& waiter) {
  if (!region_.loans().empty()) return;
  waiter.spin_ns.store(usual_spin_ns_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

const RegionLoans& StallWatch::EndRegion() {
  while (is_lending_.load(std::memory_order_seq_cst)) sched_yield();
  return region_;
}

// A wider mask moves nobody: the victim would stay beside its helper until the system balances its
// queues, some milliseconds later, while each spins and keeps the CPU from the other.
void StallWatch::MoveBack(const RegionLoans::Loan& loan) {
  const Thread& victim = threads_[loan.victim];
  cpu_set_t elsewhere = victim.mask;
  CPU_CLR(victim.lent_cpu, &elsewhere);
  if (CPU_COUNT(&elsewhere) > 0) MoveTo(loan.victim, elsewhere);
  MoveTo(loan.victim, victim.mask);
}

void StallWatch::MoveTo(int number, const cpu_set_t& mask) {
  const pid_t thread = ThreadOf(threads_[number].clock.load(std::memory_order_relaxed));
  // Where those CPUs have gone away meanwhile the thread stays where it is.
  static_cast<void>(sched_setaffinity(thread, sizeof(mask), &mask));
}

void StallWatch::Reset() {
  is_looking_.store(false, std::memory_order_relaxed);
  is_lending_.store(false, std::memory_order_relaxed);
  region_.Clear();
  for (int i = 0; i < static_cast<int>(threads_.size()); ++i) {
    region_.SetAsleep(i, RegionLoans::kAwake);
  }
}

}  // namespace burnish
