// Rates and latencies of the levels of this machine's memory. Free of Abseil.
#ifndef WORKER_CALIBRATE_MEASURE_LEVELS_H_
#define WORKER_CALIBRATE_MEASURE_LEVELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/cpu_info.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/thread_pool.h"

namespace burnish {

// What is read to measure a level.
struct LevelPlan {
  std::string name;  // "L1", "L2", "L3", "memory".
  // Multiples of kReadGranuleBytes.
  int64_t bytes_alone = 0;   // By one thread while the others rest; at least `bytes_each`.
  int64_t bytes_each = 0;    // By each of all threads.
  int64_t window_bytes = 0;  // Of those, at a time; 0: all, again and again.
};

// Of `threads` threads on cores of their own, of which `l3_threads` share one L3. Fewer than four
// levels where the CPU shows fewer caches, or an L3 whose share is not larger than two L2.
// `memory_bytes_max`: of all threads together.
std::vector<LevelPlan> PlanLevels(const CpuInfo& cpu, int threads, int l3_threads,
                                  int64_t memory_bytes_max);

struct LevelSpeed {
  std::string name;
  double gb_per_s_alone = 0;   // One thread.
  double gb_per_s_shared = 0;  // All threads of the pool together.
  double latency_ns = 0;
};

// In the plan's order. `vector_bytes`: of the widest loads. kResourceExhausted: no memory.
RuntimeOr<std::vector<LevelSpeed>> MeasureLevels(ThreadPool& pool,
                                                 const std::vector<LevelPlan>& plans,
                                                 int vector_bytes);

}  // namespace burnish

#endif  // WORKER_CALIBRATE_MEASURE_LEVELS_H_
