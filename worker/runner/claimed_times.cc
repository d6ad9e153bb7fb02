#include "worker/runner/claimed_times.h"

#include <algorithm>

namespace burnish {

bool FitInto(std::span<const int64_t> mean_ns, int64_t call_count, int64_t wall_ns) {
  int64_t left_ns = wall_ns;
  for (const int64_t ns : mean_ns) {
    // Half a call's nanosecond each may come of rounding. Divided first: a product may overflow.
    if (ns < 0 || ns > (left_ns + call_count / 2) / call_count) return false;
    left_ns -= ns * call_count - call_count / 2;
  }
  return true;
}

bool CanBe(const RunnerTiming& timing, int64_t wall_ns) {
  // A guess far above TimeKernelOptions::inner_count_max: sums with it do not overflow.
  constexpr int64_t kCallCountMax = int64_t{1} << 40;
  if (timing.latency_ns.empty() || timing.inner_count < 1 || timing.inner_count > kCallCountMax) {
    return false;
  }
  const int64_t around[] = {timing.reference_before_ns, timing.reference_after_ns,
                            timing.probe_before_ns, timing.probe_after_ns};
  return *std::min_element(timing.latency_ns.begin(), timing.latency_ns.end()) > 0 &&
         FitInto(timing.latency_ns, timing.inner_count, wall_ns) && FitInto(around, 1, wall_ns);
}

}  // namespace burnish
