// From what a user wrote after --db to stores.
#ifndef DB_OPEN_H_
#define DB_OPEN_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "db/record_store.h"
#include "db/study_store.h"

namespace burnish {

struct Database {
  std::string url;  // As opened, for messages.
  std::unique_ptr<RecordStore> records;
  std::unique_ptr<StudyStore> studies;
};

enum class DatabaseAccess {
  kMake,    // A file is made where there is none; its folder is not.
  kChange,  // It is there.
  kRead,    // It is there, and no store of it changes anything.
};

// `url`: a path, "sqlite:PATH" (both a SQLite file), or "memory:" (nothing is kept). Errors, each
// with a hint, besides those of RecordStore: INVALID_ARGUMENT: not a database, another program's,
// or an unknown scheme; FAILED_PRECONDITION: of a newer schema; PERMISSION_DENIED; NOT_FOUND: no
// such folder; UNIMPLEMENTED: postgresql://.
absl::StatusOr<Database> OpenDatabase(absl::string_view url,
                                      DatabaseAccess access = DatabaseAccess::kMake);

}  // namespace burnish

#endif  // DB_OPEN_H_
