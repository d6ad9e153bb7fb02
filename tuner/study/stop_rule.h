// When a study has had enough trials.
#ifndef TUNER_STUDY_STOP_RULE_H_
#define TUNER_STUDY_STOP_RULE_H_

#include <cstdint>

#include "absl/time/time.h"
#include "proto/study.h"
#include "tuner/study/study_types.h"

namespace burnish {

// Of a study whose number of trials was left open.
inline constexpr int64_t kTrialsUntilGainMax = 20'000;

// Trials that the study may have at all.
int64_t TrialBudget(const StudySpec& spec);

// Of the time of a study, for measuring the best few again inside the model.
inline constexpr double kRefineShare = 0.1;
// Fewer trials a task leave nothing to refine but noise.
inline constexpr int64_t kRefineTrialsPerTask = 8;

// Whether the best few are worth measuring inside the model, after a study without interruption.
// `step_count`: of the model; 0: not known.
bool ShouldRefine(const StudySpec& spec, int64_t trial_count, int task_count, int step_count);

struct StopState {
  int64_t begun_count = 0;  // Trials with a result and pending ones: what the budget has paid for.
  absl::Duration elapsed = absl::ZeroDuration();
  double predicted_gain = 1;  // Of the next window of trials, as a fraction of the whole.
  bool refines = false;       // Some of the time is for that.
};

// Why no further trial should begin, or kNone. The gain counts only where the number of trials was
// left open: a user who names a number gets it.
StopReason ShouldStop(const StudySpec& spec, const StopState& state);

}  // namespace burnish

#endif  // TUNER_STUDY_STOP_RULE_H_
