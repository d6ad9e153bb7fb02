// The calibrator: measures this machine once, prints its calibration row as text, and ends. A
// program of its own, so that a CPU that shows more than it has takes no daemon down, and tile
// registers are asked for in a process that ends soon.
#include <sysexits.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/cpu_info.h"
#include "base/measuring_files.h"
#include "proto/calibration_row.h"
#include "worker/calibrate/calibrate.h"
#include "worker/runner/measuring_lock.h"

namespace burnish {
namespace {

int Fail(int exit_code, const std::string& message) {
  std::fprintf(stderr, "calibrator: %s\n", message.c_str());
  return exit_code;
}

int Main(const std::string& lock_folder) {
  const CpuInfo host = HostCpuInfo();
  // Neither disturbs a worker's timed section nor is disturbed by one.
  const std::vector<std::string> paths = MeasuringLockPaths(lock_folder, CalibrationCpus(host));
  const RuntimeOr<MeasuringLock> lock = MeasuringLock::Acquire(paths);
  if (!lock.ok()) return Fail(EX_CANTCREAT, lock.status().message());
  AnnounceMeasuring(paths);
  const RuntimeOr<CalibrationRow> row = Calibrate(host);
  if (!row.ok()) return Fail(EX_TEMPFAIL, row.status().message());
  const std::string text = ToText(*row);
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? EX_OK : EX_IOERR;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) {
  if (argc > 2) {
    std::fprintf(stderr, "usage: calibrator [LOCK_FOLDER]\n");
    return EX_USAGE;
  }
  return burnish::Main(argc == 2 ? argv[1] : burnish::DefaultMeasuringFolder());
}
