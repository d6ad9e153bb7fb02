#include "base/stop_signals.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>

#include "base/clock.h"

namespace burnish {

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

StopSignals::~StopSignals() {
  while (Wait(absl::ZeroDuration()) != 0) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int StopSignals::Wait(absl::Duration timeout) const {
  const Clock& clock = Clock::Real();
  const absl::Time end = clock.SteadyNow() + timeout;
  while (true) {
    // A bound, since a timespec knows no infinity.
    const absl::Duration left = std::min(end - clock.SteadyNow(), absl::Hours(1));
    const timespec limit = absl::ToTimespec(std::max(left, absl::ZeroDuration()));
    const int signal = sigtimedwait(&signals_, nullptr, &limit);
    if (signal > 0) return signal;
    // Nothing came in time, or another signal's handler broke the wait.
    if (clock.SteadyNow() >= end) return 0;
  }
}

}  // namespace burnish
