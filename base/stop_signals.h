// SIGINT and SIGTERM as something to wait for, in place of a handler, in which little is allowed.
#ifndef BASE_STOP_SIGNALS_H_
#define BASE_STOP_SIGNALS_H_

#include <signal.h>

#include "absl/time/time.h"

namespace burnish {

// The signals are this object's while it lives. They are blocked in this thread and in those that
// it starts: make it before any other thread is started, since an older one may take the signals.
class StopSignals {
 public:
  StopSignals();
  // Signals are what they were before; one that has come, and that nobody waited for, is dropped.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Which one came; 0: none did in time. From any thread; each signal ends one wait.
  int Wait(absl::Duration timeout) const;

 private:
  sigset_t signals_;
  sigset_t before_;
};

}  // namespace burnish

#endif  // BASE_STOP_SIGNALS_H_
