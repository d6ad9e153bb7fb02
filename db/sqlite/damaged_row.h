// What is said of a row that cannot be read: where it is, and how to go on without it.
#ifndef DB_SQLITE_DAMAGED_ROW_H_
#define DB_SQLITE_DAMAGED_ROW_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace burnish {

// DATA_LOSS with a command of sqlite3 as its hint.
absl::Status DamagedRow(absl::string_view path, absl::string_view table, int64_t row_id,
                        absl::string_view what);

// Of a record whose workload, target, contract or sketch is not there; the command takes all such.
absl::Status RecordWithoutParts(absl::string_view path, int64_t row_id);

}  // namespace burnish

#endif  // DB_SQLITE_DAMAGED_ROW_H_
