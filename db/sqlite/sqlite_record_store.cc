#include "db/sqlite/sqlite_record_store.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "db/sqlite/best_lookup.h"
#include "db/sqlite/damaged_row.h"
#include "db/sqlite/record_rows.h"
#include "db/sqlite/record_writer.h"
#include "proto/workload.h"

namespace burnish {
namespace {

absl::StatusOr<std::vector<Record>> AllRecords(SqliteQuery& query, absl::string_view path) {
  std::vector<Record> records;
  while (true) {
    ASSIGN_OR_RETURN(const bool found, query.Step());
    if (!found) return records;
    ASSIGN_OR_RETURN(records.emplace_back(), RecordAt(query, path));
  }
}

}  // namespace

absl::StatusOr<std::vector<AppendOutcome>> SqliteRecordStore::AppendBatch(
    absl::Span<const MeasurementEntry> entries) {
  // Before the transaction: all or none, and an entry that can never be stored should not hold the
  // writer.
  for (const MeasurementEntry& entry : entries) RETURN_IF_ERROR(ValidateEntry(entry));
  std::vector<AppendOutcome> outcomes;
  if (entries.empty()) return outcomes;
  RETURN_IF_ERROR(database_->Write([&](SqliteConnection& connection) -> absl::Status {
    for (const MeasurementEntry& entry : entries) {
      ASSIGN_OR_RETURN(outcomes.emplace_back(), AppendSqliteEntry(connection, entry));
    }
    return absl::OkStatus();
  }));
  return outcomes;
}

absl::StatusOr<BestAnswer> SqliteRecordStore::Best(const BestQuery& query) const {
  RETURN_IF_ERROR(ValidateQuery(query));
  BestAnswer answer;
  RETURN_IF_ERROR(database_->Read([&](SqliteConnection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(answer, LookUpBest(connection, query));
    return absl::OkStatus();
  }));
  return answer;
}

absl::StatusOr<std::vector<Record>> SqliteRecordStore::FindCandidate(
    absl::string_view candidate_id) const {
  std::vector<Record> records;
  RETURN_IF_ERROR(database_->Read([&](SqliteConnection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(SqliteQuery query,
                     connection.Query(absl::StrCat(
                         kSelectRecord, " WHERE r.candidate_id=? ORDER BY r.method_version")));
    ASSIGN_OR_RETURN(records, AllRecords(query.Blob(candidate_id), connection.path()));
    return absl::OkStatus();
  }));
  return records;
}

absl::StatusOr<std::vector<Record>> SqliteRecordStore::Scan(const RecordQuery& query) const {
  RETURN_IF_ERROR(ValidateLimit(query.limit));
  // The page's ids first, from an index alone: rows with their texts are read for this page only.
  std::string ids = "SELECT id FROM record WHERE id > ?";
  if (query.workload_id.has_value()) {
    ids += " AND workload_id IN (SELECT id FROM workload WHERE sha256=?)";
  }
  if (query.anchor_id.has_value()) {
    ids += " AND workload_id IN (SELECT id FROM workload WHERE anchor_sha256=?)";
  }
  if (query.target.has_value()) ids += " AND target_id IN (SELECT id FROM target WHERE text=?)";
  if (!query.with_failures) ids += " AND rank_ns IS NOT NULL";
  std::vector<Record> records;
  RETURN_IF_ERROR(database_->Read([&](SqliteConnection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(SqliteQuery rows,
                     connection.Query(absl::StrCat(kSelectRecord, " WHERE r.id IN (", ids,
                                                   " ORDER BY id LIMIT ?) ORDER BY r.id")));
    rows.Int(query.after_row_id);
    if (query.workload_id.has_value()) rows.Blob(*query.workload_id);
    if (query.anchor_id.has_value()) rows.Blob(*query.anchor_id);
    if (query.target.has_value()) rows.Text(*query.target);
    ASSIGN_OR_RETURN(records, AllRecords(rows.Int(query.limit), connection.path()));
    return absl::OkStatus();
  }));
  return records;
}

absl::StatusOr<EntryPage> SqliteRecordStore::ScanEntries(const EntryQuery& query) const {
  RETURN_IF_ERROR(ValidateLimit(query.limit));
  EntryPage page = {.last_row_id = query.after_row_id};
  RETURN_IF_ERROR(database_->Read([&](SqliteConnection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(SqliteQuery rows,
                     connection.Query(absl::StrCat(
                         kSelectEntry,
                         " WHERE m.study_id = (SELECT id FROM study_name WHERE name=?) "
                         "AND m.id > ? ORDER BY m.id LIMIT ?")));
    rows.Text(query.study_id).Int(query.after_row_id).Int(query.limit);
    while (true) {
      ASSIGN_OR_RETURN(const bool found, rows.Step());
      if (!found) return absl::OkStatus();
      ASSIGN_OR_RETURN(page.entries.emplace_back(), EntryAt(rows, connection.path()));
      page.last_row_id = rows.IntAt(0);
    }
  }));
  return page;
}

absl::StatusOr<TrialCounts> SqliteRecordStore::CountTrials(absl::string_view study_id) const {
  TrialCounts counts;
  RETURN_IF_ERROR(database_->Read([&](SqliteConnection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(SqliteQuery rows, connection.Query(R"sql(
SELECT failure_kind, COUNT(*) FROM measurement
WHERE study_id = (SELECT id FROM study_name WHERE name=?) AND purpose=? GROUP BY failure_kind)sql"));
    rows.Text(study_id).Int(static_cast<int64_t>(Purpose::kTrial));
    while (true) {
      ASSIGN_OR_RETURN(const bool found, rows.Step());
      if (!found) return absl::OkStatus();
      counts.trial_count += rows.IntAt(1);
      if (rows.IsNull(0)) continue;
      counts.failure_counts[static_cast<FailureKind>(rows.IntAt(0))] = rows.IntAt(1);
    }
  }));
  return counts;
}

absl::StatusOr<std::optional<Workload>> SqliteRecordStore::FindWorkload(
    absl::string_view workload_id) const {
  std::optional<Workload> workload;
  RETURN_IF_ERROR(database_->Read([&](SqliteConnection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(
        SqliteQuery row,
        connection.Query("SELECT text, sha256, anchor_sha256, id FROM workload WHERE sha256=?"));
    ASSIGN_OR_RETURN(const bool found, row.Blob(workload_id).Step());
    if (found) {
      workload =
          Workload{.text = row.BytesAt(0), .id = row.BytesAt(1), .anchor_id = row.BytesAt(2)};
      if (Sha256Bytes(workload->text) != workload->id) {
        return DamagedRow(connection.path(), "workload", row.IntAt(3),
                          "its text is not what its hash says");
      }
    }
    return absl::OkStatus();
  }));
  return workload;
}

absl::StatusOr<std::vector<TaskKey>> SqliteRecordStore::ListTasks() const {
  std::vector<TaskKey> tasks;
  RETURN_IF_ERROR(database_->Read([&](SqliteConnection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(tasks, ListIndexedTasks(connection));
    return absl::OkStatus();
  }));
  return tasks;
}

}  // namespace burnish
