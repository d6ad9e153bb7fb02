#include "tuner/cli/interrupt_watcher.h"

#include <time.h>
#include <unistd.h>

#include <utility>

#include "absl/time/time.h"
#include "base/clock.h"

namespace burnish {
namespace {

constexpr int kExitInterrupted = 130;
// A signal to the process and its group, as timeout(1) sends it, is one.
constexpr absl::Duration kSamePress = absl::Milliseconds(300);
constexpr timespec kPollInterval = {.tv_sec = 0, .tv_nsec = 100'000'000};

}  // namespace

InterruptWatcher::InterruptWatcher() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  thread_ = std::thread([this] { Watch(); });
}

InterruptWatcher::~InterruptWatcher() {
  stop_ = true;
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void InterruptWatcher::OnInterrupt(std::function<void()> callback) {
  const std::lock_guard<std::mutex> lock(mutex_);
  callback_ = std::move(callback);
  if (interrupted_ && callback_ != nullptr) callback_();
}

void InterruptWatcher::Watch() {
  absl::Time first_at = absl::InfinitePast();
  while (!stop_) {
    if (sigtimedwait(&signals_, nullptr, &kPollInterval) <= 0) continue;
    const absl::Time now = Clock::Real().SteadyNow();
    if (interrupted_ && now - first_at < kSamePress) continue;
    // Children die with us; what was acknowledged is on the disk.
    if (interrupted_.exchange(true)) _exit(kExitInterrupted);
    first_at = now;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (callback_ != nullptr) callback_();
  }
}

}  // namespace burnish
