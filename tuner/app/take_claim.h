// A claim on a study, for a command or a run that changes it.
#ifndef TUNER_APP_TAKE_CLAIM_H_
#define TUNER_APP_TAKE_CLAIM_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "db/open.h"
#include "tuner/study/study_claim.h"

namespace burnish {

// StudyClaim::Take for this process. Errors: B0606 another process runs it, B0601, B05xx.
absl::StatusOr<std::unique_ptr<StudyClaim>> TakeClaim(const Database& database, const Clock& clock,
                                                      const std::string& study_id);

}  // namespace burnish

#endif  // TUNER_APP_TAKE_CLAIM_H_
