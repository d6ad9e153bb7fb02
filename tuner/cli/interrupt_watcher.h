// Ctrl-C: once asks to stop, twice stops at once.
#ifndef TUNER_CLI_INTERRUPT_WATCHER_H_
#define TUNER_CLI_INTERRUPT_WATCHER_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "base/stop_signals.h"

namespace burnish {

// SIGINT and SIGTERM are this object's while it lives. Make it before any other thread is started:
// threads that are older may take the signals.
class InterruptWatcher {
 public:
  InterruptWatcher();
  ~InterruptWatcher();

  // Called once at the first signal, from a thread of the watcher; at once, if that has come
  // already. A second signal ends the process with exit code 130.
  void OnInterrupt(std::function<void()> callback);
  bool interrupted() const { return interrupted_; }

 private:
  void Watch();

  const StopSignals signals_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> interrupted_ = false;
  std::mutex mutex_;
  std::function<void()> callback_;  // Guarded by mutex_.
  std::thread thread_;              // Last: it uses all of the above.
};

}  // namespace burnish

#endif  // TUNER_CLI_INTERRUPT_WATCHER_H_
