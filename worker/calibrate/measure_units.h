// Rates of this machine's arithmetic units, and the clock under them. Free of Abseil.
#ifndef WORKER_CALIBRATE_MEASURE_UNITS_H_
#define WORKER_CALIBRATE_MEASURE_UNITS_H_

#include <vector>

#include "base/cpu_info.h"
#include "base/unit_loops.h"
#include "compiler/runtime/thread_pool.h"

namespace burnish {

// Of one thread while all of the pool do the same, the mean over them: giga-operations a second.
struct UnitSpeed {
  const UnitLoop* loop = nullptr;
  double gops_alone = 0;
  double gops_with_loads = 0;
};

// The loops that code for this CPU may use. Tiles only where AllowTiles() says so; multiply and add
// apart only where nothing is fused.
std::vector<const UnitLoop*> UsableUnitLoops(const CpuInfo& cpu);

// About 20 ms a loop.
std::vector<UnitSpeed> MeasureUnits(ThreadPool& pool, const std::vector<const UnitLoop*>& loops);

// GHz of one thread, right after `loop` has run on all threads of the pool for a while: the mean.
double MeasureClock(ThreadPool& pool, const UnitLoop& loop);

}  // namespace burnish

#endif  // WORKER_CALIBRATE_MEASURE_UNITS_H_
