// The tables, and how a file of an older version becomes one of this version.
#ifndef DB_SQLITE_SCHEMA_H_
#define DB_SQLITE_SCHEMA_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "db/sqlite/connection.h"

namespace burnish {

// "Brns": marks a SQLite file as ours.
inline constexpr int64_t kSqliteApplicationId = 0x42726e73;

// Step i makes version i + 1 of version i. A step that was released never changes: a new file is
// made by all of them in turn, so every step is run by every test.
absl::Span<const char* const> SqliteMigrations();

// Where the file of an older version is copied to, before it becomes one of this version.
std::string SqliteCopyPath(const std::string& path, int64_t version);

// Whether nobody has made tables in the file yet. Errors as PrepareSqliteSchema.
absl::StatusOr<bool> SqliteIsEmpty(SqliteConnection& connection);

// Makes the tables in an empty file, and migrates an older one in one transaction when there is a
// copy of it.
// INVALID_ARGUMENT: not a database, or another program's; FAILED_PRECONDITION: of a newer version.
// Then nothing was changed.
absl::Status PrepareSqliteSchema(SqliteConnection& connection);

}  // namespace burnish

#endif  // DB_SQLITE_SCHEMA_H_
