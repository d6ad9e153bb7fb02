#include "proto/calibrated.h"

#include <algorithm>
#include <utility>

namespace burnish {

DeviceModel Calibrated(DeviceModel model, const CalibrationRow& row) {
  // GHz are cycles a nanosecond, and GB/s bytes a nanosecond.
  const double ghz = row.clock_ghz;
  model.cycles_per_second = ghz * 1e9;
  for (ComputeUnit& unit : model.units) {
    const UnitRate* const rate = row.FindUnit(unit.name);
    if (rate == nullptr) continue;
    const double operations_per_gop = static_cast<double>(unit.operations()) * ghz;
    unit.per_cycle = rate->gops_alone / operations_per_gop;
    unit.per_cycle_with_loads =
        std::min(rate->gops_with_loads / operations_per_gop, unit.per_cycle);
  }
  for (MemoryLevel& level : model.levels) {
    const LevelRate* const rate = row.FindLevel(level.name);
    if (rate == nullptr) continue;
    level.bytes_per_cycle_alone = rate->gb_per_s_alone / ghz;
    // What is a core's own comes once for each core.
    if (level.owner_count != 1) level.bytes_per_cycle_shared = rate->gb_per_s_shared / ghz;
    level.latency_cycles = rate->latency_ns * ghz;
  }
  for (ParallelAxis& axis : model.axes) {
    if (axis.axis != Axis::kWorker || row.threads == 1) continue;
    axis.barrier_cycles = row.barrier_ns * ghz;
    axis.peer_latency_cycles = row.peer_latency_ns * ghz;
    axis.peer_bytes_per_cycle = row.peer_gb_per_s / ghz;
  }
  return model;
}

DeviceModel DeviceModelOf(const Target& target, const std::optional<CalibrationRow>& row) {
  DeviceModel table = DeviceModelOf(target);
  return row.has_value() ? Calibrated(std::move(table), *row) : table;
}

}  // namespace burnish
