#include "tuner/app/device_peak.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "base/check.h"
#include "compiler/ir/number_type.h"
#include "compiler/schedule/step.h"
#include "db/stored_trace.h"

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

double PeakFlops(const DeviceModel& device, const Program& workload, int threads,
                 double loads_per_operation) {
  const auto reads = [&](NumberType type) {
    return type == NumberType::kF32 ||
           std::any_of(workload.buffers.begin(), workload.buffers.end(), [&](const Buffer& buffer) {
             return buffer.role != BufferRole::kOutput && IsOf(type, buffer.dtype);
           });
  };
  double peak = 0;
  for (const ComputeUnit& unit : device.units) {
    if (!reads(unit.left) || !reads(unit.right)) continue;
    peak = std::max(peak, PeakFlops(device, unit, threads, loads_per_operation));
  }
  return peak;
}

double PeakFlopsReading(const DeviceModel& device, NumberType type, int threads,
                        double loads_per_operation) {
  const auto is_byte = [](NumberType t) { return t == NumberType::kI8 || t == NumberType::kU8; };
  const auto is_such = [&](NumberType t) { return t == type || (is_byte(t) && is_byte(type)); };
  const bool widens = is_byte(type) || type == NumberType::kBf16 || type == NumberType::kF16;
  double peak = 0;
  for (const ComputeUnit& unit : device.units) {
    // Sums in f16 are not what we compute.
    if (unit.sum == NumberType::kF16) continue;
    const bool is_float = unit.left == NumberType::kF32 && unit.right == NumberType::kF32;
    if (!is_such(unit.left) && !is_such(unit.right) && !(widens && is_float)) continue;
    peak = std::max(peak, PeakFlops(device, unit, threads, loads_per_operation));
  }
  return peak;
}

const ComputeUnit& UnitOfTrace(const DeviceModel& device, absl::string_view trace) {
  const ComputeUnit* unit = nullptr;
  // A trace of another version names what this one does not know: then as without an instruction.
  if (const absl::StatusOr<Trace> steps = ParseStoredTrace(trace); steps.ok()) {
    for (const Step& step : *steps) {
      if (step.Has("intrinsic")) unit = device.FindUnit(step.GetWord("intrinsic").value_or(""));
    }
  }
  if (unit == nullptr) unit = device.FindUnit(NumberType::kF32, NumberType::kF32);
  CHECK(unit != nullptr) << device.name << " has no unit for floats";
  return *unit;
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
