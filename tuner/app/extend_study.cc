#include "tuner/app/extend_study.h"

#include <cstdint>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "proto/study.pb.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"
#include "tuner/app/study_spec.h"
#include "tuner/app/study_view.h"
#include "tuner/app/take_claim.h"
#include "tuner/study/search_preset.h"

namespace burnish {
namespace {

absl::Status Refuse(absl::string_view why, absl::string_view trials) {
  return MakeError(ErrorCode::kUsage, why, absl::StrCat("`trials` ", trials),
                   "`trials` +100 for a hundred more, `trials` 500 for so many in all");
}

// The budget in all; 0: `trials` is no such number. `had`: trials of the study so far.
int64_t BudgetOf(absl::string_view trials, const StudySummary& summary, const StudySpec& spec,
                 int64_t had) {
  const bool more = absl::ConsumePrefix(&trials, "+");
  int64_t count = 0;
  // SimpleAtoi takes signs and blanks.
  if (trials.empty() || trials.find_first_not_of("0123456789") != trials.npos) return 0;
  if (!absl::SimpleAtoi(trials, &count) || count > kStudyTrialsMax) return 0;
  if (!more) return count;
  const bool begins_anew =
      summary.study.state == StudyState::kDone || spec.trials_max == StudySpec::kTrialsUntilGain;
  return count == 0 ? 0 : count + (begins_anew ? had : spec.trials_max);
}

}  // namespace

absl::StatusOr<StudySpec> ExtendStudy(const Database& database, const Clock& clock,
                                      const std::string& study_id, absl::string_view trials) {
  // Nobody runs it with the old budget meanwhile.
  ASSIGN_OR_RETURN(const std::unique_ptr<StudyClaim> claim, TakeClaim(database, clock, study_id));
  const absl::StatusOr<StudySummary> summary = database.studies->Get(study_id);
  RETURN_IF_ERROR(DatabaseError(summary.status(), database.url));
  ASSIGN_OR_RETURN(StudySpec spec, ParseStudySpec(summary->study));
  const absl::StatusOr<TrialCounts> counts = database.records->CountTrials(study_id);
  RETURN_IF_ERROR(DatabaseError(counts.status(), database.url));
  const absl::StatusOr<SearchPreset> preset = FindSearchPreset(spec.scheduler);
  if (preset.ok() && !preset->tunes) {
    return Refuse(absl::StrCat("`scheduler` ", spec.scheduler, " has no trials"), trials);
  }
  const int64_t budget = BudgetOf(trials, *summary, spec, counts->trial_count);
  if (budget <= 0 || budget > kStudyTrialsMax) return Refuse("no number of trials", trials);
  if (budget <= counts->trial_count) {
    return Refuse(absl::StrCat("the study has had ", counts->trial_count, " trials"), trials);
  }
  spec.trials_max = budget;
  spec.time_max_ns = 0;
  const absl::Status stored = database.studies->Requeue(
      study_id, ToProto(spec).SerializeAsString(), absl::StrCat("goes on to ", budget, " trials"),
      absl::ToUnixNanos(clock.WallNow()));
  RETURN_IF_ERROR(DatabaseError(stored, database.url));
  return spec;
}

}  // namespace burnish
