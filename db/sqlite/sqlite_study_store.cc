#include "db/sqlite/sqlite_study_store.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "db/damaged_study.h"
#include "db/record_store.h"
#include "proto/study.pb.h"

namespace burnish {
namespace {

constexpr size_t kHashBytes = 32;

// Counts in queries of their own: joined to the study, tasks, log and jobs would multiply each
// other. The log's length is its last number and one, which the key's end gives without a count.
constexpr char kSelectSummary[] = R"sql(
SELECT s.id, s.title, s.target, s.state, s.spec, s.detail, s.created_ns, s.updated_ns,
  (SELECT COUNT(*) FROM study_task WHERE study = s.id),
  (SELECT COALESCE(MAX(sequence) + 1, 0) FROM study_log WHERE study = s.id),
  (SELECT COUNT(*) FROM open_job WHERE study = s.id),
  s.lease_owner, s.lease_expires_ns, s.crash_count
FROM study s)sql";

absl::StatusOr<StudySummary> SummaryAt(const SqliteQuery& row) {
  const int64_t state = row.IntAt(3);
  if (state < 1 || state > kStudyStateCount) {
    return DamagedStudy(row.BytesAt(0), "its state is none");
  }
  return StudySummary{.study = {.id = row.BytesAt(0),
                                .title = row.BytesAt(1),
                                .target = row.BytesAt(2),
                                .state = static_cast<StudyState>(row.IntAt(3)),
                                .spec = row.BytesAt(4),
                                .detail = row.BytesAt(5),
                                .created_ns = row.IntAt(6),
                                .updated_ns = row.IntAt(7)},
                      .task_count = static_cast<int32_t>(row.IntAt(8)),
                      .log_length = row.IntAt(9),
                      .open_job_count = row.IntAt(10),
                      .lease = {.owner = row.BytesAt(11), .expires_ns = row.IntAt(12)},
                      .crash_count = static_cast<int32_t>(row.IntAt(13))};
}

// NOT_FOUND where there is no such study.
absl::StatusOr<StudySummary> Find(SqliteConnection& connection, absl::string_view id) {
  ASSIGN_OR_RETURN(SqliteQuery row,
                   connection.Query(absl::StrCat(kSelectSummary, " WHERE s.id=?")));
  ASSIGN_OR_RETURN(const bool found, row.Text(id).Step());
  if (!found) return StudyNotFound(id);
  return SummaryAt(row);
}

absl::Status CheckExists(SqliteConnection& connection, absl::string_view id) {
  ASSIGN_OR_RETURN(SqliteQuery row, connection.Query("SELECT 1 FROM study WHERE id=?"));
  ASSIGN_OR_RETURN(const bool found, row.Text(id).Step());
  return found ? absl::OkStatus() : StudyNotFound(id);
}

absl::StatusOr<std::vector<StudyTask>> ReadTasks(SqliteConnection& connection,
                                                 absl::string_view id) {
  ASSIGN_OR_RETURN(SqliteQuery rows,
                   connection.Query("SELECT workload_sha256, name, weight FROM study_task "
                                    "WHERE study=? ORDER BY task_index"));
  rows.Text(id);
  std::vector<StudyTask> tasks;
  while (true) {
    ASSIGN_OR_RETURN(const bool found, rows.Step());
    if (!found) return tasks;
    tasks.push_back(
        {.workload_id = rows.BytesAt(0), .name = rows.BytesAt(1), .weight = rows.RealAt(2)});
    if (tasks.back().workload_id.size() != kHashBytes || !std::isfinite(tasks.back().weight)) {
      return DamagedStudy(id, "a task of it has no workload or no weight");
    }
  }
}

// Study and tasks in one transaction, or a crash would leave a study that can never be resumed.
absl::Status Insert(SqliteConnection& connection, const Study& study,
                    absl::Span<const StudyTask> tasks) {
  ASSIGN_OR_RETURN(SqliteQuery insert,
                   connection.Query("INSERT INTO study(id, title, target, state, spec, detail, "
                                    "created_ns, updated_ns) VALUES(?,?,?,?,?,?,?,?)"));
  RETURN_IF_ERROR(insert.Text(study.id)
                      .Text(study.title)
                      .Text(study.target)
                      .Int(static_cast<int64_t>(study.state))
                      .Blob(study.spec)
                      .Text(study.detail)
                      .Int(study.created_ns)
                      .Int(study.updated_ns)
                      .Run());
  for (size_t i = 0; i < tasks.size(); ++i) {
    ASSIGN_OR_RETURN(SqliteQuery task,
                     connection.Query("INSERT INTO study_task(study, task_index, workload_sha256, "
                                      "name, weight) VALUES(?,?,?,?,?)"));
    RETURN_IF_ERROR(task.Text(study.id)
                        .Int(static_cast<int64_t>(i))
                        .Blob(tasks[i].workload_id)
                        .Text(tasks[i].name)
                        .Real(tasks[i].weight)
                        .Run());
  }
  return absl::OkStatus();
}

absl::Status CheckSameSubmission(SqliteConnection& connection, const Study& study,
                                 const Study& stored, absl::Span<const StudyTask> tasks) {
  ASSIGN_OR_RETURN(const std::vector<StudyTask> stored_tasks, ReadTasks(connection, study.id));
  // What was submitted, not what became of it: a repeated Create must be OK after the study has
  // begun.
  const bool same = stored.title == study.title && stored.target == study.target &&
                    stored.spec == study.spec && absl::MakeConstSpan(stored_tasks) == tasks;
  return same ? absl::OkStatus() : StudyExists(study.id);
}

absl::Status AppendLogEntry(SqliteConnection& connection, absl::string_view id, int64_t sequence,
                            const StudyLogEntry& entry) {
  const std::string body = ToProto(entry).SerializeAsString();
  {
    ASSIGN_OR_RETURN(SqliteQuery row,
                     connection.Query("SELECT body FROM study_log WHERE study=? AND sequence=?"));
    ASSIGN_OR_RETURN(const bool found, row.Text(id).Int(sequence).Step());
    // The same entry again is a repeated call after a lost answer. Another one at that number was
    // written by a second tuner.
    if (found) return row.BytesAt(0) == body ? absl::OkStatus() : LogConflict(id, sequence);
  }
  ASSIGN_OR_RETURN(SqliteQuery insert,
                   connection.Query("INSERT INTO study_log(study, sequence, body) VALUES(?,?,?)"));
  return insert.Text(id).Int(sequence).Blob(body).Run();
}

}  // namespace

absl::Status SqliteStudyStore::Create(const Study& study, absl::Span<const StudyTask> tasks) {
  RETURN_IF_ERROR(ValidateStudy(study, tasks));
  return database_->Write([&](SqliteConnection& connection) -> absl::Status {
    // Looked up inside of the write: between a read of its own and the insert another process could
    // create the study.
    const absl::StatusOr<StudySummary> stored = Find(connection, study.id);
    if (stored.ok()) return CheckSameSubmission(connection, study, stored->study, tasks);
    if (!absl::IsNotFound(stored.status())) return stored.status();
    return Insert(connection, study, tasks);
  });
}

absl::StatusOr<StudySummary> SqliteStudyStore::Get(absl::string_view id) const {
  StudySummary summary;
  RETURN_IF_ERROR(database_->Read([&](SqliteConnection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(summary, Find(connection, id));
    return absl::OkStatus();
  }));
  return summary;
}

absl::StatusOr<std::vector<StudyTask>> SqliteStudyStore::Tasks(absl::string_view id) const {
  std::vector<StudyTask> tasks;
  RETURN_IF_ERROR(database_->Read([&](SqliteConnection& connection) -> absl::Status {
    RETURN_IF_ERROR(CheckExists(connection, id));
    ASSIGN_OR_RETURN(tasks, ReadTasks(connection, id));
    return absl::OkStatus();
  }));
  return tasks;
}

absl::StatusOr<std::vector<StudySummary>> SqliteStudyStore::List(const StudyQuery& query) const {
  RETURN_IF_ERROR(ValidateLimit(query.limit));
  // So that each condition may begin with AND.
  std::string where = " WHERE TRUE";
  if (!query.after_id.empty()) {
    // By time and id, as the order is: two studies of one instant must not fall out between pages.
    where += " AND (s.created_ns, s.id) < (SELECT created_ns, id FROM study WHERE id=?)";
  }
  if (query.state.has_value()) where += " AND s.state=?";
  std::vector<StudySummary> summaries;
  RETURN_IF_ERROR(database_->Read([&](SqliteConnection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(SqliteQuery rows,
                     connection.Query(absl::StrCat(kSelectSummary, where,
                                                   " ORDER BY s.created_ns DESC, s.id DESC "
                                                   "LIMIT ?")));
    if (!query.after_id.empty()) {
      RETURN_IF_ERROR(CheckExists(connection, query.after_id));
      rows.Text(query.after_id);
    }
    if (query.state.has_value()) rows.Int(static_cast<int64_t>(*query.state));
    rows.Int(query.limit);
    while (true) {
      ASSIGN_OR_RETURN(const bool found, rows.Step());
      if (!found) return absl::OkStatus();
      ASSIGN_OR_RETURN(summaries.emplace_back(), SummaryAt(rows));
    }
  }));
  return summaries;
}

absl::Status SqliteStudyStore::SetState(absl::string_view id, StudyState state,
                                        absl::string_view detail, int64_t now_ns) {
  return database_->Write([&](SqliteConnection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(const StudySummary stored, Find(connection, id));
    // In the transaction: a cancellation by another process and this one's end may come at the same
    // time, and only the first must count.
    if (!CanFollow(stored.study.state, state)) {
      return StateCannotFollow(id, stored.study.state, state);
    }
    ASSIGN_OR_RETURN(
        SqliteQuery update,
        connection.Query("UPDATE study SET state=?, detail=?, updated_ns=? WHERE id=?"));
    return update.Int(static_cast<int64_t>(state)).Text(detail).Int(now_ns).Text(id).Run();
  });
}

absl::Status SqliteStudyStore::TakeLease(absl::string_view id, const StudyLease& lease,
                                         int64_t now_ns, absl::string_view dead_owner) {
  RETURN_IF_ERROR(ValidateLease(lease));
  return database_->Write([&](SqliteConnection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(const StudySummary stored, Find(connection, id));
    // In the transaction: of two processes that ask at the same time one gets it.
    if (!MayTakeLease(stored.lease, lease, now_ns, dead_owner)) {
      return LeaseHeld(id, stored.lease.owner);
    }
    ASSIGN_OR_RETURN(
        SqliteQuery update,
        connection.Query("UPDATE study SET lease_owner=?, lease_expires_ns=? WHERE id=?"));
    return update.Text(lease.owner).Int(lease.expires_ns).Text(id).Run();
  });
}

absl::Status SqliteStudyStore::ReleaseLease(absl::string_view id, absl::string_view owner) {
  return database_->Write([&](SqliteConnection& connection) -> absl::Status {
    RETURN_IF_ERROR(CheckExists(connection, id));
    ASSIGN_OR_RETURN(SqliteQuery update,
                     connection.Query("UPDATE study SET lease_owner='', lease_expires_ns=0 "
                                      "WHERE id=? AND lease_owner=?"));
    return update.Text(id).Text(owner).Run();
  });
}

absl::Status SqliteStudyStore::Requeue(absl::string_view id, absl::string_view spec,
                                       absl::string_view detail, int64_t now_ns) {
  return database_->Write([&](SqliteConnection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(const StudySummary stored, Find(connection, id));
    if (!CanFollow(stored.study.state, StudyState::kQueued)) {
      return StateCannotFollow(id, stored.study.state, StudyState::kQueued);
    }
    ASSIGN_OR_RETURN(
        SqliteQuery update,
        connection.Query("UPDATE study SET spec=?, state=?, detail=?, updated_ns=? WHERE id=?"));
    return update.Blob(spec)
        .Int(static_cast<int64_t>(StudyState::kQueued))
        .Text(detail)
        .Int(now_ns)
        .Text(id)
        .Run();
  });
}

absl::Status SqliteStudyStore::SetCrashCount(absl::string_view id, int32_t count) {
  return database_->Write([&](SqliteConnection& connection) -> absl::Status {
    RETURN_IF_ERROR(CheckExists(connection, id));
    ASSIGN_OR_RETURN(SqliteQuery update,
                     connection.Query("UPDATE study SET crash_count=? WHERE id=?"));
    return update.Int(count).Text(id).Run();
  });
}

absl::Status SqliteStudyStore::AppendLog(absl::string_view id, int64_t first_sequence,
                                         absl::Span<const StudyLogEntry> entries) {
  return database_->Write([&](SqliteConnection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(const StudySummary stored, Find(connection, id));
    // A gap could never be filled: the log is a list of what happened, and a replay would skip what
    // is missing.
    if (first_sequence < 0 || first_sequence > stored.log_length) {
      return LogGap(id, first_sequence, stored.log_length);
    }
    for (size_t i = 0; i < entries.size(); ++i) {
      RETURN_IF_ERROR(
          AppendLogEntry(connection, id, first_sequence + static_cast<int64_t>(i), entries[i]));
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<StudyLogEntry>> SqliteStudyStore::ReadLog(absl::string_view id,
                                                                     int64_t first_sequence,
                                                                     int limit) const {
  RETURN_IF_ERROR(ValidateLimit(limit));
  std::vector<StudyLogEntry> entries;
  RETURN_IF_ERROR(database_->Read([&](SqliteConnection& connection) -> absl::Status {
    RETURN_IF_ERROR(CheckExists(connection, id));
    ASSIGN_OR_RETURN(SqliteQuery rows,
                     connection.Query("SELECT body FROM study_log WHERE study=? AND sequence>=? "
                                      "ORDER BY sequence LIMIT ?"));
    rows.Text(id).Int(first_sequence).Int(limit);
    while (true) {
      ASSIGN_OR_RETURN(const bool found, rows.Step());
      if (!found) return absl::OkStatus();
      v1::StudyLogEntry message;
      if (!message.ParseFromString(rows.BytesAt(0))) {
        return DamagedStudy(id, "an entry of its log is no message");
      }
      absl::StatusOr<StudyLogEntry> entry = FromProto(message);
      if (!entry.ok()) return DamagedStudy(id, entry.status().message());
      entries.push_back(*std::move(entry));
    }
  }));
  return entries;
}

absl::Status SqliteStudyStore::PutJobs(absl::string_view id, absl::Span<const OpenJob> jobs) {
  for (const OpenJob& job : jobs) RETURN_IF_ERROR(ValidateJob(job));
  return database_->Write([&](SqliteConnection& connection) -> absl::Status {
    RETURN_IF_ERROR(CheckExists(connection, id));
    for (const OpenJob& job : jobs) {
      // Replaced: a call that is repeated after a lost answer is no error.
      ASSIGN_OR_RETURN(SqliteQuery put,
                       connection.Query("INSERT OR REPLACE INTO open_job(study, job_id, trial_id, "
                                        "task_index, payload) VALUES(?,?,?,?,?)"));
      RETURN_IF_ERROR(put.Text(id)
                          .Text(job.job_id)
                          .Text(job.trial_id)
                          .Int(job.task_index)
                          .Blob(job.payload)
                          .Run());
    }
    return absl::OkStatus();
  });
}

absl::Status SqliteStudyStore::RemoveJobs(absl::string_view id,
                                          absl::Span<const std::string> job_ids) {
  return database_->Write([&](SqliteConnection& connection) -> absl::Status {
    RETURN_IF_ERROR(CheckExists(connection, id));
    for (const std::string& job_id : job_ids) {
      // None may be there: an earlier call removed it, and its answer was lost.
      ASSIGN_OR_RETURN(SqliteQuery remove,
                       connection.Query("DELETE FROM open_job WHERE study=? AND job_id=?"));
      RETURN_IF_ERROR(remove.Text(id).Text(job_id).Run());
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<OpenJob>> SqliteStudyStore::OpenJobs(absl::string_view id) const {
  std::vector<OpenJob> jobs;
  RETURN_IF_ERROR(database_->Read([&](SqliteConnection& connection) -> absl::Status {
    RETURN_IF_ERROR(CheckExists(connection, id));
    ASSIGN_OR_RETURN(SqliteQuery rows,
                     connection.Query("SELECT job_id, trial_id, task_index, payload FROM open_job "
                                      "WHERE study=? ORDER BY job_id"));
    rows.Text(id);
    while (true) {
      ASSIGN_OR_RETURN(const bool found, rows.Step());
      if (!found) return absl::OkStatus();
      jobs.push_back({.job_id = rows.BytesAt(0),
                      .trial_id = rows.BytesAt(1),
                      .task_index = static_cast<int32_t>(rows.IntAt(2)),
                      .payload = rows.BytesAt(3)});
    }
  }));
  return jobs;
}

}  // namespace burnish
