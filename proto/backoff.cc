#include "proto/backoff.h"

#include <algorithm>
#include <utility>

namespace burnish {

absl::Duration Backoff::Next() {
  const absl::Duration base = std::exchange(next_, std::min(max_, next_ * 2));
  return base * (0.5 + 0.5 * rng_.Uniform());
}

}  // namespace burnish
