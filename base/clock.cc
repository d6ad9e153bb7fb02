#include "base/clock.h"

#include <time.h>

#include "absl/time/clock.h"

namespace burnish {
namespace {

class RealClock : public Clock {
 public:
  absl::Time SteadyNow() const override {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return absl::TimeFromTimespec(now);
  }
  absl::Time WallNow() const override { return absl::Now(); }
};

}  // namespace

const Clock& Clock::Real() {
  static const RealClock clock;
  return clock;
}

}  // namespace burnish
