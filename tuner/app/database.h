// The database of a user: opened, with errors that say what is wrong with it.
#ifndef TUNER_APP_DATABASE_H_
#define TUNER_APP_DATABASE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "db/open.h"

namespace burnish {

// With kMake a file is made where there is none, with its folder. Errors: B05xx, B0510 where there
// is none and none is made.
absl::StatusOr<Database> OpenUserDatabase(const std::string& url, DatabaseAccess access);

// Attaches the B05xx of a store's error. `url`: of the database.
absl::Status DatabaseError(const absl::Status& status, absl::string_view url);

// The file that a database's URL names, "" for one that is no file ("memory:").
std::string DatabasePath(absl::string_view url);

}  // namespace burnish

#endif  // TUNER_APP_DATABASE_H_
