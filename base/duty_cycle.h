// When work behind something more important may run, so that it takes a share of the CPUs and no
// more: a token bucket over the CPU time that the work is seen to take. Free of Abseil.
#ifndef BASE_DUTY_CYCLE_H_
#define BASE_DUTY_CYCLE_H_

#include <algorithm>
#include <cstdint>

namespace burnish {

class DutyCycle {
 public:
  // `rate`: CPU seconds a second; > 0.
  explicit DutyCycle(double rate) : rate_(rate), slice_ns_(rate * kPeriodNs) {}

  // `now_ns` and `cpu_ns` (all that the work has taken) never go back. What it took beyond its
  // credit is owed: in the long run it has `rate` and no more.
  bool MayRun(int64_t now_ns, int64_t cpu_ns) {
    if (last_ns_ != kNever) credit_ns_ += rate_ * static_cast<double>(now_ns - last_ns_);
    credit_ns_ -= static_cast<double>(cpu_ns - last_cpu_ns_);
    // Nothing is saved up: after an hour without a gap it must not take the CPUs for minutes.
    credit_ns_ = std::min(credit_ns_, slice_ns_);
    last_ns_ = now_ns;
    last_cpu_ns_ = cpu_ns;
    // In slices, since what is timed is timed worse after each stop.
    may_run_ = may_run_ ? credit_ns_ > 0 : credit_ns_ >= slice_ns_;
    return may_run_;
  }

 private:
  static constexpr int64_t kNever = INT64_MIN;
  // A slice a second: a tenth of two CPUs are 200 ms, about what one candidate is timed for.
  static constexpr double kPeriodNs = 1e9;

  const double rate_;
  const double slice_ns_;
  double credit_ns_ = 0;
  int64_t last_ns_ = kNever;
  int64_t last_cpu_ns_ = 0;
  bool may_run_ = false;
};

}  // namespace burnish

#endif  // BASE_DUTY_CYCLE_H_
