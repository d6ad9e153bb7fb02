// Where the values of loops and branches lie, and the control program of a bundle.
#ifndef COMPILER_DRIVER_CONTROL_LAYOUT_H_
#define COMPILER_DRIVER_CONTROL_LAYOUT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "compiler/driver/cut_control.h"
#include "compiler/driver/memory_plan.h"
#include "compiler/driver/planned_model.h"
#include "compiler/runtime/control_program.h"

namespace burnish {

class ControlLayout {
 public:
  // `is_step`: by group. `model` outlives this.
  ControlLayout(const PlannedModel& model, const std::vector<bool>& is_step);

  // The value whose memory a value is written to: what a branch gives is written by both bodies.
  ValueId Home(ValueId value) const;
  // The walker that says where a home is; -1: the value has one place.
  int WalkerOf(ValueId home) const;

  // What lives how long beside what steps touch themselves. `keep` is called for each home, with
  // the first step that needs its memory and the last one behind which something reads it. Adds the
  // places that states take turns with.
  using Keep = std::function<void(ValueId value, int first, int last)>;
  void AddLives(const Keep& keep, const std::function<bool(ValueId)>& is_used,
                std::vector<PlanBuffer>& buffers);
  // What was written before a loop, and is read in it, is read by its last iteration too.
  void ExtendLives(std::vector<PlanBuffer>& buffers) const;

  // `place_of`: of any home.
  ControlProgram Program(const std::function<Place(ValueId)>& place_of,
                         const std::function<bool(ValueId)>& is_used,
                         const std::vector<int64_t>& offset_bytes) const;

 private:
  int64_t BytesOf(ValueId value) const;
  uint32_t AlignmentOf(ValueId value) const;
  Walker SliceWalker(const ControlRegion& region, const ControlRegion::Slice& slice,
                     const Place& whole) const;
  // The two places in turn of a state, or a condition, of a region.
  Walker TurnWalker(ValueId value, int64_t offset_bytes) const;

  const PlannedModel& model_;
  const std::vector<StepRange> ranges_;
  std::map<ValueId, ValueId> home_;
  std::map<ValueId, int> walker_of_;
  std::vector<int> condition_walker_;  // By region.
  std::map<ValueId, int> turns_;       // Buffers, by what an iteration writes.
};

}  // namespace burnish

#endif  // COMPILER_DRIVER_CONTROL_LAYOUT_H_
