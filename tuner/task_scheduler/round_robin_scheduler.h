// Gives every task the same number of trials.
#ifndef TUNER_TASK_SCHEDULER_ROUND_ROBIN_SCHEDULER_H_
#define TUNER_TASK_SCHEDULER_ROUND_ROBIN_SCHEDULER_H_

#include "tuner/task_scheduler/task_scheduler.h"

namespace burnish {

// The fewest trials first, pending ones included; of equals the first. A task stops where it does
// under the gradient scheduler.
class RoundRobinScheduler : public TaskScheduler {
 public:
  explicit RoundRobinScheduler(const TaskSchedulerOptions& options) : options_(options) {}

  std::optional<int> Pick(absl::Span<const TaskProgress> tasks) const override;
  double PredictedGain(absl::Span<const TaskProgress> tasks) const override;

 private:
  const TaskSchedulerOptions options_;
};

}  // namespace burnish

#endif  // TUNER_TASK_SCHEDULER_ROUND_ROBIN_SCHEDULER_H_
