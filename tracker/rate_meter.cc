#include "tracker/rate_meter.h"

#include <cmath>

namespace burnish {
namespace {

// Long enough to average over batches that end together, short enough to notice that a worker went.
// Not tuned.
constexpr absl::Duration kTimeConstant = absl::Seconds(10);

}  // namespace

void RateMeter::Add(absl::Time now) {
  weight_ = weight_ * std::exp(-absl::FDivDuration(now - last_, kTimeConstant)) + 1;
  last_ = now;
}

// At a constant rate r the weights sum to r times the time constant.
double RateMeter::per_second() const { return weight_ / absl::ToDoubleSeconds(kTimeConstant); }

}  // namespace burnish
