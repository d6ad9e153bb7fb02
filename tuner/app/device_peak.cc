#include "tuner/app/device_peak.h"

#include <algorithm>

namespace burnish {

double PeakFlops(const DeviceModel& device, NumberType type, int threads,
                 double loads_per_operation) {
  const ComputeUnit* const unit = device.FindUnit(type, type);
  return unit == nullptr ? 0 : PeakFlops(device, *unit, threads, loads_per_operation);
}

double PeakFlops(const DeviceModel& device, const ComputeUnit& unit, int threads,
                 double loads_per_operation) {
  return static_cast<double>(unit.operations()) * unit.PerCycle(loads_per_operation) *
         device.cycles_per_second * threads;
}

double PeakReadBytes(const DeviceModel& device, int threads) {
  const MemoryLevel* const memory = device.FindLevel("memory");
  if (memory == nullptr) return 0;
  return memory->BytesPerCycle(threads) * device.cycles_per_second * threads;
}

RooflineBound Roofline(double flops_per_second, double bytes_per_second, uint64_t flop_count,
                       uint64_t moved_bytes) {
  const double compute_ns =
      flops_per_second > 0 ? 1e9 * static_cast<double>(flop_count) / flops_per_second : 0;
  const double memory_ns =
      bytes_per_second > 0 ? 1e9 * static_cast<double>(moved_bytes) / bytes_per_second : 0;
  return {.ns = std::max(compute_ns, memory_ns), .by_memory = memory_ns > compute_ns};
}

}  // namespace burnish
