// How often a crashed child is started again before that is given up. Pure: time is an argument.
#ifndef TUNER_APP_RESTART_LIMIT_H_
#define TUNER_APP_RESTART_LIMIT_H_

#include <deque>

#include "absl/time/time.h"

namespace burnish {

class RestartLimit {
 public:
  RestartLimit(int restarts_max, absl::Duration window)
      : restarts_max_(restarts_max), window_(window) {}

  // Whether one more restart, now, is within the limit; then it counts. Of a steady clock.
  bool Allow(absl::Time now) {
    while (!restarts_.empty() && now - restarts_.front() >= window_) restarts_.pop_front();
    if (static_cast<int>(restarts_.size()) >= restarts_max_) return false;
    restarts_.push_back(now);
    return true;
  }

 private:
  const int restarts_max_;
  const absl::Duration window_;
  std::deque<absl::Time> restarts_;  // Within the window, oldest first.
};

}  // namespace burnish

#endif  // TUNER_APP_RESTART_LIMIT_H_
