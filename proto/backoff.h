// How long to wait before trying again: doubles with each failure in a row, with jitter, so that a
// farm does not fall upon a restarted tracker in one moment.
#ifndef PROTO_BACKOFF_H_
#define PROTO_BACKOFF_H_

#include <cstdint>

#include "absl/time/time.h"
#include "base/rng.h"

namespace burnish {

class Backoff {
 public:
  Backoff(absl::Duration min, absl::Duration max, uint64_t seed)
      : min_(min), max_(max), next_(min), rng_(seed) {}

  // Uniform over the upper half of [0, min * 2^failures], at most `max`.
  absl::Duration Next();
  void Reset() { next_ = min_; }

 private:
  absl::Duration min_;
  absl::Duration max_;
  absl::Duration next_;
  Rng rng_;
};

}  // namespace burnish

#endif  // PROTO_BACKOFF_H_
