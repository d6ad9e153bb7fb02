#include "tuner/task_scheduler/task_scheduler.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuner/task_scheduler/gradient_scheduler.h"
#include "tuner/task_scheduler/round_robin_scheduler.h"

namespace burnish {

std::vector<std::string> TaskSchedulerNames() { return {"gradient", "round-robin"}; }

absl::StatusOr<std::unique_ptr<TaskScheduler>> MakeTaskScheduler(
    absl::string_view name, const TaskSchedulerOptions& options) {
  if (name == "gradient") return std::make_unique<GradientScheduler>(options);
  if (name == "round-robin") return std::make_unique<RoundRobinScheduler>(options);
  return absl::InvalidArgumentError(absl::StrCat("got task scheduler ", name, ", want one of ",
                                                 absl::StrJoin(TaskSchedulerNames(), ", ")));
}

}  // namespace burnish
