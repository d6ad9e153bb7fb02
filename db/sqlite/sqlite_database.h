// One SQLite file: one writer, and as many readers as there are threads that read at once.
#ifndef DB_SQLITE_SQLITE_DATABASE_H_
#define DB_SQLITE_SQLITE_DATABASE_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/writer.h"

namespace burnish {

// Thread-safe. The record and the study store of a file share one.
class SqliteDatabase {
 public:
  // Makes the file where there is none and `options` want it, its folder not. Errors: SqliteStatus,
  // PrepareSqliteSchema.
  static absl::StatusOr<std::shared_ptr<SqliteDatabase>> Open(const std::string& path,
                                                              const SqliteOptions& options = {});

  // A file that is there, and is not changed: only one of an older version becomes one of this.
  static absl::StatusOr<std::shared_ptr<SqliteDatabase>> OpenToRead(
      const std::string& path, const SqliteOptions& options = {});

  absl::Status Write(SqliteWriter::Change change);

  // All statements of `read` see the same state of the file. On the caller's thread.
  absl::Status Read(absl::FunctionRef<absl::Status(SqliteConnection&)> read);

 private:
  SqliteDatabase(std::string path, const SqliteOptions& options,
                 std::unique_ptr<SqliteConnection> connection)
      : path_(std::move(path)),
        options_(options),
        writer_(connection == nullptr ? nullptr
                                      : std::make_unique<SqliteWriter>(std::move(connection))) {}

  absl::StatusOr<std::unique_ptr<SqliteConnection>> TakeReader();

  const std::string path_;
  const SqliteOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<SqliteConnection>> idle_readers_;  // Guarded by mutex_.
  const std::unique_ptr<SqliteWriter> writer_;                   // Null: only read.
};

}  // namespace burnish

#endif  // DB_SQLITE_SQLITE_DATABASE_H_
