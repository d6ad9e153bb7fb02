// Gives a study that was submitted another budget of trials.
#ifndef TUNER_APP_EXTEND_STUDY_H_
#define TUNER_APP_EXTEND_STUDY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "db/open.h"
#include "proto/study.h"

namespace burnish {

// `trials`: "+100", so many beyond its budget, or beyond those that it has had where it is done or
// had no budget; "500", so many in all. From then on it ends by trials and by nothing else: not by
// --time, which may have ended it already, nor by --until-gain. The study waits for a resume then,
// also one that was done. Returns its specification. Errors: B0101 no such number, or not more than
// it has had; B0606; B05xx.
absl::StatusOr<StudySpec> ExtendStudy(const Database& database, const Clock& clock,
                                      const std::string& study_id, absl::string_view trials);

}  // namespace burnish

#endif  // TUNER_APP_EXTEND_STUDY_H_
