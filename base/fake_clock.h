// A clock that stands still until the test moves it.
#ifndef BASE_FAKE_CLOCK_H_
#define BASE_FAKE_CLOCK_H_

#include <mutex>

#include "absl/time/time.h"
#include "base/clock.h"

namespace burnish {

class FakeClock : public Clock {
 public:
  // Both clocks start here; the default is a date that no code should depend on.
  explicit FakeClock(absl::Time start = absl::UnixEpoch() + absl::Hours(24 * 365 * 30))
      : steady_(start), wall_(start) {}

  absl::Time SteadyNow() const override {
    const std::lock_guard lock(mutex_);
    return steady_;
  }
  absl::Time WallNow() const override {
    const std::lock_guard lock(mutex_);
    return wall_;
  }

  // Moves both clocks. `by` >= 0.
  void Advance(absl::Duration by) {
    const std::lock_guard lock(mutex_);
    steady_ += by;
    wall_ += by;
  }
  // Moves the date alone, as an administrator or NTP does. May be negative.
  void StepWall(absl::Duration by) {
    const std::lock_guard lock(mutex_);
    wall_ += by;
  }

 private:
  mutable std::mutex mutex_;
  absl::Time steady_;
  absl::Time wall_;
};

}  // namespace burnish

#endif  // BASE_FAKE_CLOCK_H_
