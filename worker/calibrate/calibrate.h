// Measures what this machine's cores, caches and memory can do: the calibration row.
#ifndef WORKER_CALIBRATE_CALIBRATE_H_
#define WORKER_CALIBRATE_CALIBRATE_H_

#include <vector>

#include "base/cpu_info.h"
#include "compiler/runtime/runtime_status.h"
#include "proto/calibration_row.h"

namespace burnish {

// The CPUs that take part: the first of each core that this process may use.
std::vector<int> CalibrationCpus(const CpuInfo& host);

// Rates and times, rounded; whose they are (machine, boot, time) is left to the caller. Takes one
// to three seconds, a third of it where nothing else runs. Nothing else should: best hold the
// measuring lock of CalibrationCpus. kFailedPrecondition: no x86-64 CPU, or what came out cannot
// be, and again where three seconds allow it, because too much else runs here. kResourceExhausted:
// no memory or threads.
RuntimeOr<CalibrationRow> Calibrate(const CpuInfo& host);

}  // namespace burnish

#endif  // WORKER_CALIBRATE_CALIBRATE_H_
