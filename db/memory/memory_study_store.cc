#include "db/memory/memory_study_store.h"

#include <algorithm>
#include <tuple>

#include "base/status_macros.h"
#include "db/record_store.h"

namespace burnish {
namespace {

// A retried Create may find the study further on: only what was submitted must agree.
bool SameSubmission(const Study& a, const Study& b) {
  return std::tie(a.title, a.target, a.spec) == std::tie(b.title, b.target, b.spec);
}

}  // namespace

StudySummary MemoryStudyStore::Row::Summary() const {
  return {.study = study,
          .task_count = static_cast<int32_t>(tasks.size()),
          .log_length = static_cast<int64_t>(log.size()),
          .open_job_count = static_cast<int64_t>(jobs.size()),
          .lease = lease,
          .crash_count = crash_count};
}

absl::StatusOr<MemoryStudyStore::Row*> MemoryStudyStore::Find(absl::string_view id) {
  const auto found = rows_.find(std::string(id));
  if (found == rows_.end()) return StudyNotFound(id);
  return &found->second;
}

absl::StatusOr<const MemoryStudyStore::Row*> MemoryStudyStore::Find(absl::string_view id) const {
  const auto found = rows_.find(std::string(id));
  if (found == rows_.end()) return StudyNotFound(id);
  return &found->second;
}

absl::Status MemoryStudyStore::Create(const Study& study, absl::Span<const StudyTask> tasks) {
  RETURN_IF_ERROR(ValidateStudy(study, tasks));
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = rows_.emplace(study.id, Row());
  Row& row = found->second;
  if (is_new) {
    row.study = study;
    row.tasks.assign(tasks.begin(), tasks.end());
    return absl::OkStatus();
  }
  const bool same = SameSubmission(row.study, study) && absl::MakeConstSpan(row.tasks) == tasks;
  return same ? absl::OkStatus() : StudyExists(study.id);
}

absl::StatusOr<StudySummary> MemoryStudyStore::Get(absl::string_view id) const {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const Row* row, Find(id));
  return row->Summary();
}

absl::StatusOr<std::vector<StudyTask>> MemoryStudyStore::Tasks(absl::string_view id) const {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const Row* row, Find(id));
  return row->tasks;
}

absl::StatusOr<std::vector<StudySummary>> MemoryStudyStore::List(const StudyQuery& query) const {
  RETURN_IF_ERROR(ValidateLimit(query.limit));
  const std::lock_guard lock(mutex_);
  std::vector<const Row*> rows;
  for (const auto& [id, row] : rows_) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) {
    return std::tie(b->study.created_ns, b->study.id) < std::tie(a->study.created_ns, a->study.id);
  });
  auto begin = rows.begin();
  if (!query.after_id.empty()) {
    ASSIGN_OR_RETURN(const Row* after, Find(query.after_id));
    begin = std::find(rows.begin(), rows.end(), after) + 1;
  }
  std::vector<StudySummary> summaries;
  for (; begin != rows.end() && summaries.size() < static_cast<size_t>(query.limit); ++begin) {
    if (query.state.has_value() && (*begin)->study.state != *query.state) continue;
    summaries.push_back((*begin)->Summary());
  }
  return summaries;
}

absl::Status MemoryStudyStore::SetState(absl::string_view id, StudyState state,
                                        absl::string_view detail, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(Row * row, Find(id));
  if (!CanFollow(row->study.state, state)) return StateCannotFollow(id, row->study.state, state);
  row->study.state = state;
  row->study.detail = std::string(detail);
  row->study.updated_ns = now_ns;
  return absl::OkStatus();
}

absl::Status MemoryStudyStore::TakeLease(absl::string_view id, const StudyLease& lease,
                                         int64_t now_ns, absl::string_view dead_owner) {
  RETURN_IF_ERROR(ValidateLease(lease));
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(Row * row, Find(id));
  if (!MayTakeLease(row->lease, lease, now_ns, dead_owner)) return LeaseHeld(id, row->lease.owner);
  row->lease = lease;
  return absl::OkStatus();
}

absl::Status MemoryStudyStore::ReleaseLease(absl::string_view id, absl::string_view owner) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(Row * row, Find(id));
  if (row->lease.owner == owner) row->lease = {};
  return absl::OkStatus();
}

absl::Status MemoryStudyStore::Requeue(absl::string_view id, absl::string_view spec,
                                       absl::string_view detail, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(Row * row, Find(id));
  if (!CanFollow(row->study.state, StudyState::kQueued)) {
    return StateCannotFollow(id, row->study.state, StudyState::kQueued);
  }
  row->study.spec = std::string(spec);
  row->study.state = StudyState::kQueued;
  row->study.detail = std::string(detail);
  row->study.updated_ns = now_ns;
  return absl::OkStatus();
}

absl::Status MemoryStudyStore::SetCrashCount(absl::string_view id, int32_t count) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(Row * row, Find(id));
  row->crash_count = count;
  return absl::OkStatus();
}

absl::Status MemoryStudyStore::AppendLog(absl::string_view id, int64_t first_sequence,
                                         absl::Span<const StudyLogEntry> entries) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(Row * row, Find(id));
  const int64_t length = static_cast<int64_t>(row->log.size());
  if (first_sequence < 0 || first_sequence > length) return LogGap(id, first_sequence, length);
  const size_t known = std::min<size_t>(entries.size(), length - first_sequence);
  for (size_t i = 0; i < known; ++i) {
    if (row->log[first_sequence + i] != entries[i]) return LogConflict(id, first_sequence + i);
  }
  row->log.insert(row->log.end(), entries.begin() + known, entries.end());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<StudyLogEntry>> MemoryStudyStore::ReadLog(absl::string_view id,
                                                                     int64_t first_sequence,
                                                                     int limit) const {
  RETURN_IF_ERROR(ValidateLimit(limit));
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const Row* row, Find(id));
  const int64_t length = static_cast<int64_t>(row->log.size());
  const int64_t begin = std::clamp<int64_t>(first_sequence, 0, length);
  const int64_t end = std::min<int64_t>(length, begin + limit);
  return std::vector<StudyLogEntry>(row->log.begin() + begin, row->log.begin() + end);
}

absl::Status MemoryStudyStore::PutJobs(absl::string_view id, absl::Span<const OpenJob> jobs) {
  for (const OpenJob& job : jobs) RETURN_IF_ERROR(ValidateJob(job));
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(Row * row, Find(id));
  for (const OpenJob& job : jobs) row->jobs[job.job_id] = job;
  return absl::OkStatus();
}

absl::Status MemoryStudyStore::RemoveJobs(absl::string_view id,
                                          absl::Span<const std::string> job_ids) {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(Row * row, Find(id));
  for (const std::string& job_id : job_ids) row->jobs.erase(job_id);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<OpenJob>> MemoryStudyStore::OpenJobs(absl::string_view id) const {
  const std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(const Row* row, Find(id));
  std::vector<OpenJob> jobs;
  for (const auto& [job_id, job] : row->jobs) jobs.push_back(job);
  return jobs;
}

}  // namespace burnish
