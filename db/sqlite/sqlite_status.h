// What SQLite's result codes mean to our callers. The only place that translates them.
#ifndef DB_SQLITE_SQLITE_STATUS_H_
#define DB_SQLITE_SQLITE_STATUS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace burnish {

// `code`: a result code, extended or not, other than OK, ROW and DONE. `message`: SQLite's own
// text. Each of these has a status code of its own, so that a command can choose its exit code by
// it:
//   locked UNAVAILABLE, full disk RESOURCE_EXHAUSTED, damaged DATA_LOSS, not a database
//   INVALID_ARGUMENT, no permission PERMISSION_DENIED, no such folder NOT_FOUND, I/O error ABORTED;
//   anything else is our bug: INTERNAL.
absl::Status SqliteStatus(int code, absl::string_view path, absl::string_view message);

}  // namespace burnish

#endif  // DB_SQLITE_SQLITE_STATUS_H_
