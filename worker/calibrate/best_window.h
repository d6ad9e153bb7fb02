// Timing that finds what a machine can do beside neighbours that it cannot see: many short windows,
// of which the best counts. A neighbour takes some windows and leaves others alone; it never makes
// one faster. Free of Abseil.
#ifndef WORKER_CALIBRATE_BEST_WINDOW_H_
#define WORKER_CALIBRATE_BEST_WINDOW_H_

#include <algorithm>
#include <cstdint>

#include "compiler/runtime/spin_wait.h"

namespace burnish {

// Long against the clock's 25 ns and an interrupt's few microseconds, short against a scheduler's
// slice of some milliseconds, so that whole windows lie between two disturbances.
inline constexpr int64_t kWindowNs = 500'000;
inline constexpr int kWindowCount = 10;

template <typename Work>
int64_t TimeNs(const Work& work) {
  const int64_t start_ns = MonotonicNs();
  work();
  return std::max<int64_t>(MonotonicNs() - start_ns, 1);
}

// So many repeats that work(repeats) takes about a window, or `repeats_max`.
template <typename Work>
int64_t RepeatsOfAWindow(const Work& work, int64_t repeats_max = int64_t{1} << 40) {
  int64_t repeats = 1;
  while (repeats < repeats_max && TimeNs([&] { work(repeats); }) < kWindowNs * 3 / 4) repeats *= 2;
  return repeats;
}

// Repeats a nanosecond of work(repeats) in its best window, on this thread.
template <typename Work>
double BestPerNs(const Work& work) {
  const int64_t repeats = RepeatsOfAWindow(work);
  int64_t best_ns = TimeNs([&] { work(repeats); });
  for (int window = 1; window < kWindowCount; ++window) {
    best_ns = std::min(best_ns, TimeNs([&] { work(repeats); }));
  }
  return static_cast<double>(repeats) / static_cast<double>(best_ns);
}

}  // namespace burnish

#endif  // WORKER_CALIBRATE_BEST_WINDOW_H_
