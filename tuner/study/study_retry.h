// Lifts what the farm has condemned: poisoned trials of a study get a second one each.
#ifndef TUNER_STUDY_STUDY_RETRY_H_
#define TUNER_STUDY_STUDY_RETRY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "db/record_store.h"
#include "db/study_store.h"

namespace burnish {

// For each trial of the study that is poisoned and was not lifted before: a new trial of the same
// candidate, open for the next run, and the old one counts for nothing any more. `only`: the id of
// the one trial that is meant, or empty. Returns how many. The study must not run: the caller has
// its claim. Errors: the stores', DATA_LOSS.
absl::StatusOr<int> LiftPoison(const RecordStore& records, StudyStore& studies,
                               const std::string& study_id, absl::string_view only);

}  // namespace burnish

#endif  // TUNER_STUDY_STUDY_RETRY_H_
