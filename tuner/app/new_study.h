// A study from what was prepared to a row that survives a crash.
#ifndef TUNER_APP_NEW_STUDY_H_
#define TUNER_APP_NEW_STUDY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "db/open.h"
#include "tuner/app/tuning.h"

namespace burnish {

// "20260131-120000-1f3a": sorts by age, and two submits in a second differ.
std::string NewStudyId(absl::Time now);

// Stores the study; its graph is not needed. `title`: for people. The study is durable when this
// returns its id. Errors: B05xx.
absl::StatusOr<std::string> StoreNewStudy(const Database& database, const Clock& clock,
                                          const Tuning& tuning, const std::string& title);

}  // namespace burnish

#endif  // TUNER_APP_NEW_STUDY_H_
