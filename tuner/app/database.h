// The database of a user: opened, with errors that say what is wrong with it.
#ifndef TUNER_APP_DATABASE_H_
#define TUNER_APP_DATABASE_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "db/open.h"
#include "proto/record.h"

namespace burnish {

// With kMake a file is made where there is none, with its folder. Errors: B05xx, B0510 where there
// is none and none is made.
absl::StatusOr<Database> OpenUserDatabase(const std::string& url, DatabaseAccess access);

// Attaches the B05xx of a store's error. `url`: of the database.
absl::Status DatabaseError(const absl::Status& status, absl::string_view url);

// A study's measurements, page by page, in the order of the log. Errors: B05xx.
absl::Status VisitEntries(
    const Database& database, const std::string& study_id,
    absl::FunctionRef<void(absl::Span<const MeasurementEntry> entries)> visit);

// The file that a database's URL names, "" for one that is no file ("memory:").
std::string DatabasePath(absl::string_view url);

}  // namespace burnish

#endif  // TUNER_APP_DATABASE_H_
