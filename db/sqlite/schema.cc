#include "db/sqlite/schema.h"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

// Texts that many rows share (workload, target, contract, sketch, study) are stored once. Hashes
// are 32-byte blobs; a column `_ns` is nanoseconds; kinds are the numbers of the value types'
// enums. rank_ns is NULL where the candidate failed.
constexpr char kVersion1[] = R"sql(
CREATE TABLE workload(
  id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE, anchor_sha256 BLOB NOT NULL,
  text TEXT NOT NULL) STRICT;
CREATE INDEX workload_by_anchor ON workload(anchor_sha256);
CREATE TABLE target(
  id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, isa_key TEXT NOT NULL,
  perf_key TEXT NOT NULL) STRICT;
CREATE INDEX target_by_isa_key ON target(isa_key);
CREATE TABLE contract(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE sketch(
  id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE, text TEXT NOT NULL) STRICT;
CREATE TABLE study_name(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE record(
  id INTEGER PRIMARY KEY, candidate_id BLOB NOT NULL, method_version INTEGER NOT NULL,
  workload_id INTEGER NOT NULL, target_id INTEGER NOT NULL, contract_id INTEGER NOT NULL,
  sketch_id INTEGER NOT NULL, decisions BLOB NOT NULL, codegen_epoch INTEGER NOT NULL,
  rank_ns INTEGER, median_ns INTEGER, interval_low_ns INTEGER, interval_high_ns INTEGER,
  process_count INTEGER NOT NULL, repeat_count INTEGER NOT NULL,
  failure_kind INTEGER, failure_text TEXT,
  numerics_kind INTEGER NOT NULL, winograd_m INTEGER NOT NULL, numerics_error REAL NOT NULL,
  scratch_bytes INTEGER NOT NULL, packed_bytes INTEGER NOT NULL, code_bytes INTEGER NOT NULL,
  lowered_sha256 BLOB, code_sha256 BLOB,
  first_recorded_ns INTEGER NOT NULL, first_trial_id TEXT NOT NULL, host TEXT NOT NULL,
  UNIQUE(candidate_id, method_version)) STRICT;
CREATE INDEX record_best ON record(workload_id, target_id, contract_id, rank_ns)
  WHERE rank_ns IS NOT NULL;
CREATE INDEX record_by_workload ON record(workload_id, target_id);
CREATE INDEX record_by_lowered ON record(lowered_sha256) WHERE lowered_sha256 IS NOT NULL;
CREATE INDEX record_by_code ON record(code_sha256) WHERE code_sha256 IS NOT NULL;

CREATE TABLE measurement(
  id INTEGER PRIMARY KEY, record_id INTEGER NOT NULL, study_id INTEGER NOT NULL,
  trial_id TEXT NOT NULL, purpose INTEGER NOT NULL, number INTEGER NOT NULL,
  recorded_ns INTEGER NOT NULL, failure_kind INTEGER,
  environment BLOB NOT NULL,
  body BLOB NOT NULL,
  UNIQUE(trial_id, purpose, number)) STRICT;
CREATE INDEX measurement_by_record ON measurement(record_id);
CREATE INDEX measurement_by_study ON measurement(study_id);

CREATE TABLE study(
  id TEXT PRIMARY KEY, title TEXT NOT NULL, target TEXT NOT NULL, state INTEGER NOT NULL,
  spec BLOB NOT NULL, detail TEXT NOT NULL, created_ns INTEGER NOT NULL,
  updated_ns INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX study_by_age ON study(created_ns, id);
CREATE TABLE study_task(
  study TEXT NOT NULL, task_index INTEGER NOT NULL, workload_sha256 BLOB NOT NULL,
  name TEXT NOT NULL, weight REAL NOT NULL,
  PRIMARY KEY(study, task_index)) STRICT, WITHOUT ROWID;
CREATE TABLE study_log(
  study TEXT NOT NULL, sequence INTEGER NOT NULL, body BLOB NOT NULL,
  PRIMARY KEY(study, sequence)) STRICT, WITHOUT ROWID;
CREATE TABLE open_job(
  study TEXT NOT NULL, job_id TEXT NOT NULL, trial_id TEXT NOT NULL, task_index INTEGER NOT NULL,
  payload BLOB NOT NULL,
  PRIMARY KEY(study, job_id)) STRICT, WITHOUT ROWID;
)sql";

// Environments are stored once: they were two thirds of the file, and few differ. The index of best
// records carries the columns that callers limit, so that a look-up which passes over many records
// never reads their rows.
constexpr char kVersion2[] = R"sql(
CREATE TABLE environment(id INTEGER PRIMARY KEY, body BLOB NOT NULL UNIQUE) STRICT;
INSERT INTO environment(body) SELECT DISTINCT environment FROM measurement;
CREATE TABLE measurement_2(
  id INTEGER PRIMARY KEY, record_id INTEGER NOT NULL, study_id INTEGER NOT NULL,
  trial_id TEXT NOT NULL, purpose INTEGER NOT NULL, number INTEGER NOT NULL,
  recorded_ns INTEGER NOT NULL, failure_kind INTEGER,
  environment_id INTEGER NOT NULL,
  body BLOB NOT NULL,
  UNIQUE(trial_id, purpose, number)) STRICT;
INSERT INTO measurement_2
  SELECT m.id, m.record_id, m.study_id, m.trial_id, m.purpose, m.number, m.recorded_ns,
         m.failure_kind, e.id, m.body
  FROM measurement m JOIN environment e ON e.body = m.environment ORDER BY m.id;
DROP TABLE measurement;
ALTER TABLE measurement_2 RENAME TO measurement;
CREATE INDEX measurement_by_record ON measurement(record_id);
CREATE INDEX measurement_by_study ON measurement(study_id);
DROP INDEX record_best;
CREATE INDEX record_best ON record(
  workload_id, target_id, contract_id, rank_ns, numerics_kind, numerics_error, scratch_bytes,
  method_version, codegen_epoch) WHERE rank_ns IS NOT NULL;
)sql";

// What `refine` found in a network (proto/record.h). A measurement with a factor counts by it
// alone.
constexpr char kVersion3[] = R"sql(
ALTER TABLE record ADD COLUMN network_factor REAL NOT NULL DEFAULT 1;
ALTER TABLE measurement ADD COLUMN network_factor REAL;
)sql";

// An algorithm has a name, and its parameter a column that is not named after the only one that
// there was. Nothing looks records up by their code: the search knows twins before they are built.
constexpr char kVersion4[] = R"sql(
DROP INDEX record_by_lowered;
DROP INDEX record_by_code;
ALTER TABLE record RENAME COLUMN winograd_m TO numerics_parameter;
ALTER TABLE record ADD COLUMN numerics_algorithm TEXT NOT NULL DEFAULT '';
UPDATE record SET numerics_algorithm = 'winograd' WHERE numerics_kind = 3;
)sql";

// Who runs a study (db/study_store.h), and how often that ended in a crash.
constexpr char kVersion5[] = R"sql(
ALTER TABLE study ADD COLUMN lease_owner TEXT NOT NULL DEFAULT '';
ALTER TABLE study ADD COLUMN lease_expires_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE study ADD COLUMN crash_count INTEGER NOT NULL DEFAULT 0;
)sql";

// Whether a record's time is one machine's word (proto/record.h). Of older records nobody knows.
constexpr char kVersion6[] = R"sql(
ALTER TABLE record ADD COLUMN unconfirmed INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr const char* kMigrations[] = {kVersion1, kVersion2, kVersion3,
                                       kVersion4, kVersion5, kVersion6};
constexpr int64_t kVersion = std::size(kMigrations);

// The version of the file, 0 where it is empty. Inside a transaction, or another process that makes
// the file may be seen half done.
absl::StatusOr<int64_t> ReadVersion(SqliteConnection& connection) {
  ASSIGN_OR_RETURN(const int64_t application_id, connection.QueryInt("PRAGMA application_id"));
  ASSIGN_OR_RETURN(const int64_t version, connection.QueryInt("PRAGMA user_version"));
  ASSIGN_OR_RETURN(const int64_t tables, connection.QueryInt("SELECT COUNT(*) FROM sqlite_schema"));
  if (application_id == 0 && version == 0 && tables == 0) return 0;
  if (application_id != kSqliteApplicationId || version < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("database ", connection.path(),
                     " belongs to another program; hint: name another file, one that is not there "
                     "is made"));
  }
  if (version > kVersion) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "database %s has schema version %d, this program knows up to %d; hint: use the newer "
        "Burnish that wrote it, or another file",
        connection.path(), version, kVersion));
  }
  return version;
}

absl::StatusOr<int64_t> ReadVersionAtOnce(SqliteConnection& connection) {
  RETURN_IF_ERROR(connection.Execute("BEGIN"));
  const absl::StatusOr<int64_t> version = ReadVersion(connection);
  // An I/O error has ended the transaction already, and is what the caller should hear of.
  if (!version.ok() && !connection.in_transaction()) return version;
  RETURN_IF_ERROR(connection.Execute("ROLLBACK"));
  return version;
}

// The whole file as it is, log included, beside it: what a migration gets wrong can be put back,
// and an older program can go on with it.
absl::Status CopyBeforeMigration(SqliteConnection& connection, int64_t version) {
  const std::string copy = SqliteCopyPath(connection.path(), version);
  // Other processes may be at the same.
  const std::string part = absl::StrCat(copy, ".", getpid(), ".part");
  std::error_code error;
  std::filesystem::remove(part, error);
  {
    ASSIGN_OR_RETURN(SqliteQuery copying, connection.Query("VACUUM INTO ?"));
    RETURN_IF_ERROR(copying.Text(part).Run());
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<SqliteConnection> copied,
                   SqliteConnection::Open(part, {}));
  ASSIGN_OR_RETURN(const int64_t copied_version, copied->QueryInt("PRAGMA user_version"));
  // Another process was faster: its copy is the one of before.
  if (copied_version != version) {
    std::filesystem::remove(part, error);
    return absl::OkStatus();
  }
  std::filesystem::rename(part, copy, error);
  if (!error) return absl::OkStatus();
  const std::string why = error.message();
  std::filesystem::remove(part, error);
  return absl::AbortedError(absl::StrCat("database ", connection.path(), " cannot be copied to ",
                                         copy, " before its schema changes: ", why,
                                         "; hint: move what is there out of the way"));
}

absl::Status Migrate(SqliteConnection& connection) {
  // Read again under the lock: another process may have been faster.
  ASSIGN_OR_RETURN(const int64_t version, ReadVersion(connection));
  for (int64_t step = version; step < kVersion; ++step) {
    RETURN_IF_ERROR(connection.Execute(kMigrations[step]));
  }
  return connection.Execute(absl::StrCat("PRAGMA application_id=", kSqliteApplicationId,
                                         "; PRAGMA user_version=", kVersion));
}

}  // namespace

std::string SqliteCopyPath(const std::string& path, int64_t version) {
  return absl::StrCat(path, ".schema", version);
}

absl::Span<const char* const> SqliteMigrations() { return kMigrations; }

absl::StatusOr<bool> SqliteIsEmpty(SqliteConnection& connection) {
  ASSIGN_OR_RETURN(const int64_t version, ReadVersionAtOnce(connection));
  return version == 0;
}

absl::Status PrepareSqliteSchema(SqliteConnection& connection) {
  // Before anything is changed: it may be another program's file.
  ASSIGN_OR_RETURN(const int64_t version, ReadVersionAtOnce(connection));
  if (version == kVersion) return absl::OkStatus();
  if (version > 0) RETURN_IF_ERROR(CopyBeforeMigration(connection, version));
  RETURN_IF_ERROR(connection.Execute("BEGIN IMMEDIATE"));
  absl::Status status = Migrate(connection);
  if (status.ok()) status = connection.Execute("COMMIT");
  if (!status.ok() && connection.in_transaction()) {
    // The first error is what the caller should hear of.
    (void)connection.Execute("ROLLBACK");
  }
  return status;
}

}  // namespace burnish
