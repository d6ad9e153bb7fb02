// Runs a function on a thread of its own and waits for it.
#ifndef BASE_RUN_ON_THREAD_H_
#define BASE_RUN_ON_THREAD_H_

#include "absl/functional/function_ref.h"

namespace burnish {

enum class ThreadClass {
  kNormal,
  // SCHED_IDLE, as are the threads that it starts: only on cycles that nobody else wants. A thread
  // of its own, since without privileges there is no way back.
  kIdle,
};

void RunOnThread(ThreadClass thread_class, absl::FunctionRef<void()> function);

}  // namespace burnish

#endif  // BASE_RUN_ON_THREAD_H_
