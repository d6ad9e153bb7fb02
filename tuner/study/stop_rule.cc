#include "tuner/study/stop_rule.h"

namespace burnish {

int64_t TrialBudget(const StudySpec& spec) {
  return spec.trials_max == StudySpec::kTrialsUntilGain ? kTrialsUntilGainMax : spec.trials_max;
}

bool ShouldRefine(const StudySpec& spec, int64_t trial_count, int task_count, int step_count) {
  // One task alone has no neighbours, and a model whose order is not known (a single operator) has
  // no passes. With few trials the best few of a task are those that were tried first.
  return !spec.no_refine && task_count >= 2 && step_count >= task_count &&
         trial_count >= kRefineTrialsPerTask * task_count;
}

StopReason ShouldStop(const StudySpec& spec, const StopState& state) {
  if (state.begun_count >= TrialBudget(spec)) return StopReason::kTrials;
  // --time is for trials and refine together: refine takes a share of what the trials took, so that
  // the trials end at T / (1 + share).
  const double share = state.refines ? 1 / (1 + kRefineShare) : 1;
  // The budget is asked first: a study that ends by both has done what it was asked to do.
  if (spec.time_max_ns > 0 && state.elapsed >= share * absl::Nanoseconds(spec.time_max_ns)) {
    return StopReason::kTime;
  }
  // A prediction ends only a study that asked for one. A user who names 500 trials gets 500.
  if (spec.trials_max == StudySpec::kTrialsUntilGain && state.predicted_gain < spec.gain_min) {
    return StopReason::kGain;
  }
  return StopReason::kNone;
}

}  // namespace burnish
