// Two whole sets of candidates, one for each task, against each other in the model: what the best
// of each task are worth together.
#ifndef TUNER_REFINE_SET_PLAN_H_
#define TUNER_REFINE_SET_PLAN_H_

#include <array>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/measurement.h"
#include "proto/run_job.h"
#include "tuner/refine/pass_plan.h"

namespace burnish {

// A set runs so many passes before one counts, and then so many that do. A model that runs again
// and again finds in the last cache what its own passes left there; behind another set's pass it
// finds what that one left. Two bundles of ResNet-18 (102 and 109 MB of weights, Zen 5, one thread,
// 32 MiB of L3, 29 November 2026), eight passes of each in turn: 9.7, 9.1, 8.6, 8.5, 8.4 ms and
// level from there; 8.8, 9.5, 9.8, 9.8 and level. By the first passes the slower one was ahead.
// With the code of today the first pass is 2 to 3 % off.
inline constexpr int kSettlePasses = 3, kCountedPasses = 3;
inline constexpr int kPassesOfSet = kSettlePasses + kCountedPasses;

struct SetPlan {
  struct Pass {
    int set = 0;  // Or 1.
    bool counts = false;
  };
  ModelOrder order = {};
  std::vector<Pass> passes = {};
};

// A block is a run of kPassesOfSet passes of each set, in an order drawn for the block. `members`:
// by task, the candidate of set 0 and of set 1, which may be the same.
SetPlan PlanSets(absl::Span<const std::array<int, 2>> members, absl::Span<const int> model_order,
                 const PassPlanOptions& options);

// Of the passes that count.
struct SetTimes {
  std::array<double, 2> pass_ns = {};  // By set: of a pass, all steps, the median.
  // [set][candidate]: latencies of a pass, none where it is no member.
  std::array<std::vector<ProcessLatencies>, 2> candidates = {};
};

// `candidates`: latencies in one process, as ModelOrder says. INTERNAL: they are not those of the
// plan.
absl::StatusOr<SetTimes> TimesOfSets(const SetPlan& plan,
                                     absl::Span<const ProcessLatencies> candidates);

struct SetVerdict {
  double ratio = 1;   // Time of set 0 over that of set 1: the mean over the processes.
  double spread = 0;  // Between the lowest and the highest of them.
  // Set 0 is slower by more than the spread. With three processes and no difference in truth that
  // is seen one time in 25 (E. Lord, "The use of range in place of standard deviation in the
  // t-test", Biometrika 34, 1947).
  bool is_slower = false;
};

// `ratios`: one a process, at least two.
SetVerdict JudgeSets(absl::Span<const double> ratios);

}  // namespace burnish

#endif  // TUNER_REFINE_SET_PLAN_H_
