#include "compiler/runtime/spin_wait.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace burnish {
namespace {

// The spin looks at the clock once in so many steps: about once per microsecond.
constexpr int kSpinsPerClockRead = 64;

void CpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

int64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void WaitableWord::Publish(uint32_t value) {
  // Sequentially consistent with the sleeper's two steps below: either it is counted here, or it
  // sees the new word and does not sleep.
  word_.store(value, std::memory_order_seq_cst);
  if (sleeper_count_.load(std::memory_order_seq_cst) != 0) {
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }
}

bool WaitableWord::SpinWhile(uint32_t old, int64_t spin_ns) {
  if (spin_ns <= 0) return false;
  int64_t deadline_ns = 0;  // Read late: most waits end before the first look at the clock.
  do {
    for (int i = 0; i < kSpinsPerClockRead; ++i) {
      if (word_.load(std::memory_order_acquire) != old) return true;
      CpuRelax();
    }
    if (deadline_ns == 0) deadline_ns = MonotonicNs() + spin_ns;
  } while (MonotonicNs() < deadline_ns);
  return false;
}

bool WaitableWord::SleepWhile(uint32_t old, int64_t nap_ns) {
  const timespec limit{.tv_sec = nap_ns / 1'000'000'000, .tv_nsec = nap_ns % 1'000'000'000};
  sleeper_count_.fetch_add(1, std::memory_order_seq_cst);
  bool changed = false;
  while (!(changed = word_.load(std::memory_order_seq_cst) != old)) {
    // Returns at once when the word has changed (EAGAIN); a signal's EINTR goes round again.
    const bool woken = syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, old,
                               nap_ns == kNoLimit ? nullptr : &limit, nullptr, 0) == 0;
    if (!woken && errno == ETIMEDOUT) break;
  }
  sleeper_count_.fetch_sub(1, std::memory_order_relaxed);
  return changed;
}

}  // namespace burnish
