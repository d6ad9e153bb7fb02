#include "tuner/app/take_claim.h"

#include "base/status_macros.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"

namespace burnish {

absl::StatusOr<std::unique_ptr<StudyClaim>> TakeClaim(const Database& database, const Clock& clock,
                                                      const std::string& study_id) {
  absl::StatusOr<std::unique_ptr<StudyClaim>> claim =
      StudyClaim::Take({.studies = database.studies.get(), .clock = &clock, .study_id = study_id});
  if (absl::IsFailedPrecondition(claim.status())) {
    return WithError(claim.status(), ErrorCode::kStudyOwned, study_id);
  }
  RETURN_IF_ERROR(DatabaseError(claim.status(), database.url));
  return claim;
}

}  // namespace burnish
