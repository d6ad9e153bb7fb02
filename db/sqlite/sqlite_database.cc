#include "db/sqlite/sqlite_database.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "db/sqlite/schema.h"

namespace burnish {
namespace {

absl::Status UseWriteAheadLog(SqliteConnection& connection) {
  ASSIGN_OR_RETURN(SqliteQuery query, connection.Query("PRAGMA journal_mode=WAL"));
  ASSIGN_OR_RETURN(const bool found, query.Step());
  if (found && query.BytesAt(0) == "wal") return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("database ", connection.path(),
                   " cannot have a write-ahead log; hint: put it on a local disk"));
}

// Write-ahead log, so that readers never wait for the writer; FULL, so that what was acknowledged
// survives a power cut.
absl::Status SetUpWriter(SqliteConnection& connection, const SqliteOptions& options) {
  // The schema first: a file of a later version is refused before anything in it changes, the
  // journal's mode included.
  RETURN_IF_ERROR(PrepareSqliteSchema(connection));
  // The one statement for which SQLite does not wait by itself while others open the same new file.
  const absl::Time deadline = absl::Now() + options.busy_timeout;
  absl::Status status = UseWriteAheadLog(connection);
  while (absl::IsUnavailable(status) && absl::Now() < deadline) {
    // Short: the other process holds its lock for one statement. busy_timeout bounds the whole.
    absl::SleepFor(absl::Milliseconds(2));
    status = UseWriteAheadLog(connection);
  }
  RETURN_IF_ERROR(status);
  // 64 MiB of pages, used only by large batches, whose index pages would go to the disk many times.
  return connection.Execute("PRAGMA synchronous=FULL; PRAGMA cache_size=-65536");
}

}  // namespace

absl::StatusOr<std::shared_ptr<SqliteDatabase>> SqliteDatabase::Open(const std::string& path,
                                                                     const SqliteOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<SqliteConnection> connection,
                   SqliteConnection::Open(path, options));
  RETURN_IF_ERROR(SetUpWriter(*connection, options));
  return std::shared_ptr<SqliteDatabase>(new SqliteDatabase(path, options, std::move(connection)));
}

// Not with SQLite's own read-only flag: such a connection leaves the files of the log behind, and
// cannot bring an older file to this version.
absl::StatusOr<std::shared_ptr<SqliteDatabase>> SqliteDatabase::OpenToRead(
    const std::string& path, const SqliteOptions& options) {
  SqliteOptions existing = options;
  existing.make = false;
  ASSIGN_OR_RETURN(const std::unique_ptr<SqliteConnection> connection,
                   SqliteConnection::Open(path, existing));
  ASSIGN_OR_RETURN(const bool empty, SqliteIsEmpty(*connection));
  if (empty) {
    // Or somebody makes it at this moment.
    return absl::NotFoundError(absl::StrCat("there is no database ", path, ": the file is empty"));
  }
  RETURN_IF_ERROR(PrepareSqliteSchema(*connection));
  return std::shared_ptr<SqliteDatabase>(new SqliteDatabase(path, existing, nullptr));
}

absl::Status SqliteDatabase::Write(SqliteWriter::Change change) {
  CHECK(writer_ != nullptr) << path_ << " was opened to be read";
  return writer_->Write(change);
}

absl::StatusOr<std::unique_ptr<SqliteConnection>> SqliteDatabase::TakeReader() {
  {
    const std::lock_guard lock(mutex_);
    // Readers are kept: opening one reads the schema and prepares its statements again. There are
    // as many as were ever used at once.
    if (!idle_readers_.empty()) {
      std::unique_ptr<SqliteConnection> reader = std::move(idle_readers_.back());
      idle_readers_.pop_back();
      return reader;
    }
  }
  ASSIGN_OR_RETURN(std::unique_ptr<SqliteConnection> reader,
                   SqliteConnection::Open(path_, options_));
  // A reader that writes would bypass the writer's thread and its group commit.
  RETURN_IF_ERROR(reader->Execute("PRAGMA query_only=ON"));
  return reader;
}

absl::Status SqliteDatabase::Read(absl::FunctionRef<absl::Status(SqliteConnection&)> read) {
  ASSIGN_OR_RETURN(std::unique_ptr<SqliteConnection> reader, TakeReader());
  // One snapshot for all statements of a look-up: with a commit between two of them a row that the
  // index named could be gone.
  RETURN_IF_ERROR(reader->Execute("BEGIN"));
  const absl::Status status = read(*reader);
  // Nothing was changed: to end the snapshot is all that is left to do. A reader that cannot is
  // not used again.
  if (reader->Execute("ROLLBACK").ok()) {
    const std::lock_guard lock(mutex_);
    idle_readers_.push_back(std::move(reader));
  }
  return status;
}

}  // namespace burnish
