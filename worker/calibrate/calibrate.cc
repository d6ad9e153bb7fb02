#include "worker/calibrate/calibrate.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/memory_limit.h"
#include "compiler/runtime/spin_wait.h"
#include "compiler/runtime/thread_pool.h"
#include "worker/calibrate/measure_exchange.h"
#include "worker/calibrate/measure_levels.h"
#include "worker/calibrate/measure_units.h"
#include "worker/calibrate/memory_loops.h"

namespace burnish {
namespace {

// Of memory that is read: enough for four times most last caches, and a second's worth of reading.
constexpr int64_t kMemoryBytesMax = int64_t{2} << 30;
// Of what a core writes for the next: fits the L2 of every core since 2008.
constexpr int64_t kExchangeBytesMax = 256 << 10;
constexpr int64_t kExchangeBytesMin = 16 << 10;
// What a worker's start may be delayed by. A second attempt takes as long as the first.
constexpr int64_t kBudgetNs = 3'000'000'000;

int VectorBytes(const CpuInfo& host) {
  return host.Has("avx512f") ? 64 : host.Has("avx") ? 32 : 16;
}

// An eighth of what there is, so that nothing is swapped out for it.
int64_t MemoryBytes() { return std::min(kMemoryBytesMax, UsableMemoryBytes() / 8); }

// How many of `cpus` share an L3 with the first of them.
int ThreadsOfAnL3(const CpuInfo& host, const std::vector<int>& cpus) {
  const CpuCache* const l3 = host.Cache(3);
  if (l3 == nullptr || l3->cpus.empty()) return static_cast<int>(cpus.size());
  const auto count = std::count_if(cpus.begin(), cpus.end(), [l3](int cpu) {
    return std::find(l3->cpus.begin(), l3->cpus.end(), cpu) != l3->cpus.end();
  });
  return std::max(static_cast<int>(count), 1);
}

RuntimeOr<CalibrationRow> MeasureOnce(const CpuInfo& host, ThreadPool& pool,
                                      const std::vector<int>& cpus) {
  CalibrationRow row{.threads = pool.thread_count()};
  const std::vector<const UnitLoop*> loops = UsableUnitLoops(host);
  row.clock_ghz = MeasureClock(pool, *loops.front());
  for (const UnitSpeed& speed : MeasureUnits(pool, loops)) {
    row.units.push_back({.unit = std::string(speed.loop->unit),
                         .gops_alone = speed.gops_alone,
                         .gops_with_loads = speed.gops_with_loads});
  }
  const int vector_bytes = VectorBytes(host);
  const std::vector<LevelPlan> plans =
      PlanLevels(host, row.threads, ThreadsOfAnL3(host, cpus), MemoryBytes());
  RUNTIME_ASSIGN_OR_RETURN(std::vector<LevelSpeed> levels,
                           MeasureLevels(pool, plans, vector_bytes));
  for (LevelSpeed& level : levels) {
    row.levels.push_back({.level = std::move(level.name),
                          .gb_per_s_alone = level.gb_per_s_alone,
                          .gb_per_s_shared = level.gb_per_s_shared,
                          .latency_ns = level.latency_ns});
  }
  if (row.threads > 1) {
    const CpuCache* const l2 = host.Cache(2);
    const int64_t bytes =
        l2 == nullptr ? kExchangeBytesMin
                      : std::clamp(l2->size_bytes / 4 / kReadGranuleBytes * kReadGranuleBytes,
                                   kExchangeBytesMin, kExchangeBytesMax);
    RUNTIME_ASSIGN_OR_RETURN(const ExchangeSpeed exchange,
                             MeasureExchange(pool, bytes, vector_bytes));
    row.barrier_ns = exchange.barrier_ns;
    row.peer_latency_ns = exchange.peer_latency_ns;
    row.peer_gb_per_s = exchange.peer_gb_per_s;
  }
  return Rounded(std::move(row));
}

}  // namespace

std::vector<int> CalibrationCpus(const CpuInfo& host) {
  std::vector<int> cpus;
  for (const std::vector<int>& core : host.cores) cpus.push_back(core.front());
  return cpus;
}

RuntimeOr<CalibrationRow> Calibrate(const CpuInfo& host) {
  const std::vector<int> cpus = CalibrationCpus(host);
  if (cpus.empty() || !host.Has("sse4.2")) {
    return RuntimeStatus(RuntimeCode::kFailedPrecondition,
                         "this host is no x86-64 CPU with SSE4.2");
  }
  RUNTIME_ASSIGN_OR_RETURN(
      const std::unique_ptr<ThreadPool> pool,
      ThreadPool::Create({.thread_count = static_cast<int>(cpus.size()), .cpus = cpus}));
  std::string implausible;
  const int64_t start_ns = MonotonicNs();
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (attempt > 0 && 2 * (MonotonicNs() - start_ns) > kBudgetNs) break;
    RUNTIME_ASSIGN_OR_RETURN(CalibrationRow row, MeasureOnce(host, *pool, cpus));
    const absl::Status plausible = CheckPlausible(row);
    if (plausible.ok()) return row;
    implausible = std::string(plausible.message());
  }
  return RuntimeStatus(RuntimeCode::kFailedPrecondition,
                       implausible + "; too much else runs on this machine");
}

}  // namespace burnish
