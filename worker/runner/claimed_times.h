// Times that a runner claims, against this process's own clock. A kernel can write over the
// runner's memory, so a claim may be any number. What is longer than the whole run took is caught
// here; what is shorter than it was cannot be, since who reads the clock shares the candidate's
// process.
#ifndef WORKER_RUNNER_CLAIMED_TIMES_H_
#define WORKER_RUNNER_CLAIMED_TIMES_H_

#include <chrono>
#include <cstdint>
#include <span>

#include "worker/runner/runner_wire.h"

namespace burnish {

// What passed since it was made, by the clock that runners time by. Not base/clock.h: that one
// leaves out what a server's pacer stopped.
class WallTime {
 public:
  int64_t Ns() const { return std::chrono::nanoseconds(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start_ = Clock::now();
};

// `mean_ns`: means over `call_count` (>= 1) calls each, rounded. False: so many calls do not pass
// within `wall_ns`, or one took less than nothing.
bool FitInto(std::span<const int64_t> mean_ns, int64_t call_count, int64_t wall_ns);

// A candidate's repeats, and what was timed around them.
bool CanBe(const RunnerTiming& timing, int64_t wall_ns);

}  // namespace burnish

#endif  // WORKER_RUNNER_CLAIMED_TIMES_H_
