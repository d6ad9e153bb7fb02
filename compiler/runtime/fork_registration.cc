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
  const int64_t came_ns = MonotonicNs();
  const uint32_t ticket = next_.fetch_add(1, std::memory_order_seq_cst);
  AwaitTurn(ticket);
  word = word_.load(std::memory_order_relaxed);
  for (;;) {
    if ((word & kHeld) == 0) {
      if (word_.compare_exchange_weak(word, kHeld, std::memory_order_acquire)) break;
      continue;
    }
    const int64_t left_ns = came_ns + kPatienceNs - MonotonicNs();
    const uint32_t wanted = word | kWanted | (left_ns <= 0 ? kReserved : 0);
    if (wanted != word && !word_.compare_exchange_weak(word, wanted, std::memory_order_relaxed)) {
      continue;
    }
    const timespec limit{.tv_sec = 0, .tv_nsec = left_ns};
    // Returns at once where the word has changed.
    Futex(word_, FUTEX_WAIT, wanted, left_ns <= 0 ? nullptr : &limit, 0);
    word = word_.load(std::memory_order_relaxed);
  }
  EndTurn(ticket);
}

void ForkSafeMutex::WakeFirst() { Futex(word_, FUTEX_WAKE, 1, nullptr, 0); }

void ForkSafeMutex::AwaitTurn(uint32_t ticket) {
  for (uint32_t seen; (seen = first_.load(std::memory_order_seq_cst)) != ticket;) {
    Futex(first_, FUTEX_WAIT_BITSET, seen, nullptr, BitOf(ticket));
  }
}

void ForkSafeMutex::EndTurn(uint32_t ticket) {
  const uint32_t next = ticket + 1;
  // In one order with the next one's two steps, its ticket and its look at whose turn it is: either
  // the ticket is seen here, or it has seen that it is its turn.
  first_.store(next, std::memory_order_seq_cst);
  if (next_.load(std::memory_order_seq_cst) == next) return;
  Futex(first_, FUTEX_WAKE_BITSET, INT_MAX, nullptr, BitOf(next));
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
