#include "db/sqlite/connection.h"

#include <sqlite3.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "db/sqlite/sqlite_status.h"

namespace burnish {

SqliteQuery::SqliteQuery(SqliteQuery&& other) noexcept
    : connection_(other.connection_),
      statement_(std::exchange(other.statement_, nullptr)),
      bound_count_(other.bound_count_),
      bind_error_(other.bind_error_) {}

SqliteQuery::~SqliteQuery() {
  if (statement_ == nullptr) return;
  // What sqlite3_reset returns was reported by Step already.
  sqlite3_reset(statement_);
  // A value that stayed bound would hold its memory, and the next use that binds too few would find
  // it.
  sqlite3_clear_bindings(statement_);
}

void SqliteQuery::Bound(int code) {
  // The first one is the cause. It is reported by Step, so that calls can be chained.
  if (bind_error_ == SQLITE_OK) bind_error_ = code;
}

SqliteQuery& SqliteQuery::Int(int64_t value) {
  Bound(sqlite3_bind_int64(statement_, ++bound_count_, value));
  return *this;
}

SqliteQuery& SqliteQuery::Real(double value) {
  Bound(sqlite3_bind_double(statement_, ++bound_count_, value));
  return *this;
}

SqliteQuery& SqliteQuery::Text(absl::string_view value) {
  // A null pointer would bind NULL and not an empty text.
  Bound(sqlite3_bind_text64(statement_, ++bound_count_, value.empty() ? "" : value.data(),
                            value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

SqliteQuery& SqliteQuery::Blob(absl::string_view value) {
  Bound(sqlite3_bind_blob64(statement_, ++bound_count_, value.empty() ? "" : value.data(),
                            value.size(), SQLITE_TRANSIENT));
  return *this;
}

SqliteQuery& SqliteQuery::Null() {
  Bound(sqlite3_bind_null(statement_, ++bound_count_));
  return *this;
}

absl::StatusOr<bool> SqliteQuery::Step() {
  if (bind_error_ != SQLITE_OK) return connection_->Error(bind_error_);
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return connection_->Error(code);
}

absl::Status SqliteQuery::Run() { return Step().status(); }

bool SqliteQuery::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

int64_t SqliteQuery::IntAt(int column) const { return sqlite3_column_int64(statement_, column); }

double SqliteQuery::RealAt(int column) const { return sqlite3_column_double(statement_, column); }

std::string SqliteQuery::BytesAt(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

absl::StatusOr<std::unique_ptr<SqliteConnection>> SqliteConnection::Open(
    const std::string& path, const SqliteOptions& options) {
  sqlite3* handle = nullptr;
  // One connection is used by one thread at a time: SQLite's own mutexes are not needed.
  const int code = sqlite3_open_v2(
      path.c_str(), &handle,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (options.make ? SQLITE_OPEN_CREATE : 0),
      nullptr);
  // Even a connection that could not be opened must be closed.
  std::unique_ptr<SqliteConnection> connection(new SqliteConnection(path, handle));
  if (code != SQLITE_OK) return connection->Error(code);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, static_cast<int>(absl::ToInt64Milliseconds(options.busy_timeout)));
  if (options.page_count_max > 0) {
    RETURN_IF_ERROR(
        connection->Execute(absl::StrCat("PRAGMA max_page_count=", options.page_count_max)));
  }
  return connection;
}

SqliteConnection::~SqliteConnection() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close_v2(handle_);
}

absl::StatusOr<SqliteQuery> SqliteConnection::Query(const std::string& sql) {
  // By text: preparing costs more than most of these statements. The number of texts is bounded by
  // the code, since values are bound and never pasted.
  sqlite3_stmt*& statement = statements_[sql];
  if (statement == nullptr) {
    const int code = sqlite3_prepare_v3(handle_, sql.c_str(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return Error(code);
  }
  // A second use would reset the rows that the first one is still reading: silently wrong answers.
  CHECK(!sqlite3_stmt_busy(statement)) << "used twice at once: " << sql;
  return SqliteQuery(this, statement);
}

absl::Status SqliteConnection::Execute(const std::string& script) {
  const int code = sqlite3_exec(handle_, script.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code);
}

absl::StatusOr<int64_t> SqliteConnection::QueryInt(const std::string& sql) {
  ASSIGN_OR_RETURN(SqliteQuery query, Query(sql));
  ASSIGN_OR_RETURN(const bool found, query.Step());
  return found ? query.IntAt(0) : 0;
}

int64_t SqliteConnection::last_insert_row_id() const { return sqlite3_last_insert_rowid(handle_); }

bool SqliteConnection::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

absl::Status SqliteConnection::Error(int code) const {
  return SqliteStatus(code, path_, handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_));
}

}  // namespace burnish
