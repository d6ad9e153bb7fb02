// One connection to a SQLite file, and statements on it.
#ifndef DB_SQLITE_CONNECTION_H_
#define DB_SQLITE_CONNECTION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace burnish {

struct SqliteOptions {
  absl::Duration busy_timeout = absl::Seconds(10);  // How long to wait for another process.
  int64_t page_count_max = 0;  // Of 4 KiB; beyond it the disk counts as full. 0: no limit.
  bool make = true;            // The file, where there is none.
};

class SqliteConnection;

// One execution of a statement. Values are bound in order, then rows are stepped through. At its
// end the statement goes back to the connection, which must live longer.
class SqliteQuery {
 public:
  SqliteQuery(SqliteConnection* connection, sqlite3_stmt* statement)
      : connection_(connection), statement_(statement) {}
  SqliteQuery(SqliteQuery&& other) noexcept;
  SqliteQuery& operator=(SqliteQuery&&) = delete;
  ~SqliteQuery();

  // Values are copied.
  SqliteQuery& Int(int64_t value);
  SqliteQuery& Real(double value);
  SqliteQuery& Text(absl::string_view value);
  SqliteQuery& Blob(absl::string_view value);
  SqliteQuery& Null();

  // True: a row is there. False: the end.
  absl::StatusOr<bool> Step();
  // For statements without rows.
  absl::Status Run();

  // Of the present row; NULL reads as 0 or empty.
  bool IsNull(int column) const;
  int64_t IntAt(int column) const;
  double RealAt(int column) const;
  std::string BytesAt(int column) const;  // Text or blob.

 private:
  void Bound(int code);

  SqliteConnection* connection_;
  sqlite3_stmt* statement_;
  int bound_count_ = 0;
  int bind_error_ = 0;  // First result code of a value that was refused.
};

// Not thread-safe.
class SqliteConnection {
 public:
  // Does not look into the file, and changes nothing.
  static absl::StatusOr<std::unique_ptr<SqliteConnection>> Open(const std::string& path,
                                                                const SqliteOptions& options);
  ~SqliteConnection();

  // `sql`: one statement. It is prepared once and kept. The same statement cannot be used a second
  // time before the first SqliteQuery of it has gone.
  absl::StatusOr<SqliteQuery> Query(const std::string& sql);

  // Any number of statements without values or rows.
  absl::Status Execute(const std::string& script);

  // First column of the first row, 0 where there is none.
  absl::StatusOr<int64_t> QueryInt(const std::string& sql);

  int64_t last_insert_row_id() const;
  // False also after SQLite rolled back by itself, as it does on a full disk.
  bool in_transaction() const;
  const std::string& path() const { return path_; }

  absl::Status Error(int code) const;

 private:
  SqliteConnection(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}

  std::string path_;
  sqlite3* handle_;
  absl::flat_hash_map<std::string, sqlite3_stmt*> statements_;
};

}  // namespace burnish

#endif  // DB_SQLITE_CONNECTION_H_
