// Waiting for a 32-bit word to change: spins for a bounded time, then sleeps in the kernel (futex).
#ifndef COMPILER_RUNTIME_SPIN_WAIT_H_
#define COMPILER_RUNTIME_SPIN_WAIT_H_

#include <atomic>
#include <cstdint>

namespace burnish {

// A word that one side advances and others wait on. Starts at 0. Keep it on a cache line without
// unrelated data.
class WaitableWord {
 public:
  uint32_t Load() const { return word_.load(std::memory_order_acquire); }
  // In one order with Publish and what else is sequentially consistent.
  uint32_t LoadInOrder() const { return word_.load(std::memory_order_seq_cst); }

  // Makes `value` visible, with all writes before it, and wakes who sleeps.
  void Publish(uint32_t value);

  // Returns once the word differs from `old`. `spin_ns`: how long to spin before sleeping; 0 sleeps
  // at once.
  void WaitWhile(uint32_t old, int64_t spin_ns) {
    if (!SpinWhile(old, spin_ns)) SleepWhile(old);
  }

  // Its two parts. Whether the word differs from `old`. A sleep with a limit may last longer by the
  // system's slack for timers (50 µs).
  bool SpinWhile(uint32_t old, int64_t spin_ns);
  bool SleepWhile(uint32_t old, int64_t nap_ns = kNoLimit);
  static constexpr int64_t kNoLimit = -1;

  // As new. Nobody waits.
  void Reset() {
    word_.store(0, std::memory_order_relaxed);
    sleeper_count_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint32_t> word_{0};
  std::atomic<uint32_t> sleeper_count_{0};
};

// Nanoseconds of the monotonic clock; about 25 ns a call.
int64_t MonotonicNs();

}  // namespace burnish

#endif  // COMPILER_RUNTIME_SPIN_WAIT_H_
