#include "db/sqlite/damaged_row.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace burnish {
namespace {

absl::Status Damaged(absl::string_view path, absl::string_view table, int64_t row_id,
                     absl::string_view what, absl::string_view sql) {
  return absl::DataLossError(
      absl::StrCat("database ", path, " is damaged: row ", row_id, " of table ", table, ": ", what,
                   "; hint: put back a copy, or go on without it: sqlite3 FILE \"", sql, "\""));
}

}  // namespace

absl::Status DamagedRow(absl::string_view path, absl::string_view table, int64_t row_id,
                        absl::string_view what) {
  return Damaged(path, table, row_id, what,
                 absl::StrCat("DELETE FROM ", table, " WHERE id=", row_id));
}

absl::Status RecordWithoutParts(absl::string_view path, int64_t row_id) {
  std::string sql = "DELETE FROM record WHERE FALSE";
  for (const absl::string_view part : {"workload", "target", "contract", "sketch"}) {
    absl::StrAppend(&sql, " OR ", part, "_id NOT IN (SELECT id FROM ", part, ")");
  }
  return Damaged(path, "record", row_id, "a row that it names is not there", sql);
}

}  // namespace burnish
