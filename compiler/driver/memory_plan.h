// Places the activations of a model in one arena. Pure.
#ifndef COMPILER_DRIVER_MEMORY_PLAN_H_
#define COMPILER_DRIVER_MEMORY_PLAN_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace burnish {

struct PlanBuffer {
  int64_t size_bytes = 0;
  // From the step that first writes it to the step that last reads it, both included.
  int first_step = 0;
  int last_step = 0;
  // What is read once more when this step is done, by the session or by a loop's next iteration:
  // the step itself may not write there. -1: no such step.
  int kept_through = -1;
  // Not empty: only buffers with the same text may ever lie in this memory, because something in it
  // is written once and must stay (a border). They take turns where their lives do not touch.
  std::string keeper = "";
};

// `output` may take over the memory of `input`, if that dies in the step that makes `output`.
struct InPlaceChoice {
  int output = 0;
  int input = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offset_bytes;  // By buffer; multiples of kPlanAlignmentBytes.
  int64_t arena_bytes = 0;
};

inline constexpr int64_t kPlanAlignmentBytes = 64;

// No two buffers that live in a common step overlap, but for the in-place pairs that are taken:
// those with equal size and keeper, each buffer in one pair at most a side. Buffers of one step
// start at different places of a 4 KiB page where that is possible, because loads that follow
// stores at equal page offsets wait for them.
MemoryPlan PlanMemory(absl::Span<const PlanBuffer> buffers,
                      absl::Span<const InPlaceChoice> in_place = {});

}  // namespace burnish

#endif  // COMPILER_DRIVER_MEMORY_PLAN_H_
