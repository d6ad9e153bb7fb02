// What an object with locks or threads needs to go on in a forked child: there, of all threads only
// the one that forked is left, and a lock that another held stays held for ever.
#ifndef COMPILER_RUNTIME_FORK_REGISTRATION_H_
#define COMPILER_RUNTIME_FORK_REGISTRATION_H_

#include <pthread.h>

namespace burnish {

// For std::lock_guard. Not a std::mutex, which cannot be made free again.
class ForkSafeMutex {
 public:
  ForkSafeMutex() { pthread_mutex_init(&mutex_, nullptr); }
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;
  ~ForkSafeMutex() { pthread_mutex_destroy(&mutex_); }

  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  // Free, whoever held it. In a forked child only, before it has a second thread.
  void Reset() { pthread_mutex_init(&mutex_, nullptr); }

 private:
  pthread_mutex_t mutex_;
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
