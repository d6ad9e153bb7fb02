#include "base/run_on_thread.h"

#include <sched.h>

#include <thread>

namespace burnish {

void RunOnThread(ThreadClass thread_class, absl::FunctionRef<void()> function) {
  std::thread thread([&] {
    if (thread_class == ThreadClass::kIdle) {
      const sched_param none = {};
      // 0: this thread. Where it is not allowed the work is done all the same.
      (void)sched_setscheduler(0, SCHED_IDLE, &none);
    }
    function();
  });
  thread.join();
}

}  // namespace burnish
