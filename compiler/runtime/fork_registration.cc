#include "compiler/runtime/fork_registration.h"

#include <pthread.h>

#include <mutex>

namespace burnish {

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
