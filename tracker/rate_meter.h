// How many events a second, lately: an average that forgets with a time constant of ten seconds.
#ifndef TRACKER_RATE_METER_H_
#define TRACKER_RATE_METER_H_

#include "absl/time/time.h"

namespace burnish {

class RateMeter {
 public:
  void Add(absl::Time now);
  // As of the last event; 0 before the first.
  double per_second() const;

 private:
  double weight_ = 0;  // Of the events so far, each by e^(-age / time constant).
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace burnish

#endif  // TRACKER_RATE_METER_H_
