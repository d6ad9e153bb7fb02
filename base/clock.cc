#include "base/clock.h"

#include <time.h>

#include <cstdlib>

#include "absl/time/clock.h"
#include "base/pace_page.h"

namespace burnish {
namespace {

class RealClock : public Clock {
 public:
  absl::Time SteadyNow() const override {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const absl::Time time = absl::TimeFromTimespec(now);
    return page_ == nullptr ? time : time - absl::Nanoseconds(page_->stopped_ns.load());
  }
  absl::Time WallNow() const override { return absl::Now(); }

 private:
  const PacePage* const page_ = MapPacePage(std::getenv(kPaceVariable), /*writes=*/false);
};

}  // namespace

const Clock& Clock::Real() {
  static const RealClock clock;
  return clock;
}

}  // namespace burnish
