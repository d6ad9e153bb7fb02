// From a study's log back to the state of its searches.
#ifndef TUNER_STUDY_STUDY_REPLAY_H_
#define TUNER_STUDY_STUDY_REPLAY_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tuner/study/study_storage.h"
#include "tuner/study/task_search.h"

namespace burnish {

// What the event did to its task, but for training: kSnapshot is the caller's to follow, since only
// the last one counts. DATA_LOSS: the log names a result that is not stored.
absl::Status ReplayEvent(const StudyStorage& storage, const StudyEvent& event,
                         absl::Span<const std::unique_ptr<TaskSearch>> tasks);

}  // namespace burnish

#endif  // TUNER_STUDY_STUDY_REPLAY_H_
