// Which candidate of each task runs in which pass of the model.
#ifndef TUNER_REFINE_PASS_PLAN_H_
#define TUNER_REFINE_PASS_PLAN_H_

#include <cstdint>

#include "absl/types/span.h"
#include "proto/run_job.h"

namespace burnish {

struct PassPlanOptions {
  uint64_t seed = 0;    // The study's.
  int process = 0;      // Each has an order of its own.
  int block_count = 4;  // Timed blocks, at least 1.
};

// Passes come in blocks of as many as the task with most entries has. Within a block each entry of
// a task runs equally often (give or take one, where the numbers do not divide), in an order drawn
// for that task and block alone: so every entry meets ever other neighbours, and a drift of the
// machine meets all entries alike. One more block comes first, as warm-up, in which every entry
// runs.
//
// `entry_counts`: by task, at least 1. `model_order`: the task of each step; all steps of a task
// run the same entry in a pass. In the plan entries are numbered through, those of task 0 first.
ModelOrder PlanPasses(absl::Span<const int> entry_counts, absl::Span<const int> model_order,
                      const PassPlanOptions& options);

}  // namespace burnish

#endif  // TUNER_REFINE_PASS_PLAN_H_
