// How fast a session is: whole inferences, and step by step.
#ifndef COMPILER_RUNTIME_BENCHMARK_H_
#define COMPILER_RUNTIME_BENCHMARK_H_

#include <cstdint>
#include <vector>

#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/session.h"

namespace burnish {

// Nanoseconds per inference. Quantiles by nearest rank.
struct LatencySummary {
  int64_t run_count = 0;
  int64_t min_ns = 0;
  int64_t median_ns = 0;
  int64_t p90_ns = 0;
  int64_t p99_ns = 0;
  double mean_ns = 0;
};

// `latency_ns` must not be empty.
LatencySummary Summarize(std::vector<int64_t> latency_ns);

// Runs for about `seconds` (> 0, at most 3600) after two unmeasured runs; at least one run,
// at most ten million.
RuntimeOr<LatencySummary> Benchmark(Session& session, double seconds);

// Of `run_count` >= 1 runs after one unmeasured: the median nanoseconds of each step.
RuntimeOr<std::vector<int64_t>> ProfileSteps(Session& session, int run_count);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_BENCHMARK_H_
