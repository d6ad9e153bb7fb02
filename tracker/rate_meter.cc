#include "tracker/rate_meter.h"

#include <cmath>

namespace burnish {
namespace {

constexpr absl::Duration kTimeConstant = absl::Seconds(10);

}  // namespace

void RateMeter::Add(absl::Time now) {
  weight_ = weight_ * std::exp(-absl::FDivDuration(now - last_, kTimeConstant)) + 1;
  last_ = now;
}

double RateMeter::per_second() const { return weight_ / absl::ToDoubleSeconds(kTimeConstant); }

}  // namespace burnish
