#include "worker/calibrate/measure_exchange.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "compiler/runtime/huge_page_arena.h"
#include "worker/calibrate/best_window.h"
#include "worker/calibrate/memory_loops.h"

namespace burnish {
namespace {

constexpr int kBarriers = 1'000;
// More threads than CPUs sleep at a barrier, for tens of microseconds: then fewer samples do.
constexpr int64_t kBarrierBudgetNs = 60'000'000;

double MeasureBarrier(ThreadPool& pool) {
  int64_t best_ns = INT64_MAX;
  const int64_t start_ns = MonotonicNs();
  int barriers = kBarriers;
  for (int window = 0; window < 2 * kWindowCount; ++window) {
    int64_t ns = 0;
    pool.Run([&](int worker) {
      pool.barrier().Wait();
      const int64_t begun_ns = MonotonicNs();
      for (int i = 0; i < barriers; ++i) pool.barrier().Wait();
      if (worker == 0) ns = MonotonicNs() - begun_ns;
    });
    best_ns = std::min(best_ns, ns);
    if (MonotonicNs() - start_ns > kBarrierBudgetNs) break;
  }
  return static_cast<double>(best_ns) / barriers;
}

// Writes the second word of each line, so that the line is this core's alone and the links in the
// first words stay.
void Touch(std::span<uint8_t> bytes) {
  for (size_t at = 8; at < bytes.size(); at += kLineBytes) {
    *reinterpret_cast<volatile uint64_t*>(bytes.data() + at) = at;
  }
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

RuntimeOr<ExchangeSpeed> MeasureExchange(ThreadPool& pool, int64_t bytes_each, int vector_bytes) {
  const int threads = pool.thread_count();
  RUNTIME_ASSIGN_OR_RETURN(const HugePageArena arena,
                           HugePageArena::Allocate(bytes_each * threads));
  const auto part = [&](int worker) {
    return arena.bytes().subspan(worker % threads * bytes_each, bytes_each);
  };
  const int64_t links = bytes_each / kLineBytes;
  std::vector<double> latency_ns(threads, 1e9), gb_per_s(threads);
  pool.Run([&](int worker) {
    LinkLines(part(worker), kLineBytes, /*seed=*/worker);
    const std::span<uint8_t> others = part(worker + 1);
    for (int window = 0; window < 2 * kWindowCount; ++window) {
      Touch(part(worker));
      pool.barrier().Wait();
      const int64_t chase_ns = TimeNs([&] { FollowLinks(others.data(), links); });
      latency_ns[worker] =
          std::min(latency_ns[worker], static_cast<double>(chase_ns) / static_cast<double>(links));
      pool.barrier().Wait();
      Touch(part(worker));
      pool.barrier().Wait();
      const int64_t read_ns = TimeNs([&] { ReadAll(others, vector_bytes, 1); });
      gb_per_s[worker] = std::max(gb_per_s[worker],
                                  static_cast<double>(bytes_each) / static_cast<double>(read_ns));
      pool.barrier().Wait();
    }
  });
  return ExchangeSpeed{.barrier_ns = MeasureBarrier(pool),
                       .peer_latency_ns = Mean(latency_ns),
                       .peer_gb_per_s = Mean(gb_per_s)};
}

}  // namespace burnish
