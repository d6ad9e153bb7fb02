#include "tuner/task_scheduler/task_gain.h"

#include <algorithm>
#include <cmath>

namespace burnish {
namespace {

// Equal parts: nothing was measured (TVM's auto_scheduler weighs what lies behind 0.2). A part for
// the past keeps a task that still improves; a part for the guess brings back one that a lucky
// first trial left without a slope.
// Weight of the window behind against the optimistic guess.
constexpr double kBackwardWeight = 0.5;

// 0: not known, or disproved.
int64_t BoundThatHolds(const TaskProgress& task, double share_of_bound) {
  return share_of_bound > 1 ? 0 : task.bound_ns;
}

}  // namespace

int64_t TrialsWithoutGain(const TaskProgress& task, double noise_floor) {
  // Goes back to the last trial before which the task was slower than now by more than the floor.
  // Against today's level, not step by step: ten gains of 0.2 % are a gain of 2 %, though each is
  // under the floor; and one lucky gain of 0.5 % is not.
  const double level = static_cast<double>(task.latency_ns()) * (1 + noise_floor);
  int64_t trials = 0;
  for (int64_t i = task.trial_count() - 1; i >= 0; --i) {
    const int64_t before = i == 0 ? task.start_ns : task.best_ns[i - 1];
    // The first latency at all is a gain.
    if ((before == 0 && task.best_ns[i] != 0) || static_cast<double>(before) > level) break;
    ++trials;
  }
  return trials;
}

double BestShareOfBound(absl::Span<const TaskProgress> tasks) {
  double best = 0;
  for (const TaskProgress& task : tasks) {
    // A task without a bound, or that does not run, shows nothing to the others.
    if (task.bound_ns <= 0 || task.latency_ns() <= 0) continue;
    best =
        std::max(best, static_cast<double>(task.bound_ns) / static_cast<double>(task.latency_ns()));
  }
  return best == 0 ? 1 : best;
}

double PredictedGainNs(const TaskProgress& task, double share_of_bound,
                       const TaskSchedulerOptions& options) {
  const double now = static_cast<double>(task.latency_ns());
  const double window = options.window_trials;
  const double trials = static_cast<double>(task.trial_count());

  double backward = 0;
  if (trials > 0) {
    const int64_t from = std::max<int64_t>(0, task.trial_count() - options.window_trials);
    const int64_t before = from == 0 ? task.start_ns : task.best_ns[from - 1];
    if (before > 0)
      // Scaled up from the trials that there were: a gain in the first four of 64 is a slope, not a
      // sixteenth of one.
      backward = (static_cast<double>(before) - now) * window / std::min(trials, window);
  }

  // As many trials again may bring at most what all that were idle so far did not.
  const double idle = static_cast<double>(TrialsWithoutGain(task, options.noise_floor));
  // Falls as 1/idle, like Ansor's guess that the slope continues as g/t, and never to nothing: a
  // task that has been idle long may be picked again once all others have been idle for longer.
  double optimistic = options.first_gain * now * window / (window + 2 * idle);
  const auto bound = static_cast<double>(BoundThatHolds(task, share_of_bound));
  if (bound > 0) {
    // What the best task has reached is nobody's end, its own neither: half of what is left between
    // that and the bound, in logs. Where one task has a bound and its share is the best therefore,
    // all trials would else go to those without.
    const double reachable = bound / std::sqrt(share_of_bound);
    optimistic = std::min(optimistic, std::max(0.0, now - reachable));
  }
  const double gain = kBackwardWeight * backward + (1 - kBackwardWeight) * optimistic;
  // Nothing gets faster than its bound, whatever the window behind promises.
  return std::clamp(gain, 0.0, std::max(0.0, now - bound));
}

bool HasStopped(const TaskProgress& task, double share_of_bound, double total_ns,
                const TaskSchedulerOptions& options) {
  if (task.exhausted) return true;
  // Candidates in flight count: a farm that measures 64 at once would else run as many over.
  const int64_t idle = TrialsWithoutGain(task, options.noise_floor) + task.pending_count;
  if (options.early_stopping_trials > 0 && idle >= options.early_stopping_trials) return true;
  // From here on in the order of certainty: at the bound there is nothing to gain in fact; a
  // prediction is only a prediction, and a user who named a number of trials is not stopped by one.
  if (task.latency_ns() == 0) return false;  // Nothing runs yet: keep looking.
  const double now = static_cast<double>(task.latency_ns());
  const auto bound = static_cast<double>(BoundThatHolds(task, share_of_bound));
  if (now <= bound * (1 + options.noise_floor)) return true;
  if (!options.stop_without_gain) return false;
  // Two looks before a prediction is believed.
  // One window may be unlucky, or all of it the seeds. 128 trials are about 15 s on two cores at
  // the 8.8 trials a second of docs/performance.md.
  if (task.trial_count() < 2 * options.window_trials) return false;
  const double gain = PredictedGainNs(task, share_of_bound, options);
  // A gain that no measurement could tell apart is none. The share compares with the whole model: a
  // task of 1 % of its time is not worth its last percent.
  return gain < options.noise_floor * now || gain * task.weight < options.gain_share_min * total_ns;
}

double TotalNs(absl::Span<const TaskProgress> tasks) {
  double total = 0;
  for (const TaskProgress& task : tasks) {
    total += task.weight * static_cast<double>(task.latency_ns());
  }
  return total;
}

}  // namespace burnish
