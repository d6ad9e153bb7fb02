// What the analytic model says of nests that go over rows pass by pass: a layer norm, a softmax.
#ifndef TUNER_COST_MODEL_PASSES_H_
#define TUNER_COST_MODEL_PASSES_H_

#include <vector>

#include "compiler/ir/program.h"
#include "compiler/target/device_model.h"
#include "tuner/cost_model/cache_traffic.h"
#include "tuner/cost_model/nest_walk.h"

namespace burnish {

// Cycles of arithmetic and memory at once.
double Overlapped(double compute, double memory);

// The unit that multiplies and adds floats, in its widest form.
const ComputeUnit& FloatUnit(const DeviceModel& device);

// A nest that goes over rows pass by pass waits for what is not in the second cache in the first
// pass that touches it: the arithmetic of the others hides nothing of that. Rows that the first
// cache holds are no matter where the last cache is near, for hardware's streams go on from one to
// the next.
class Passes {
 public:
  // All of them must live as long.
  Passes(const WalkNest& nest, const std::vector<BufferTraffic>& traffic,
         const DeviceModel& device);

  // What waits, beyond what arithmetic and memory of the whole nest take where they overlap.
  // `fill`: cycles of each buffer of the traffic, from beyond the second cache.
  double Exposed(double compute, double memory, const std::vector<double>& fill) const;

 private:
  int LoopOfRows(const WalkAccess& access) const;
  // Whether an iteration of the loop touches more than hardware's streams bring during the one
  // before, and the next one touches something else.
  bool IsLong(const BufferTraffic& buffer, const WalkAccess& access, int loop) const;
  double Waited(const WalkAccess& access, double fill) const;
  // Cycles of the stores that the access is of.
  double ComputeOf(const WalkAccess& access) const;

  const WalkNest& nest_;
  const std::vector<BufferTraffic>& traffic_;
  const DeviceModel& device_;
  const double short_bytes_;  // Of rows that hardware's streams bring.
  VarId rows_ = -1;           // The loop over rows; -1: there are no passes over long rows.
  const WalkAccess* second_ = nullptr;  // Of what the first pass reads, in the next one.
};

}  // namespace burnish

#endif  // TUNER_COST_MODEL_PASSES_H_
