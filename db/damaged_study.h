// What is said of a study whose rows cannot be read.
#ifndef DB_DAMAGED_STUDY_H_
#define DB_DAMAGED_STUDY_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace burnish {

// DATA_LOSS with, as its hint, the command that goes on without the study: nothing of it can be
// left out, and its records stay.
absl::Status DamagedStudy(absl::string_view study_id, absl::string_view what);

// `status`, or what DamagedStudy makes of it where it is a DATA_LOSS without a hint.
absl::Status WithDamagedStudy(absl::string_view study_id, const absl::Status& status);

}  // namespace burnish

#endif  // DB_DAMAGED_STUDY_H_
