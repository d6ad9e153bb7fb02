#include "tuner/task_scheduler/gradient_scheduler.h"

#include "tuner/task_scheduler/task_gain.h"

namespace burnish {

std::optional<int> GradientScheduler::Pick(absl::Span<const TaskProgress> tasks) const {
  const double share = BestShareOfBound(tasks);
  const double total_ns = TotalNs(tasks);
  std::optional<int> picked;
  bool picked_is_new = false;
  double picked_slope = 0;
  for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
    const TaskProgress& task = tasks[i];
    if (HasStopped(task, share, total_ns, options_)) continue;
    // A task without a trial has a guess in place of a slope. All of them get their first batch
    // before guesses and slopes are compared, as in Ansor's warm-up round.
    const bool is_new = task.trial_count() + task.pending_count == 0;
    const double window = options_.window_trials;
    double slope = 0;
    if (task.latency_ns() == 0) {
      // Nothing runs: as heavy as the whole of the others, until some trial does run.
      slope = (total_ns > 0 ? total_ns : 1) * task.weight;
    } else {
      slope = task.weight * PredictedGainNs(task, share, options_);
    }
    // Results come late: without this the steepest task would be picked for every batch until its
    // first result is back, and a farm of 64 places would fill with one task.
    slope *= window / (window + static_cast<double>(task.pending_count));
    // Of equals the first: the pick is a function of the arguments, as a replay needs.
    if (!picked.has_value() || (is_new && !picked_is_new) ||
        (is_new == picked_is_new && slope > picked_slope)) {
      picked = i;
      picked_is_new = is_new;
      picked_slope = slope;
    }
  }
  return picked;
}

double GradientScheduler::PredictedGain(absl::Span<const TaskProgress> tasks) const {
  const double share = BestShareOfBound(tasks);
  const double total_ns = TotalNs(tasks);
  double gain_ns = 0;
  for (const TaskProgress& task : tasks) {
    if (HasStopped(task, share, total_ns, options_)) continue;
    if (task.latency_ns() == 0) return 1;  // Something does not run at all: everything is to gain.
    // An upper estimate: as if each task got a whole window of its own.
    gain_ns += task.weight * PredictedGainNs(task, share, options_);
  }
  return total_ns > 0 ? gain_ns / total_ns : 0;
}

}  // namespace burnish
