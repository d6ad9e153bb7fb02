#include "compiler/runtime/benchmark.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "compiler/runtime/spin_wait.h"

namespace burnish {
namespace {

constexpr size_t kRunCountMax = 10'000'000;  // Bounds the memory for samples.

// Nearest rank: the smallest sample with at least `share` of all samples at or below it.
int64_t Quantile(const std::vector<int64_t>& sorted, double share) {
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

}  // namespace

LatencySummary Summarize(std::vector<int64_t> latency_ns) {
  std::sort(latency_ns.begin(), latency_ns.end());
  const double sum = std::accumulate(latency_ns.begin(), latency_ns.end(), 0.0);
  return {.run_count = std::ssize(latency_ns),
          .min_ns = latency_ns.front(),
          .median_ns = Quantile(latency_ns, 0.5),
          .p90_ns = Quantile(latency_ns, 0.9),
          .p99_ns = Quantile(latency_ns, 0.99),
          .mean_ns = sum / static_cast<double>(latency_ns.size())};
}

RuntimeOr<LatencySummary> Benchmark(Session& session, double seconds) {
  if (!(seconds > 0) || seconds > 3600) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "benchmark seconds must be in (0, 3600]");
  }
  for (int warmup = 0; warmup < 2; ++warmup) RUNTIME_RETURN_IF_ERROR(session.Run());
  std::vector<int64_t> latency_ns;
  const int64_t end_ns = MonotonicNs() + static_cast<int64_t>(seconds * 1e9);
  int64_t now_ns = MonotonicNs();
  do {
    RUNTIME_RETURN_IF_ERROR(session.Run());
    const int64_t then_ns = std::exchange(now_ns, MonotonicNs());
    latency_ns.push_back(now_ns - then_ns);
  } while (now_ns < end_ns && latency_ns.size() < kRunCountMax);
  return Summarize(std::move(latency_ns));
}

RuntimeOr<std::vector<int64_t>> ProfileSteps(Session& session, int run_count) {
  if (run_count < 1) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "a profile wants at least one run");
  }
  const size_t step_count = session.manifest().steps.size();
  RUNTIME_RETURN_IF_ERROR(session.Run());
  std::vector<std::vector<int64_t>> samples(step_count);
  std::vector<int64_t> step_ns(step_count);
  for (int run = 0; run < run_count; ++run) {
    RUNTIME_RETURN_IF_ERROR(session.RunProfiled(step_ns));
    for (size_t i = 0; i < step_count; ++i) samples[i].push_back(step_ns[i]);
  }
  for (size_t i = 0; i < step_count; ++i) {
    std::sort(samples[i].begin(), samples[i].end());
    step_ns[i] = Quantile(samples[i], 0.5);
  }
  return step_ns;
}

}  // namespace burnish
