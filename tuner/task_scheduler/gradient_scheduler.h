// Gives trials to the task that they shorten the whole study's latency most for.
// Source: Zheng et al., "Ansor", OSDI 2020, section 6.
#ifndef TUNER_TASK_SCHEDULER_GRADIENT_SCHEDULER_H_
#define TUNER_TASK_SCHEDULER_GRADIENT_SCHEDULER_H_

#include "tuner/task_scheduler/task_scheduler.h"

namespace burnish {

// Every task gets a first batch, the heaviest first; then the steepest: weight times gain a trial,
// where what is pending counts as if it had brought its share.
class GradientScheduler : public TaskScheduler {
 public:
  explicit GradientScheduler(const TaskSchedulerOptions& options) : options_(options) {}

  std::optional<int> Pick(absl::Span<const TaskProgress> tasks) const override;
  double PredictedGain(absl::Span<const TaskProgress> tasks) const override;

 private:
  const TaskSchedulerOptions options_;
};

}  // namespace burnish

#endif  // TUNER_TASK_SCHEDULER_GRADIENT_SCHEDULER_H_
