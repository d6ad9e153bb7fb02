#include "compiler/runtime/fork_registration.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <mutex>

#include "compiler/runtime/spin_wait.h"

namespace burnish {
namespace {

// A futex wakes by these bits: of 32 who wait, only the next one.
uint32_t BitOf(uint32_t ticket) { return uint32_t{1} << ticket % 32; }

void Futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* limit,
           uint32_t bits) {
  syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, limit, nullptr, bits);
}

}  // namespace

void ForkSafeMutex::LockSlowly() {
  uint32_t word = word_.load(std::memory_order_relaxed);
  while ((word & (kHeld | kReserved)) == 0) {
    if (word_.compare_exchange_weak(word, word | kHeld, std::memory_order_acquire)) return;
  }
  const uint32_t ticket = next_.fetch_add(1, std::memory_order_seq_cst);
  came_ns_[ticket % kTimes].store(MonotonicNs(), std::memory_order_relaxed);
  for (;;) {
    // Before the look at the word: who unlocks later changes it.
    const uint32_t calls = calls_.load(std::memory_order_seq_cst);
    word = word_.load(std::memory_order_seq_cst);
    if ((word & kHeld) == 0 && first_.load(std::memory_order_seq_cst) == ticket) {
      if (TakeTurn(ticket, word)) return;
    } else if ((word & kWanted) != 0) {
      Futex(calls_, FUTEX_WAIT_BITSET, calls, nullptr, BitOf(ticket));
    } else {
      word_.compare_exchange_weak(word, word | kWanted, std::memory_order_seq_cst);
    }
  }
}

bool ForkSafeMutex::TakeTurn(uint32_t ticket, uint32_t word) {
  if (!word_.compare_exchange_strong(word, kHeld, std::memory_order_seq_cst)) return false;
  const uint32_t next = ticket + 1;
  first_.store(next, std::memory_order_seq_cst);
  // Those behind it that have seen kWanted, and sleep.
  if (next_.load(std::memory_order_seq_cst) != next) {
    word_.fetch_or(kWanted, std::memory_order_seq_cst);
  }
  return true;
}

void ForkSafeMutex::UnlockSlowly() {
  // Changed by who holds it alone.
  const uint32_t first = first_.load(std::memory_order_relaxed);
  uint32_t after = kWanted;
  if (MonotonicNs() - came_ns_[first % kTimes].load(std::memory_order_relaxed) >= kPatienceNs) {
    after |= kReserved;
  }
  word_.store(after, std::memory_order_seq_cst);
  calls_.fetch_add(1, std::memory_order_seq_cst);
  Futex(calls_, FUTEX_WAKE_BITSET, INT_MAX, nullptr, BitOf(first));
}

struct ForkRegistry {
  ForkSafeMutex mutex;  // Also held across fork(), so that the child finds a whole list.
  ForkRegistration* first = nullptr;

  void TellAll() {
    for (ForkRegistration* each = first; each != nullptr; each = each->next_) {
      each->in_child_(each->object_);
    }
  }
};

namespace {

ForkRegistry& Registry() {
  // Never destroyed: a process may fork while it ends.
  static ForkRegistry& registry = *[] {
    auto* made = new ForkRegistry;
    // From a shared library this is undone when the library is unloaded.
    pthread_atfork([] { Registry().mutex.lock(); }, [] { Registry().mutex.unlock(); },
                   [] {
                     Registry().TellAll();
                     Registry().mutex.Reset();
                   });
    return made;
  }();
  return registry;
}

}  // namespace

ForkRegistration::ForkRegistration(void (*in_child)(void* object), void* object)
    : in_child_(in_child), object_(object) {
  const std::lock_guard<ForkSafeMutex> lock(Registry().mutex);
  next_ = Registry().first;
  if (next_ != nullptr) next_->previous_ = this;
  Registry().first = this;
}

ForkRegistration::~ForkRegistration() {
  const std::lock_guard<ForkSafeMutex> lock(Registry().mutex);
  (previous_ != nullptr ? previous_->next_ : Registry().first) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

}  // namespace burnish
