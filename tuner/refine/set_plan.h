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

struct SetPlan {
  ModelOrder order = {};
  std::vector<int> set_of_pass = {};  // 0 or 1.
};

// A block is one pass of each set, in an order drawn for the block. One more block comes first, as
// warm-up. `members`: by task, the candidate of set 0 and of set 1, which may be the same.
SetPlan PlanSets(absl::Span<const std::array<int, 2>> members, absl::Span<const int> model_order,
                 const PassPlanOptions& options);

// By set: nanoseconds of a pass, all steps, the median of the timed ones. `candidates`: latencies
// in one process, as ModelOrder says. INTERNAL: they are not those of the plan.
absl::StatusOr<std::array<double, 2>> SetPassNs(const SetPlan& plan,
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
