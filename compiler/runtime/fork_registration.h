// What an object with locks or threads needs to go on in a forked child: there, of all threads only
// the one that forked is left, and a lock that another held stays held for ever.
#ifndef COMPILER_RUNTIME_FORK_REGISTRATION_H_
#define COMPILER_RUNTIME_FORK_REGISTRATION_H_

#include <array>
#include <atomic>
#include <cstdint>

namespace burnish {

// For std::lock_guard. Those who wait get it in the order in which they came. Who comes while it is
// free takes it before them, unless the first of them has waited for kPatienceNs when it becomes
// free: then it is that one's, whenever it gets a CPU. Else callers of one model that call again at
// once would keep it from others for many calls. Not a std::mutex, which knows no order and cannot
// be made free again.
class ForkSafeMutex {
 public:
  // A thread that sleeps takes 10 to 70 µs to take it, which short runs would wait for each time.
  // Of four callers, a model that takes 9 µs then had a quarter of its runs a second, and one that
  // takes 0.5 µs a thirtieth; with this patience 0.6, and all (two CPUs of a virtual machine,
  // Granite Rapids). Of runs that take longer each waits for those of the others alone.
  static constexpr int64_t kPatienceNs = 250'000;

  void lock() {
    uint32_t free = 0;
    if (!word_.compare_exchange_strong(free, kHeld, std::memory_order_acquire)) LockSlowly();
  }
  void unlock() {
    uint32_t held = kHeld;
    if (!word_.compare_exchange_strong(held, 0, std::memory_order_release)) UnlockSlowly();
  }
  // Free, whoever held it. In a forked child only, before it has a second thread.
  void Reset() {
    word_.store(0, std::memory_order_relaxed);
    next_.store(0, std::memory_order_relaxed);
    first_.store(0, std::memory_order_relaxed);
  }

 private:
  // Of word_. kWanted: somebody sleeps, or is about to. kReserved: it is the first one's next.
  static constexpr uint32_t kHeld = 1, kWanted = 2, kReserved = 4;
  // Of more threads that wait, the first may look as if it came later.
  static constexpr uint32_t kTimes = 16;

  void LockSlowly();
  // Decides, and not who waits, whether it is reserved: where all CPUs are busy those who wait may
  // get one after the next two runs.
  void UnlockSlowly();
  // By the first of those who wait, where the word was `word` and free; whether it has it now.
  bool TakeTurn(uint32_t ticket, uint32_t word);

  std::atomic<uint32_t> word_{0};
  // Tickets, and whose it is to be the first of those who wait. They wrap around.
  std::atomic<uint32_t> next_{0}, first_{0};
  std::atomic<uint32_t> calls_{0};  // Counts who is woken, so that nobody sleeps through it.
  std::array<std::atomic<int64_t>, kTimes> came_ns_{};  // By tickets.
};

// While it lives, in_child(object) is called in each forked child, by the only thread there is,
// before fork() returns. It may allocate memory (glibc's malloc survives a fork) but take no lock
// that is not reset. Register an object when it is complete; take the registration away first.
class ForkRegistration {
 public:
  ForkRegistration(void (*in_child)(void* object), void* object);
  ForkRegistration(const ForkRegistration&) = delete;
  ForkRegistration& operator=(const ForkRegistration&) = delete;
  ~ForkRegistration();

 private:
  friend struct ForkRegistry;

  void (*const in_child_)(void* object);
  void* const object_;
  ForkRegistration* previous_ = nullptr;
  ForkRegistration* next_ = nullptr;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_FORK_REGISTRATION_H_
