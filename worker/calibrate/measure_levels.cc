#include "worker/calibrate/measure_levels.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "compiler/runtime/huge_page_arena.h"
#include "worker/calibrate/best_window.h"
#include "worker/calibrate/memory_loops.h"

namespace burnish {
namespace {

// Of memory, at a time: long enough for prefetchers to run at full rate.
constexpr int64_t kMemoryWindowBytes = int64_t{8} << 20;
// Where the CPU shows no caches: larger than what any had when that was left out.
constexpr int64_t kMemoryBytesMin = int64_t{64} << 20;
// Places that a chase through memory visits.
constexpr int64_t kMemoryLinkCount = 100'000;
// Of all threads at once: more, because a disturbed thread spoils the window of all.
constexpr int kSharedWindowCount = 2 * kWindowCount;
// Of a chase through a cache at a time: 10 us in L1, 0.5 ms in an L3.
constexpr int64_t kChaseSteps = 8'000;

// Of one thread, in GB/s (which is bytes a nanosecond).
double ReadAlone(std::span<const uint8_t> part, const LevelPlan& plan, int vector_bytes) {
  if (plan.window_bytes == 0) {
    const std::span<const uint8_t> bytes = part.first(plan.bytes_alone);
    return static_cast<double>(plan.bytes_alone) *
           BestPerNs([&](int64_t repeats) { ReadAll(bytes, vector_bytes, repeats); });
  }
  // Drives out what was there before: levels within read the beginning of it.
  ReadAll(part.first(plan.bytes_alone), vector_bytes, 1);
  int64_t best_ns = INT64_MAX, at = 0;
  for (int window = 0; window < kWindowCount; ++window) {
    if (at + plan.window_bytes > plan.bytes_alone) at = 0;
    const std::span<const uint8_t> bytes = part.subspan(at, plan.window_bytes);
    best_ns = std::min(best_ns, TimeNs([&] { ReadAll(bytes, vector_bytes, 1); }));
    at += plan.window_bytes;
  }
  return static_cast<double>(plan.window_bytes) / static_cast<double>(best_ns);
}

class LevelMeter {
 public:
  LevelMeter(ThreadPool& pool, int vector_bytes, std::vector<std::span<uint8_t>> parts)
      : pool_(pool), vector_bytes_(vector_bytes), parts_(std::move(parts)) {}

  LevelSpeed Measure(const LevelPlan& plan) {
    LevelSpeed speed{.name = plan.name};
    // The others wait at the region's end, where they sleep after 50 us.
    pool_.Run([&](int worker) {
      if (worker == 0) speed.gb_per_s_alone = ReadAlone(parts_[0], plan, vector_bytes_);
    });
    speed.gb_per_s_shared = pool_.thread_count() > 1 ? ReadShared(plan) : speed.gb_per_s_alone;
    pool_.Run([&](int worker) {
      if (worker == 0) speed.latency_ns = Latency(plan);
    });
    return speed;
  }

 private:
  // All threads at once, in windows that begin together and end with the last of them.
  double ReadShared(const LevelPlan& plan) {
    const bool is_memory = plan.window_bytes > 0;
    const int64_t bytes_each = is_memory ? plan.window_bytes : plan.bytes_each;
    int64_t repeats = 1;
    if (!is_memory) {
      pool_.Run([&](int worker) {
        const std::span<const uint8_t> bytes = parts_[worker].first(plan.bytes_each);
        const int64_t own =
            RepeatsOfAWindow([&](int64_t count) { ReadAll(bytes, vector_bytes_, count); });
        if (worker == 0) repeats = own;
      });
    }
    const int threads = pool_.thread_count();
    const int windows = kSharedWindowCount;
    std::vector<int64_t> start_ns(threads * windows), end_ns(threads * windows);
    pool_.Run([&](int worker) {
      if (is_memory) ReadAll(parts_[worker].first(plan.bytes_each), vector_bytes_, 1);
      int64_t at = 0;
      for (int window = 0; window < windows; ++window) {
        if (at + bytes_each > plan.bytes_each) at = 0;
        const std::span<const uint8_t> bytes = parts_[worker].subspan(at, bytes_each);
        pool_.barrier().Wait();
        start_ns[window * threads + worker] = MonotonicNs();
        ReadAll(bytes, vector_bytes_, repeats);
        end_ns[window * threads + worker] = MonotonicNs();
        at += bytes_each;
      }
    });
    double best = 0;
    for (int window = 0; window < windows; ++window) {
      const auto first = start_ns.begin() + window * threads;
      const auto last = end_ns.begin() + window * threads;
      const int64_t ns =
          *std::max_element(last, last + threads) - *std::min_element(first, first + threads);
      best = std::max(best, static_cast<double>(bytes_each * repeats * threads) /
                                static_cast<double>(std::max<int64_t>(ns, 1)));
    }
    return best;
  }

  // Of one thread.
  double Latency(const LevelPlan& plan) {
    const std::span<uint8_t> bytes = parts_[0].first(plan.bytes_alone);
    const bool is_memory = plan.window_bytes > 0;
    const int64_t line_count = plan.bytes_alone / kLineBytes;
    const int64_t links = is_memory ? std::min(kMemoryLinkCount, line_count) : line_count;
    LinkLines(bytes, line_count / links * kLineBytes, /*seed=*/links);
    // Through a cache in short runs after a fast pass over all of it: neighbours that share the
    // cache drive out what a chase comes back to too late. Through memory once around only, because
    // the second time some of the lines would be in a cache; the pass drives out what was written
    // last.
    if (is_memory) ReadAll(bytes, vector_bytes_, 1);
    const int64_t steps = is_memory ? std::max<int64_t>(links / kWindowCount, 1) : kChaseSteps;
    const void* at = bytes.data();
    int64_t best_ns = INT64_MAX;
    for (int window = 0; window < kWindowCount; ++window) {
      if (!is_memory) ReadAll(bytes, vector_bytes_, 1);
      best_ns = std::min(best_ns, TimeNs([&] { at = FollowLinks(at, steps); }));
    }
    return static_cast<double>(best_ns) / static_cast<double>(steps);
  }

  ThreadPool& pool_;
  const int vector_bytes_;
  const std::vector<std::span<uint8_t>> parts_;  // By thread.
};

}  // namespace

std::vector<LevelPlan> PlanLevels(const CpuInfo& cpu, int threads, int l3_threads,
                                  int64_t memory_bytes_max) {
  const auto size = [&cpu](int level) {
    const CpuCache* const cache = cpu.Cache(level);
    return cache == nullptr ? int64_t{0} : cache->size_bytes;
  };
  const int64_t l1 = size(1), l2 = size(2), l3 = size(3);
  std::vector<LevelPlan> plans;
  // Half of a level: the rest is for stack, code and what conflicts.
  const auto add = [&plans](const char* name, int64_t bytes) {
    bytes = bytes / kReadGranuleBytes * kReadGranuleBytes;
    plans.push_back({.name = name, .bytes_alone = bytes, .bytes_each = bytes});
  };
  if (l1 > 0) add("L1", l1 / 2);
  if (l2 > 2 * l1) add("L2", std::max(l2 / 2, 2 * l1));
  // Eight times L2, so that few of the lines lie there; no larger, because of a large L3 what is
  // near is what a task finds there.
  const int64_t l3_each = std::min(8 * l2, l3 / 2 / std::max(l3_threads, 1));
  if (l2 > 0 && l3_each >= 2 * l2) add("L3", l3_each);
  // Four times the last caches, so that next to nothing of one pass is left for the next, whatever
  // lines a cache prefers to keep.
  const int64_t l3_count = (threads + l3_threads - 1) / std::max(l3_threads, 1);
  const auto windows = [](int64_t bytes) {
    return std::max<int64_t>(bytes / kMemoryWindowBytes, 1) * kMemoryWindowBytes;
  };
  const int64_t most_each = memory_bytes_max / 2 / threads;
  const int64_t each = windows(std::min(4 * std::max(l3_count * l3 / threads, l2), most_each));
  const int64_t alone =
      windows(std::min(std::max({4 * l3, 4 * l2, kMemoryBytesMin}), memory_bytes_max / 2));
  plans.push_back({.name = "memory",
                   .bytes_alone = std::max(alone, each),
                   .bytes_each = each,
                   .window_bytes = kMemoryWindowBytes});
  return plans;
}

RuntimeOr<std::vector<LevelSpeed>> MeasureLevels(ThreadPool& pool,
                                                 const std::vector<LevelPlan>& plans,
                                                 int vector_bytes) {
  // The first thread's part is larger: it also reads alone.
  int64_t first_bytes = 0, bytes_each = 0;
  for (const LevelPlan& plan : plans) {
    first_bytes = std::max(first_bytes, plan.bytes_alone);
    bytes_each = std::max(bytes_each, plan.bytes_each);
  }
  RUNTIME_ASSIGN_OR_RETURN(
      const HugePageArena arena,
      HugePageArena::Allocate(first_bytes + bytes_each * (pool.thread_count() - 1)));
  std::vector<std::span<uint8_t>> parts = {arena.bytes().first(first_bytes)};
  for (int worker = 1; worker < pool.thread_count(); ++worker) {
    parts.push_back(arena.bytes().subspan(first_bytes + (worker - 1) * bytes_each, bytes_each));
  }
  // Each by its own reader, so that the pages lie near it.
  pool.Run([&](int worker) { std::memset(parts[worker].data(), 1, parts[worker].size()); });
  LevelMeter meter(pool, vector_bytes, std::move(parts));
  std::vector<LevelSpeed> speeds;
  for (const LevelPlan& plan : plans) speeds.push_back(meter.Measure(plan));
  return speeds;
}

}  // namespace burnish
