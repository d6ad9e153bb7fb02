// How one measurement changes the tables.
#ifndef DB_SQLITE_RECORD_WRITER_H_
#define DB_SQLITE_RECORD_WRITER_H_

#include "absl/status/statusor.h"
#include "db/record_store.h"
#include "db/sqlite/connection.h"

namespace burnish {

// Appends a valid entry and derives its record again. Inside the caller's transaction; after an
// error that must be undone.
absl::StatusOr<AppendOutcome> AppendSqliteEntry(SqliteConnection& connection,
                                                const MeasurementEntry& entry);

}  // namespace burnish

#endif  // DB_SQLITE_RECORD_WRITER_H_
