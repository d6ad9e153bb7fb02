// What further trials of a task may bring, from its history and its bound.
#ifndef TUNER_TASK_SCHEDULER_TASK_GAIN_H_
#define TUNER_TASK_SCHEDULER_TASK_GAIN_H_

#include <cstdint>

#include "absl/types/span.h"
#include "tuner/task_scheduler/task_scheduler.h"

namespace burnish {

// Trials since the last one that improved on the task's best by more than the noise floor. An
// improvement under the floor does not count, but several that sum up to it do.
int64_t TrialsWithoutGain(const TaskProgress& task, double noise_floor);

// Best share of its bound that any task has reached, > 0: what the others may hope for. 1 where no
// task's bound is known. Above 1 the peak behind the bounds is disproved, as one that was measured
// in a slow minute: then no bound holds. Source: Ansor, section 6.2, the similarity term.
double BestShareOfBound(absl::Span<const TaskProgress> tasks);

// Nanoseconds of one call that `options.window_trials` further trials may save, >= 0. The mean of
// what the window behind brought and of an optimistic guess, which falls as trials bring nothing;
// never more than what is left above a bound that holds. Source: Ansor, section 6.2, equation 1.
// `share_of_bound`: of BestShareOfBound.
double PredictedGainNs(const TaskProgress& task, double share_of_bound,
                       const TaskSchedulerOptions& options);

// Whether the task has stopped: exhausted, at a bound that holds, without gain for too long, or
// with less than the noise floor to hope for. `total_ns`: of all tasks, weighted.
bool HasStopped(const TaskProgress& task, double share_of_bound, double total_ns,
                const TaskSchedulerOptions& options);

// Sum of weight times latency over all tasks that have one.
double TotalNs(absl::Span<const TaskProgress> tasks);

}  // namespace burnish

#endif  // TUNER_TASK_SCHEDULER_TASK_GAIN_H_
