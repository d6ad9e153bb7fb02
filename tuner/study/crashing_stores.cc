#include "tuner/study/crashing_stores.h"

#include <utility>

namespace burnish {
namespace {

absl::Status Dead() { return absl::AbortedError("the process has died"); }

// `call` if the process lives.
template <typename Call>
auto Read(const CrashPoint& crash, Call call) -> decltype(call()) {
  if (crash.dead) return Dead();
  return call();
}

template <typename Call>
auto Write(CrashPoint& crash, Call call) -> decltype(call()) {
  const bool applies = crash.Write();
  if (!applies) return Dead();
  auto result = call();
  if (crash.dead) return Dead();
  return result;
}

// Likewise, to the disk.
template <typename Call>
auto Store(CrashPoint& crash, Call call) -> decltype(call()) {
  if (!crash.dead && !crash.refusal.ok()) return crash.refusal;
  return Write(crash, call);
}

}  // namespace

bool CrashPoint::Write() {
  if (dead) return false;
  if (writes_left-- > 0) return true;
  dead = true;
  if (on_death != nullptr) on_death();
  return last_applies;
}

absl::StatusOr<std::vector<AppendOutcome>> CrashingRecordStore::AppendBatch(
    absl::Span<const MeasurementEntry> entries) {
  return Store(*crash_, [&] { return store_->AppendBatch(entries); });
}
absl::StatusOr<BestAnswer> CrashingRecordStore::Best(const BestQuery& query) const {
  return Read(*crash_, [&] { return store_->Best(query); });
}
absl::StatusOr<std::vector<Record>> CrashingRecordStore::FindCandidate(absl::string_view id) const {
  return Read(*crash_, [&] { return store_->FindCandidate(id); });
}
absl::StatusOr<std::vector<Record>> CrashingRecordStore::Scan(const RecordQuery& query) const {
  return Read(*crash_, [&] { return store_->Scan(query); });
}
absl::StatusOr<EntryPage> CrashingRecordStore::ScanEntries(const EntryQuery& query) const {
  return Read(*crash_, [&] { return store_->ScanEntries(query); });
}
absl::StatusOr<TrialCounts> CrashingRecordStore::CountTrials(absl::string_view study_id) const {
  return Read(*crash_, [&] { return store_->CountTrials(study_id); });
}
absl::StatusOr<std::optional<Workload>> CrashingRecordStore::FindWorkload(
    absl::string_view id) const {
  return Read(*crash_, [&] { return store_->FindWorkload(id); });
}
absl::StatusOr<std::vector<TaskKey>> CrashingRecordStore::ListTasks() const {
  return Read(*crash_, [&] { return store_->ListTasks(); });
}

absl::Status CrashingStudyStore::Create(const Study& study, absl::Span<const StudyTask> tasks) {
  return Store(*crash_, [&] { return store_->Create(study, tasks); });
}
absl::StatusOr<StudySummary> CrashingStudyStore::Get(absl::string_view id) const {
  return Read(*crash_, [&] { return store_->Get(id); });
}
absl::StatusOr<std::vector<StudyTask>> CrashingStudyStore::Tasks(absl::string_view id) const {
  return Read(*crash_, [&] { return store_->Tasks(id); });
}
absl::StatusOr<std::vector<StudySummary>> CrashingStudyStore::List(const StudyQuery& query) const {
  return Read(*crash_, [&] { return store_->List(query); });
}
absl::Status CrashingStudyStore::SetState(absl::string_view id, StudyState state,
                                          absl::string_view detail, int64_t now_ns) {
  return Store(*crash_, [&] { return store_->SetState(id, state, detail, now_ns); });
}
absl::Status CrashingStudyStore::Requeue(absl::string_view id, absl::string_view spec,
                                         absl::string_view detail, int64_t now_ns) {
  return Write(*crash_, [&] { return store_->Requeue(id, spec, detail, now_ns); });
}
absl::Status CrashingStudyStore::TakeLease(absl::string_view id, const StudyLease& lease,
                                           int64_t now_ns, absl::string_view dead_owner) {
  return Write(*crash_, [&] { return store_->TakeLease(id, lease, now_ns, dead_owner); });
}
absl::Status CrashingStudyStore::ReleaseLease(absl::string_view id, absl::string_view owner) {
  return Write(*crash_, [&] { return store_->ReleaseLease(id, owner); });
}
absl::Status CrashingStudyStore::SetCrashCount(absl::string_view id, int32_t count) {
  return Write(*crash_, [&] { return store_->SetCrashCount(id, count); });
}
absl::Status CrashingStudyStore::AppendLog(absl::string_view id, int64_t first_sequence,
                                           absl::Span<const StudyLogEntry> entries) {
  return Store(*crash_, [&] { return store_->AppendLog(id, first_sequence, entries); });
}
absl::StatusOr<std::vector<StudyLogEntry>> CrashingStudyStore::ReadLog(absl::string_view id,
                                                                       int64_t first_sequence,
                                                                       int limit) const {
  return Read(*crash_, [&] { return store_->ReadLog(id, first_sequence, limit); });
}
absl::Status CrashingStudyStore::PutJobs(absl::string_view id, absl::Span<const OpenJob> jobs) {
  return Store(*crash_, [&] { return store_->PutJobs(id, jobs); });
}
absl::Status CrashingStudyStore::RemoveJobs(absl::string_view id,
                                            absl::Span<const std::string> job_ids) {
  return Store(*crash_, [&] { return store_->RemoveJobs(id, job_ids); });
}
absl::StatusOr<std::vector<OpenJob>> CrashingStudyStore::OpenJobs(absl::string_view id) const {
  return Read(*crash_, [&] { return store_->OpenJobs(id); });
}

absl::Status CrashingMeasurer::Submit(std::vector<MeasureRequest> requests) {
  return Write(*crash_, [&] { return measurer_->Submit(std::move(requests)); });
}
std::vector<MeasureResult> CrashingMeasurer::Collect(absl::Duration timeout) {
  if (crash_->dead) return {};
  return measurer_->Collect(timeout);
}
void CrashingMeasurer::Acknowledge(absl::Span<const std::string> trial_ids) {
  if (crash_->Write()) measurer_->Acknowledge(trial_ids);
}
absl::Status CrashingMeasurer::Cancel(absl::Span<const std::string> trial_ids) {
  return Write(*crash_, [&] { return measurer_->Cancel(trial_ids); });
}

}  // namespace burnish
