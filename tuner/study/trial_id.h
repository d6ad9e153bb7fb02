// The names of trials: "STUDY/t3/17" is trial 17 of task 3, "STUDY/t3/ref" the task's candidate 0.
// Stores, measurers and the study's log know the text and never look into it; what is to be counted
// or ordered goes by the number.
#ifndef TUNER_STUDY_TRIAL_ID_H_
#define TUNER_STUDY_TRIAL_ID_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace burnish {

// Of candidate 0; trials count from 0.
inline constexpr int64_t kReferenceNumber = -1;

std::string TrialIdOf(absl::string_view study_id, int task_index, int64_t number);

// The number in the id of a trial of this task, from a stored log. DATA_LOSS: it is none.
absl::StatusOr<int64_t> ParseTrialNumber(absl::string_view study_id, int task_index,
                                         absl::string_view trial_id);

}  // namespace burnish

#endif  // TUNER_STUDY_TRIAL_ID_H_
