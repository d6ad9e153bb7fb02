#include "tuner/service/stop_rule.h"

namespace burnish {

int64_t TrialBudget(const StudySpec& spec) {
  return spec.trials_max == StudySpec::kTrialsUntilGain ? kTrialsUntilGainMax : spec.trials_max;
}

StopReason ShouldStop(const StudySpec& spec, const StopState& state) {
  if (state.begun_count >= TrialBudget(spec)) return StopReason::kTrials;
  if (spec.time_max_ns > 0 && state.elapsed >= absl::Nanoseconds(spec.time_max_ns)) {
    return StopReason::kTime;
  }
  if (spec.trials_max == StudySpec::kTrialsUntilGain && state.predicted_gain < spec.gain_min) {
    return StopReason::kGain;
  }
  return StopReason::kNone;
}

}  // namespace burnish
