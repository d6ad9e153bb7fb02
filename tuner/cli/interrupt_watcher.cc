#include "tuner/cli/interrupt_watcher.h"

#include <unistd.h>

#include <utility>

#include "absl/time/time.h"
#include "base/clock.h"

namespace burnish {
namespace {

constexpr int kExitInterrupted = 130;
// A signal to the process and its group, as timeout(1) sends it, is one.
constexpr absl::Duration kSamePress = absl::Milliseconds(300);
constexpr absl::Duration kPollInterval = absl::Milliseconds(100);

}  // namespace

InterruptWatcher::InterruptWatcher() : thread_([this] { Watch(); }) {}

InterruptWatcher::~InterruptWatcher() {
  stop_ = true;
  thread_.join();
}

void InterruptWatcher::OnInterrupt(std::function<void()> callback) {
  const std::lock_guard<std::mutex> lock(mutex_);
  callback_ = std::move(callback);
  if (interrupted_ && callback_ != nullptr) callback_();
}

void InterruptWatcher::Watch() {
  absl::Time first_at = absl::InfinitePast();
  while (!stop_) {
    if (signals_.Wait(kPollInterval) == 0) continue;
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
