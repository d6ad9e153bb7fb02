// Has a study try again what its farm has condemned or given up.
#ifndef TUNER_APP_RETRY_STUDY_H_
#define TUNER_APP_RETRY_STUDY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "db/open.h"

namespace burnish {

struct RetriedStudy {
  std::string study_id;
  int lifted_count = 0;    // Poisoned candidates that are measured again.
  int64_t open_count = 0;  // With them, those that are parked or were open otherwise.
};

// The whole id of the study that `what` is of, as below: for who has to ask whose it is.
absl::StatusOr<std::string> FindRetried(const Database& database, absl::string_view what);

// `what`: a study's id or the beginning of it, "STUDY/t0/17" for one trial, or a candidate's id as
// 64 hexadecimal digits. The study waits for a resume then, also one that was done. Errors: B0601
// no such study, trial or candidate; B0602 nothing of it is poisoned or open; B0606; B05xx.
absl::StatusOr<RetriedStudy> RetryStudy(const Database& database, const Clock& clock,
                                        absl::string_view what);

}  // namespace burnish

#endif  // TUNER_APP_RETRY_STUDY_H_
