#include "tuner/task_scheduler/round_robin_scheduler.h"

#include "tuner/task_scheduler/gradient_scheduler.h"
#include "tuner/task_scheduler/task_gain.h"

namespace burnish {

std::optional<int> RoundRobinScheduler::Pick(absl::Span<const TaskProgress> tasks) const {
  const double share = BestShareOfBound(tasks);
  const double total_ns = TotalNs(tasks);
  std::optional<int> picked;
  int64_t fewest = 0;
  for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
    if (HasStopped(tasks[i], share, total_ns, options_)) continue;
    const int64_t count = tasks[i].trial_count() + tasks[i].pending_count;
    if (picked.has_value() && count >= fewest) continue;
    picked = i;
    fewest = count;
  }
  return picked;
}

double RoundRobinScheduler::PredictedGain(absl::Span<const TaskProgress> tasks) const {
  // When a study stops must not depend on who deals out its trials, or the two could not be
  // compared.
  return GradientScheduler(options_).PredictedGain(tasks);
}

}  // namespace burnish
