// Chooses one schedule for each task. Pure.
#ifndef COMPILER_DRIVER_SELECT_H_
#define COMPILER_DRIVER_SELECT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "compiler/driver/schedule_source.h"

namespace burnish {

struct TaskChoices {
  int64_t weight = 1;                    // How often the model has the task.
  std::vector<KnownSchedule> schedules;  // Candidates; those that turned out not to build are gone.
};

struct SelectOptions {
  // Bound on the whole model's tensor error against float64. Rounding errors of different steps
  // are independent and of either sign, so their squares add up (Higham and Mary, "A new approach
  // to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41, 2019); exact and
  // reassociated schedules count nothing.
  double error_budget = 1e-4;
  bool strict = false;  // Exact and reassociated only.
};

// For each task an index into its schedules, or -1 for the default nest, where none is allowed.
// First by origin (tuned, compatible, default), then by latency, then as listed. While the errors
// exceed the budget, the task that adds most takes its best schedule with a smaller error.
std::vector<int> Select(absl::Span<const TaskChoices> tasks, const SelectOptions& options = {});

}  // namespace burnish

#endif  // COMPILER_DRIVER_SELECT_H_
