#include "tuner/app/retry_study.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"
#include "tuner/app/study_view.h"
#include "tuner/app/take_claim.h"
#include "tuner/study/study_retry.h"

namespace burnish {
namespace {

struct Meant {
  std::string study;
  std::string trial;  // Empty: all of the study.
};

absl::StatusOr<Meant> Resolve(const Database& database, absl::string_view what) {
  std::string trial(what);
  if (what.size() == 64 && std::all_of(what.begin(), what.end(), absl::ascii_isxdigit)) {
    const absl::StatusOr<std::vector<Record>> records =
        database.records->FindCandidate(absl::HexStringToBytes(what));
    RETURN_IF_ERROR(DatabaseError(records.status(), database.url));
    if (records->empty()) {
      return MakeError(ErrorCode::kNoStudy, "no such candidate", std::string(what));
    }
    trial = records->front().first_trial_id;
  }
  if (!absl::StrContains(trial, "/")) {
    ASSIGN_OR_RETURN(const std::string id, ResolveStudyId(database, what));
    return Meant{.study = id};
  }
  const std::pair<std::string, std::string> parts = absl::StrSplit(trial, absl::MaxSplits('/', 1));
  ASSIGN_OR_RETURN(const std::string id, ResolveStudyId(database, parts.first));
  return Meant{.study = id, .trial = absl::StrCat(id, "/", parts.second)};
}

}  // namespace

absl::StatusOr<std::string> FindRetried(const Database& database, absl::string_view what) {
  ASSIGN_OR_RETURN(const Meant meant, Resolve(database, what));
  return meant.study;
}

absl::StatusOr<RetriedStudy> RetryStudy(const Database& database, const Clock& clock,
                                        absl::string_view what) {
  ASSIGN_OR_RETURN(const Meant meant, Resolve(database, what));
  ASSIGN_OR_RETURN(const std::unique_ptr<StudyClaim> claim,
                   TakeClaim(database, clock, meant.study));
  const absl::StatusOr<int> lifted =
      LiftPoison(*database.records, *database.studies, meant.study, meant.trial);
  RETURN_IF_ERROR(DatabaseError(lifted.status(), database.url));
  const absl::StatusOr<StudySummary> summary = database.studies->Get(meant.study);
  RETURN_IF_ERROR(DatabaseError(summary.status(), database.url));
  const int64_t open = summary->open_job_count;
  if (*lifted == 0 && (open == 0 || !meant.trial.empty())) {
    return MakeError(ErrorCode::kStudyState, "nothing of it is poisoned or parked",
                     std::string(what), "tuner status STUDY shows what failed, and how");
  }
  const absl::Status state = database.studies->SetState(
      meant.study, StudyState::kQueued,
      absl::StrCat(open, " candidates are tried again by `tuner resume ", meant.study, "`"),
      absl::ToUnixNanos(clock.WallNow()));
  RETURN_IF_ERROR(DatabaseError(state, database.url));
  return RetriedStudy{.study_id = meant.study, .lifted_count = *lifted, .open_count = open};
}

}  // namespace burnish
