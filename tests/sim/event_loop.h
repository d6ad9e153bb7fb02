// Simulated time: what is to happen, and when. One thread; the same calls give the same order.
#ifndef TESTS_SIM_EVENT_LOOP_H_
#define TESTS_SIM_EVENT_LOOP_H_

#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"

namespace burnish::sim {

class EventLoop {
 public:
  // Not the epoch: a time of zero must not pass for "never".
  static inline const absl::Time kStart = absl::UnixEpoch() + absl::Hours(24 * 365 * 30);

  absl::Time now() const { return now_; }

  void At(absl::Duration delay, std::function<void()> action) {
    if (delay < absl::ZeroDuration()) delay = absl::ZeroDuration();
    events_.push({now_ + delay, ++event_count_, std::move(action)});
  }

  // False: nothing is left to do.
  bool RunNext() {
    if (events_.empty()) return false;
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    event.action();
    return true;
  }

  int64_t event_count() const { return event_count_; }

 private:
  struct Event {
    absl::Time at;
    int64_t number = 0;  // Of two at the same time the one that was asked for first comes first.
    std::function<void()> action;
    bool operator>(const Event& other) const {
      return std::tie(at, number) > std::tie(other.at, other.number);
    }
  };

  absl::Time now_ = kStart;
  int64_t event_count_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

// A node's clocks: the steady one is the loop's, the date may be stepped.
class SimClock : public Clock {
 public:
  explicit SimClock(const EventLoop& loop) : loop_(loop) {}

  absl::Time SteadyNow() const override { return loop_.now(); }
  absl::Time WallNow() const override { return loop_.now() + wall_offset_; }
  void StepWall(absl::Duration by) { wall_offset_ += by; }

 private:
  const EventLoop& loop_;
  absl::Duration wall_offset_ = absl::ZeroDuration();
};

}  // namespace burnish::sim

#endif  // TESTS_SIM_EVENT_LOOP_H_
