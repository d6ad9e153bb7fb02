#include "db/sqlite/record_writer.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "db/record_summary.h"
#include "db/sqlite/damaged_row.h"
#include "db/sqlite/record_rows.h"
#include "proto/trace.h"

namespace burnish {
namespace {

void TextOrNull(SqliteQuery& query, bool set, absl::string_view text) {
  set ? query.Text(text) : query.Null();
}

void HashOrNull(SqliteQuery& query, absl::string_view hash) {
  hash.empty() ? query.Null() : query.Blob(hash);
}

// The row id of a text that is stored once.
absl::StatusOr<int64_t> Intern(SqliteConnection& connection, absl::string_view table,
                               absl::string_view column, absl::string_view value, bool is_blob) {
  {
    ASSIGN_OR_RETURN(SqliteQuery select, connection.Query(absl::StrCat("SELECT id FROM ", table,
                                                                       " WHERE ", column, "=?")));
    is_blob ? select.Blob(value) : select.Text(value);
    ASSIGN_OR_RETURN(const bool found, select.Step());
    if (found) return select.IntAt(0);
  }
  ASSIGN_OR_RETURN(SqliteQuery insert, connection.Query(absl::StrCat("INSERT INTO ", table, "(",
                                                                     column, ") VALUES(?)")));
  is_blob ? insert.Blob(value) : insert.Text(value);
  RETURN_IF_ERROR(insert.Run());
  return connection.last_insert_row_id();
}

absl::StatusOr<int64_t> InternWorkload(SqliteConnection& connection, const Workload& workload) {
  {
    ASSIGN_OR_RETURN(SqliteQuery select,
                     connection.Query("SELECT id FROM workload WHERE sha256=?"));
    ASSIGN_OR_RETURN(const bool found, select.Blob(workload.id).Step());
    if (found) return select.IntAt(0);
  }
  ASSIGN_OR_RETURN(
      SqliteQuery insert,
      connection.Query("INSERT INTO workload(sha256, anchor_sha256, text) VALUES(?,?,?)"));
  RETURN_IF_ERROR(insert.Blob(workload.id).Blob(workload.anchor_id).Text(workload.text).Run());
  return connection.last_insert_row_id();
}

absl::StatusOr<int64_t> InternTarget(SqliteConnection& connection, const Target& target) {
  const std::string text = target.ToText();
  {
    ASSIGN_OR_RETURN(SqliteQuery select, connection.Query("SELECT id FROM target WHERE text=?"));
    ASSIGN_OR_RETURN(const bool found, select.Text(text).Step());
    if (found) return select.IntAt(0);
  }
  ASSIGN_OR_RETURN(SqliteQuery insert,
                   connection.Query("INSERT INTO target(text, isa_key, perf_key) VALUES(?,?,?)"));
  RETURN_IF_ERROR(insert.Text(text).Text(target.IsaKey()).Text(target.PerfKey()).Run());
  return connection.last_insert_row_id();
}

absl::StatusOr<int64_t> InternSketch(SqliteConnection& connection, absl::string_view sketch) {
  const std::string sha256 = Sha256Bytes(sketch);
  {
    ASSIGN_OR_RETURN(SqliteQuery select, connection.Query("SELECT id FROM sketch WHERE sha256=?"));
    ASSIGN_OR_RETURN(const bool found, select.Blob(sha256).Step());
    if (found) return select.IntAt(0);
  }
  ASSIGN_OR_RETURN(SqliteQuery insert,
                   connection.Query("INSERT INTO sketch(sha256, text) VALUES(?,?)"));
  RETURN_IF_ERROR(insert.Blob(sha256).Text(sketch).Run());
  return connection.last_insert_row_id();
}

absl::StatusOr<bool> IsRecorded(SqliteConnection& connection, const MeasurementEntry& entry) {
  ASSIGN_OR_RETURN(
      SqliteQuery query,
      connection.Query("SELECT 1 FROM measurement WHERE trial_id=? AND purpose=? AND number=?"));
  return query.Text(entry.trial_id)
      .Int(static_cast<int64_t>(entry.purpose))
      .Int(entry.number)
      .Step();
}

// 0: there is none yet.
absl::StatusOr<int64_t> FindRecordRow(SqliteConnection& connection, absl::string_view candidate_id,
                                      int32_t method_version) {
  ASSIGN_OR_RETURN(
      SqliteQuery query,
      connection.Query("SELECT id FROM record WHERE candidate_id=? AND method_version=?"));
  ASSIGN_OR_RETURN(const bool found, query.Blob(candidate_id).Int(method_version).Step());
  if (found && query.IntAt(0) < 1) {
    return DamagedRow(connection.path(), "record", query.IntAt(0), "it has the number of none");
  }
  return found ? query.IntAt(0) : 0;
}

absl::StatusOr<int64_t> InsertRecord(SqliteConnection& connection, const MeasurementEntry& entry,
                                     absl::string_view candidate_id) {
  const SplitTrace split = SplitTraceText(entry.candidate.trace);
  ASSIGN_OR_RETURN(const int64_t workload, InternWorkload(connection, entry.candidate.workload));
  ASSIGN_OR_RETURN(const int64_t target, InternTarget(connection, entry.candidate.target));
  ASSIGN_OR_RETURN(const int64_t contract,
                   Intern(connection, "contract", "text", entry.candidate.contract, false));
  ASSIGN_OR_RETURN(const int64_t sketch, InternSketch(connection, split.sketch));
  ASSIGN_OR_RETURN(SqliteQuery insert, connection.Query(R"sql(
INSERT INTO record(candidate_id, method_version, workload_id, target_id, contract_id, sketch_id,
  decisions, codegen_epoch, first_recorded_ns, first_trial_id, host,
  process_count, repeat_count, numerics_kind, numerics_parameter, numerics_error,
  scratch_bytes,
  packed_bytes, code_bytes)
VALUES(?,?,?,?,?,?,?,?,?,?,?, 0,0,0,0,0,0,0,0))sql"));
  RETURN_IF_ERROR(insert.Blob(candidate_id)
                      .Int(entry.measurement.environment.method_version)
                      .Int(workload)
                      .Int(target)
                      .Int(contract)
                      .Int(sketch)
                      .Blob(split.decisions)
                      .Int(entry.candidate.codegen_epoch)
                      .Int(entry.recorded_ns)
                      .Text(entry.trial_id)
                      .Text(entry.measurement.environment.host)
                      .Run());
  return connection.last_insert_row_id();
}

// The measurements of a record that Summarize looks at, oldest first: the latest with latencies,
// the latest verdict of a network, and every failure, since a candidate that failed is hardly ever
// measured again.
absl::StatusOr<std::vector<Measurement>> ReadMeasurements(SqliteConnection& connection,
                                                          int64_t record_row) {
  ASSIGN_OR_RETURN(SqliteQuery query, connection.Query(R"sql(
SELECT id, body FROM measurement WHERE record_id=?1 AND failure_kind IS NOT NULL
UNION ALL SELECT * FROM (
  SELECT id, body FROM measurement
  WHERE record_id=?1 AND failure_kind IS NULL AND network_factor IS NULL
  ORDER BY id DESC LIMIT ?2)
UNION ALL SELECT * FROM (
  SELECT id, body FROM measurement WHERE record_id=?1 AND network_factor IS NOT NULL
  ORDER BY id DESC LIMIT 1)
ORDER BY id)sql"));
  query.Int(record_row).Int(kSummaryMeasurementsMax);
  std::vector<Measurement> measurements;
  while (true) {
    ASSIGN_OR_RETURN(const bool found, query.Step());
    if (!found) return measurements;
    ASSIGN_OR_RETURN(measurements.emplace_back(),
                     ParseMeasurement(query.BytesAt(1), {}, query.IntAt(0), connection.path()));
  }
}

absl::Status UpdateRecord(SqliteConnection& connection, int64_t record_row, const Record& record) {
  ASSIGN_OR_RETURN(SqliteQuery update, connection.Query(R"sql(
UPDATE record SET rank_ns=?, median_ns=?, interval_low_ns=?, interval_high_ns=?, process_count=?,
  repeat_count=?, failure_kind=?, failure_text=?, numerics_kind=?, numerics_algorithm=?,
  numerics_parameter=?, numerics_error=?, scratch_bytes=?, packed_bytes=?, code_bytes=?,
  lowered_sha256=?, code_sha256=?, network_factor=?, unconfirmed=?
WHERE id=?)sql"));
  for (const int64_t time_ns :
       {record.rank_ns, record.median_ns, record.interval_low_ns, record.interval_high_ns}) {
    record.successful() ? update.Int(time_ns) : update.Null();
  }
  update.Int(record.process_count).Int(record.repeat_count);
  const bool failed = record.failure.has_value();
  failed ? update.Int(static_cast<int64_t>(record.failure->kind)) : update.Null();
  TextOrNull(update, failed, failed ? record.failure->message : "");
  update.Int(static_cast<int64_t>(record.numerics.kind))
      .Text(record.numerics.algorithm)
      .Int(record.numerics.parameter)
      .Real(record.numerics.error)
      .Int(record.scratch_bytes)
      .Int(record.packed_bytes)
      .Int(record.code_bytes);
  HashOrNull(update, record.lowered_sha256);
  HashOrNull(update, record.code_sha256);
  return update.Real(record.network_factor).Int(record.unconfirmed ? 1 : 0).Int(record_row).Run();
}

absl::Status InsertMeasurement(SqliteConnection& connection, const MeasurementEntry& entry,
                               int64_t record_row) {
  ASSIGN_OR_RETURN(const int64_t study,
                   Intern(connection, "study_name", "name", entry.study_id, false));
  ASSIGN_OR_RETURN(const int64_t environment, Intern(connection, "environment", "body",
                                                     EnvironmentBody(entry.measurement), true));
  ASSIGN_OR_RETURN(SqliteQuery insert, connection.Query(R"sql(
INSERT INTO measurement(record_id, study_id, trial_id, purpose, number, recorded_ns, failure_kind,
  environment_id, body, network_factor) VALUES(?,?,?,?,?,?,?,?,?,?))sql"));
  insert.Int(record_row)
      .Int(study)
      .Text(entry.trial_id)
      .Int(static_cast<int64_t>(entry.purpose))
      .Int(entry.number)
      .Int(entry.recorded_ns);
  const Failure* failure = entry.measurement.failure();
  failure != nullptr ? insert.Int(static_cast<int64_t>(failure->kind)) : insert.Null();
  insert.Int(environment).Blob(MeasurementBody(entry.measurement));
  const double factor = entry.measurement.network_factor;
  factor > 0 ? insert.Real(factor) : insert.Null();
  return insert.Run();
}

}  // namespace

absl::StatusOr<AppendOutcome> AppendSqliteEntry(SqliteConnection& connection,
                                                const MeasurementEntry& entry) {
  ASSIGN_OR_RETURN(const bool is_recorded, IsRecorded(connection, entry));
  if (is_recorded) return AppendOutcome::kDuplicate;
  const std::string candidate_id = entry.candidate.Id();
  ASSIGN_OR_RETURN(int64_t record_row, FindRecordRow(connection, candidate_id,
                                                     entry.measurement.environment.method_version));
  std::vector<Measurement> measurements;
  if (record_row == 0) {
    ASSIGN_OR_RETURN(record_row, InsertRecord(connection, entry, candidate_id));
  } else {
    ASSIGN_OR_RETURN(measurements, ReadMeasurements(connection, record_row));
  }
  RETURN_IF_ERROR(InsertMeasurement(connection, entry, record_row));
  measurements.push_back(entry.measurement);
  Record record;
  Summarize(measurements, record);
  RETURN_IF_ERROR(UpdateRecord(connection, record_row, record));
  return AppendOutcome::kRecorded;
}

}  // namespace burnish
