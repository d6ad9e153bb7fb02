#include "tuner/app/studies.h"

#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/app/database.h"
#include "tuner/app/error.h"
#include "tuner/study/study_claim.h"

namespace burnish {
namespace {

// The study will not go on by itself.
bool IsOver(StudyState state) {
  return IsTerminal(state) || state == StudyState::kInterrupted || state == StudyState::kParked;
}

}  // namespace

bool IsAbandoned(const StudySummary& summary, int64_t now_ns) {
  return summary.study.state == StudyState::kRunning && !IsHeld(summary.lease, now_ns);
}

void LocalStudies::SayIfAbandoned(StudySummary& summary) const {
  if (!IsAbandoned(summary, absl::ToUnixNanos(clock_->WallNow()))) return;
  const std::string& owner = summary.lease.owner;
  summary.study.detail =
      absl::StrCat(owner.empty() ? "no process runs it" : owner + " has ended or is not heard of",
                   "; `tuner resume ", summary.study.id, "` goes on with it");
}

absl::StatusOr<StudyView> LocalStudies::Load(const std::string& whole) const {
  ASSIGN_OR_RETURN(StudyView view,
                   LoadStudyView(*database_, whole, absl::ToUnixNanos(clock_->WallNow())));
  SayIfAbandoned(view.summary);
  return view;
}

absl::StatusOr<StudyView> LocalStudies::Get(const std::string& id) {
  if (!id.empty()) {
    ASSIGN_OR_RETURN(const std::string whole, ResolveStudyId(*database_, id));
    return Load(whole);
  }
  ASSIGN_OR_RETURN(const std::vector<StudySummary> newest, List({.limit = 1}));
  if (newest.empty()) {
    return MakeError(ErrorCode::kNoStudy, "there is no study yet", database_->url);
  }
  return Load(newest.front().study.id);
}

absl::StatusOr<std::vector<StudySummary>> LocalStudies::List(const StudyQuery& query) {
  absl::StatusOr<std::vector<StudySummary>> studies = database_->studies->List(query);
  RETURN_IF_ERROR(DatabaseError(studies.status(), database_->url));
  for (StudySummary& summary : *studies) SayIfAbandoned(summary);
  return studies;
}

absl::StatusOr<std::string> LocalStudies::Cancel(const std::string& id) {
  ASSIGN_OR_RETURN(std::string whole, ResolveStudyId(*database_, id));
  const absl::Status status = database_->studies->SetState(
      whole, StudyState::kCancelled, "by a user", absl::ToUnixNanos(clock_->WallNow()));
  if (absl::IsFailedPrecondition(status)) return WithError(status, ErrorCode::kStudyState, whole);
  RETURN_IF_ERROR(DatabaseError(status, database_->url));
  return whole;
}

absl::StatusOr<RetriedStudy> LocalStudies::Retry(const std::string& what) {
  return RetryStudy(*database_, *clock_, what);
}

absl::Status LocalStudies::Watch(const std::string& id, absl::Duration interval,
                                 const std::function<bool(const StudyView&)>& look) {
  ASSIGN_OR_RETURN(const std::string whole, ResolveStudyId(*database_, id));
  while (true) {
    ASSIGN_OR_RETURN(const StudyView view, Load(whole));
    if (!look(view) || IsOver(view.summary.study.state)) return absl::OkStatus();
    std::this_thread::sleep_for(absl::ToChronoNanoseconds(interval));
  }
}

}  // namespace burnish
