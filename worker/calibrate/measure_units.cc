#include "worker/calibrate/measure_units.h"

#include <algorithm>
#include <string>

#include "base/tile_permission.h"
#include "worker/calibrate/best_window.h"

namespace burnish {
namespace {

// Runs a chain of `16 * count` operations of one cycle each. Exclusive or of two different
// registers: one cycle on every x86, and no processor folds or renames it away, as some do with
// moves and with additions of constants.
void RunCycleChain(int64_t count) {
  uint64_t value = 1, other = 3;
  asm volatile(
      "1:\n"
      ".rept 16\n"
      "xor %2, %0\n"
      ".endr\n"
      "dec %1\n"
      "jnz 1b\n"
      : "+r"(value), "+r"(count)
      : "r"(other)
      : "cc");
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double GopsOf(ThreadPool& pool, const UnitLoop& loop, bool with_loads) {
  std::vector<double> gops(pool.thread_count());
  pool.Run([&](int worker) {
    gops[worker] = static_cast<double>(loop.operations) *
                   BestPerNs([&](int64_t repeats) { loop.run(repeats, with_loads); });
  });
  return Mean(gops);
}

}  // namespace

std::vector<const UnitLoop*> UsableUnitLoops(const CpuInfo& cpu) {
  const bool has_tiles = cpu.Has("amx-tile") && AllowTiles();
  std::vector<const UnitLoop*> loops;
  for (const UnitLoop& loop : AllUnitLoops()) {
    if (!cpu.Has(std::string(loop.feature))) continue;
    if (loop.unit.starts_with("amx") && !has_tiles) continue;
    if (loop.unit.starts_with("muladd") && cpu.Has("fma")) continue;
    loops.push_back(&loop);
  }
  return loops;
}

std::vector<UnitSpeed> MeasureUnits(ThreadPool& pool, const std::vector<const UnitLoop*>& loops) {
  std::vector<UnitSpeed> speeds;
  for (const UnitLoop* loop : loops) {
    speeds.push_back({.loop = loop,
                      .gops_alone = GopsOf(pool, *loop, /*with_loads=*/false),
                      .gops_with_loads = GopsOf(pool, *loop, /*with_loads=*/true)});
  }
  return speeds;
}

double MeasureClock(ThreadPool& pool, const UnitLoop& loop) {
  // 20 us: the clock stays where the vectors left it for some hundreds of microseconds.
  constexpr int64_t kChainCount = 4'000;
  std::vector<double> ghz(pool.thread_count());
  pool.Run([&](int worker) {
    const int64_t repeats =
        RepeatsOfAWindow([&](int64_t count) { loop.run(count, /*with_loads=*/false); });
    for (int window = 0; window < kWindowCount; ++window) {
      loop.run(repeats, /*with_loads=*/false);
      const int64_t ns = TimeNs([] { RunCycleChain(kChainCount); });
      ghz[worker] = std::max(ghz[worker], 16.0 * kChainCount / static_cast<double>(ns));
    }
  });
  return Mean(ghz);
}

}  // namespace burnish
