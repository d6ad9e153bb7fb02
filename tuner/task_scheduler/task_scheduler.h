// Which task of a study is measured next, and when none is worth it any more.
#ifndef TUNER_TASK_SCHEDULER_TASK_SCHEDULER_H_
#define TUNER_TASK_SCHEDULER_TASK_SCHEDULER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace burnish {

// How one task stands.
struct TaskProgress {
  double weight = 1;     // How often the model runs it; > 0.
  int64_t bound_ns = 0;  // Roofline: no schedule can be faster. 0: not known.
  int64_t start_ns = 0;  // What is there without a trial: candidate 0, history. 0: nothing.
  // Best latency after each trial, in the order of the results, start_ns included; 0: still nothing
  // that runs.
  std::vector<int64_t> best_ns = {};
  int64_t pending_count = 0;  // Suggested, no result yet.
  bool exhausted = false;     // The search has no more candidates.

  int64_t latency_ns() const { return best_ns.empty() ? start_ns : best_ns.back(); }
  int64_t trial_count() const { return static_cast<int64_t>(best_ns.size()); }
};

struct TaskSchedulerOptions {
  // Trials over which a gain is looked for, back and ahead.
  int window_trials = 64;
  // Smallest difference of two latencies that a measurement can tell, as a fraction.
  double noise_floor = 0.01;
  // False: a task without gain goes on, as long as it is not at its bound.
  bool stop_without_gain = true;
  // A task whose predicted gain over the next window is under this share of the whole study's
  // latency stops; 0: only at its bound, at the noise floor, or when it is exhausted.
  double gain_share_min = 0;
  // Trials of a task without gain after which it stops; 0: never.
  int early_stopping_trials = 0;
  // Without any trial that improved, a task's first guess of what tuning may bring, as a fraction.
  double first_gain = 0.3;
};

// Pure: everything is in the arguments.
class TaskScheduler {
 public:
  virtual ~TaskScheduler() = default;

  // Index of the task that the next batch should be of; nullopt: no task is worth one. A task that
  // waits for its first results is not picked again before the others had their turn.
  virtual std::optional<int> Pick(absl::Span<const TaskProgress> tasks) const = 0;

  // Predicted gain of the next window of trials on each task that may still be picked, as a
  // fraction of the whole latency; 0: every task has stopped.
  virtual double PredictedGain(absl::Span<const TaskProgress> tasks) const = 0;
};

// The names that MakeTaskScheduler knows, sorted.
std::vector<std::string> TaskSchedulerNames();

// INVALID_ARGUMENT: an unknown name; the message lists the known ones.
absl::StatusOr<std::unique_ptr<TaskScheduler>> MakeTaskScheduler(
    absl::string_view name, const TaskSchedulerOptions& options);

}  // namespace burnish

#endif  // TUNER_TASK_SCHEDULER_TASK_SCHEDULER_H_
