#include "tuner/app/machine_peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/cpu_info.h"
#include "base/unit_loops.h"

namespace burnish {
namespace {

constexpr int64_t kFmaIterations = 1'000'000;  // About 4 ms a round.
constexpr int64_t kQuickFmaIterations = 150'000;
constexpr int kRounds = 16;                         // The best counts: the rest was disturbed.
constexpr int64_t kReadBytes = int64_t{128} << 20;  // Of all threads; larger than most caches.

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double MeasureFlops(ThreadPool& pool, int64_t iterations) {
  const CpuInfo cpu = HostCpuInfo();
  const UnitLoop* const loop = FindUnitLoop(cpu.Has("avx512f") ? "fma_f32x16" : "fma_f32x8");
  if (!cpu.Has("fma")) return 0;
  // Each thread's own best: whoever else is on the machine takes a round from one, not from all.
  std::atomic<double> sum = 0;
  pool.Run([&](int) {
    double best = 0;
    for (int round = 0; round < kRounds; ++round) {
      const double start = Seconds();
      loop->run(iterations, /*with_loads=*/false);
      const auto flop_count = static_cast<double>(loop->operations * iterations);
      best = std::max(best, flop_count / (Seconds() - start));
    }
    sum += best;
  });
  return sum;
}

double MeasureBandwidth(ThreadPool& pool) {
  const int64_t words = kReadBytes / 8 / pool.thread_count();
  std::vector<std::vector<uint64_t>> data(pool.thread_count());
  pool.Run([&](int worker) { data[worker].assign(words, worker); });  // Pages near their reader.
  std::atomic<uint64_t> sink = 0;
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = Seconds();
    pool.Run([&](int worker) {
      // Several sums, so that additions do not wait for each other.
      uint64_t sums[8] = {};
      const uint64_t* values = data[worker].data();
      for (int64_t i = 0; i + 8 <= words; i += 8) {
        for (int k = 0; k < 8; ++k) sums[k] += values[i + k];
      }
      for (const uint64_t sum : sums) sink += sum;
    });
    best =
        std::max(best, static_cast<double>(words * 8 * pool.thread_count()) / (Seconds() - start));
  }
  return best;
}

}  // namespace

MachinePeak MeasureMachinePeak(ThreadPool& pool) {
  return {.flops_per_second = MeasureFlops(pool, kFmaIterations),
          .bytes_per_second = MeasureBandwidth(pool)};
}

double QuickFlopPeak(int threads) {
  const RuntimeOr<std::unique_ptr<ThreadPool>> pool = ThreadPool::Create({.thread_count = threads});
  return pool.ok() ? MeasureFlops(**pool, kQuickFmaIterations) : 0;
}

RooflineBound Roofline(const MachinePeak& peak, uint64_t flop_count, uint64_t moved_bytes) {
  const double compute_ns =
      peak.flops_per_second > 0 ? 1e9 * static_cast<double>(flop_count) / peak.flops_per_second : 0;
  const double memory_ns = peak.bytes_per_second > 0
                               ? 1e9 * static_cast<double>(moved_bytes) / peak.bytes_per_second
                               : 0;
  return {.ns = std::max(compute_ns, memory_ns), .by_memory = memory_ns > compute_ns};
}

}  // namespace burnish
