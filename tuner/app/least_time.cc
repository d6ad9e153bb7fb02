#include "tuner/app/least_time.h"

#include <algorithm>
#include <cmath>

#include "compiler/target/device_model.h"
#include "compiler/te/operator.h"
#include "proto/calibrated.h"
#include "tuner/app/device_peak.h"

namespace burnish {
namespace {

// No CPU that is sold computes with vectors at a higher clock: the highest is 6.2 GHz, of one core.
constexpr double kClockMaxHz = 6.5e9;
// Vector multiply-adds a cycle of a core, at its full width: none has more.
constexpr double kVectorsPerCycleMax = 2;
// Of a core and its first cache: two loads and a store of 64 bytes. Nothing is nearer.
constexpr double kBytesPerCycleMax = 192;
// A call by a pointer that reads its arguments and returns: a dozen cycles.
constexpr double kCallNs = 2;
// A row that is lower than this share of the table's peak was disturbed, or is made up.
constexpr double kBelievedShare = 0.5;

// The fastest machine that there can be with the target's instruction set.
double PeakOfAny(const Target& target, const Program& workload) {
  DeviceModel device = DeviceModelOf(target);
  device.cycles_per_second = kClockMaxHz;
  for (ComputeUnit& unit : device.units) {
    if (unit.sums_in != Residence::kVectorRegister) continue;
    unit.per_cycle = std::max(unit.per_cycle, kVectorsPerCycleMax);
  }
  return PeakFlops(device, workload, target.threads, /*loads_per_operation=*/0);
}

double PeakOfRow(const Target& target, const Program& workload,
                 const std::optional<CalibrationRow>& row) {
  return PeakFlops(DeviceModelOf(target, row), workload, target.threads,
                   /*loads_per_operation=*/0);
}

// Written for certain, and read at most as far as one element of each input for each of an output:
// what is gathered or cut out does not touch the rest.
double MovedBytes(const Program& workload) {
  int64_t outputs = 0;
  double bytes = 0;
  for (const Buffer& buffer : workload.buffers) {
    if (buffer.role != BufferRole::kOutput) continue;
    const int64_t count = ElementCount(buffer.shape);
    outputs = std::max(outputs, count);
    bytes += static_cast<double>(count) * static_cast<double>(SizeBytes(buffer.dtype));
  }
  for (const Buffer& buffer : workload.buffers) {
    if (buffer.role == BufferRole::kOutput || buffer.role == BufferRole::kTemp) continue;
    const int64_t count = std::min(outputs, ElementCount(buffer.shape));
    bytes += static_cast<double>(count) * static_cast<double>(SizeBytes(buffer.dtype));
  }
  return bytes;
}

int64_t ComputeNs(double flops, double peak) {
  return peak > 0 ? std::llround(std::min(1e9 * flops / peak, 1e18)) : 0;
}

}  // namespace

LeastTimes LeastTimesOf(const Target& target, const Program& workload, double saving_max,
                        const std::optional<CalibrationRow>& row) {
  const double flops = static_cast<double>(CountFlops(workload)) / std::max(1.0, saving_max);
  const double peak = PeakOfAny(target, workload);
  const double moved_ns =
      MovedBytes(workload) * 1e9 / (kBytesPerCycleMax * kClockMaxHz * std::max(1, target.threads));
  LeastTimes least;
  least.of_any_ns =
      std::max<int64_t>(ComputeNs(flops, peak), std::llround(std::max(kCallNs, moved_ns)));
  least.of_worker_ns = least.of_any_ns;
  if (!row.has_value()) return least;
  const double own = PeakOfRow(target, workload, row);
  const bool is_believed =
      own <= peak && own >= kBelievedShare * PeakOfRow(target, workload, std::nullopt);
  if (is_believed) least.of_worker_ns = std::max(least.of_any_ns, ComputeNs(flops, own));
  return least;
}

}  // namespace burnish
