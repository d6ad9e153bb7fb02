// What a device can do at most, by its model: the 100 % of a profile.
#ifndef TUNER_APP_DEVICE_PEAK_H_
#define TUNER_APP_DEVICE_PEAK_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "compiler/ir/program.h"
#include "compiler/target/device_model.h"

namespace burnish {

// Operations a second of `threads` cores on numbers of this type, a multiply-add counting two, with
// that many loads (0 to 1) an instruction: kernels load, and the clock falls under loads. 0: the
// device has no unit for the type.
double PeakFlops(const DeviceModel& device, NumberType type, int threads,
                 double loads_per_operation);

// The same of one unit.
double PeakFlops(const DeviceModel& device, const ComputeUnit& unit, int threads,
                 double loads_per_operation);

// The same of the fastest unit that multiplies numbers of types which the workload reads, f32 among
// them whatever it reads: no schedule computes faster, but by another algorithm.
double PeakFlops(const DeviceModel& device, const Program& workload, int threads,
                 double loads_per_operation);

// The same of the fastest unit that multiplies numbers of this type with any others, 8-bit integers
// of both signs being one type; what is stored in 16 or 8 bits may also be widened to f32. 0: no
// unit does, as for indices.
double PeakFlopsReading(const DeviceModel& device, NumberType type, int threads,
                        double loads_per_operation);

// The unit that a schedule multiplies by, as far as its stored trace says: an instruction's, else
// the widest of f32.
const ComputeUnit& UnitOfTrace(const DeviceModel& device, absl::string_view trace);

// Bytes a second that `threads` cores read from memory together.
double PeakReadBytes(const DeviceModel& device, int threads);

// The least time that the work takes at these rates, in nanoseconds, and which of the two binds it.
// A rate of 0 is not known and binds nothing.
struct RooflineBound {
  double ns = 0;
  bool by_memory = false;
};
RooflineBound Roofline(double flops_per_second, double bytes_per_second, uint64_t flop_count,
                       uint64_t moved_bytes);

}  // namespace burnish

#endif  // TUNER_APP_DEVICE_PEAK_H_
