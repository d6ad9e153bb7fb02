#include "tuner/study/stop_rule.h"

namespace burnish {

int64_t TrialBudget(const StudySpec& spec) {
  return spec.trials_max == StudySpec::kTrialsUntilGain ? kTrialsUntilGainMax : spec.trials_max;
}

bool ShouldRefine(const StudySpec& spec, int64_t trial_count, int task_count, int step_count) {
  return !spec.no_refine && task_count >= 2 && step_count >= task_count &&
         trial_count >= kRefineTrialsPerTask * task_count;
}

StopReason ShouldStop(const StudySpec& spec, const StopState& state) {
  if (state.begun_count >= TrialBudget(spec)) return StopReason::kTrials;
  const double share = state.refines ? 1 / (1 + kRefineShare) : 1;
  if (spec.time_max_ns > 0 && state.elapsed >= share * absl::Nanoseconds(spec.time_max_ns)) {
    return StopReason::kTime;
  }
  if (spec.trials_max == StudySpec::kTrialsUntilGain && state.predicted_gain < spec.gain_min) {
    return StopReason::kGain;
  }
  return StopReason::kNone;
}

}  // namespace burnish
