#include "tuner/app/database.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "db/record_store.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

ErrorCode DatabaseErrorCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return ErrorCode::kNotDatabase;
    case absl::StatusCode::kFailedPrecondition:
      return ErrorCode::kNewerDatabase;
    case absl::StatusCode::kUnavailable:
      return ErrorCode::kLockedDatabase;
    case absl::StatusCode::kPermissionDenied:
      return ErrorCode::kDatabasePermission;
    case absl::StatusCode::kResourceExhausted:
      return ErrorCode::kDatabaseFull;
    case absl::StatusCode::kDataLoss:
      return ErrorCode::kDamagedDatabase;
    case absl::StatusCode::kAborted:
      return ErrorCode::kDatabaseIo;
    case absl::StatusCode::kNotFound:
      return ErrorCode::kDatabaseFolder;
    case absl::StatusCode::kUnimplemented:
      return ErrorCode::kDatabaseScheme;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

absl::Status VisitEntries(
    const Database& database, const std::string& study_id,
    absl::FunctionRef<void(absl::Span<const MeasurementEntry> entries)> visit) {
  EntryQuery query{.study_id = study_id};
  while (true) {
    const absl::StatusOr<EntryPage> page = database.records->ScanEntries(query);
    if (!page.ok()) return DatabaseError(page.status(), database.url);
    if (page->entries.empty()) return absl::OkStatus();
    visit(page->entries);
    query.after_row_id = page->last_row_id;
  }
}

std::string DatabasePath(absl::string_view url) {
  if (absl::ConsumePrefix(&url, "sqlite:")) return std::string(url);
  const size_t colon = url.find(':');
  const bool has_scheme =
      colon != absl::string_view::npos && url.substr(0, colon).find('/') == absl::string_view::npos;
  return has_scheme ? "" : std::string(url);
}

absl::Status DatabaseError(const absl::Status& status, absl::string_view url) {
  return status.ok() ? status : WithError(status, DatabaseErrorCode(status.code()), url);
}

absl::StatusOr<Database> OpenUserDatabase(const std::string& url, DatabaseAccess access) {
  std::error_code error;  // Met again when the file is opened.
  if (const std::string path = DatabasePath(url); !path.empty()) {
    if (access == DatabaseAccess::kMake) {
      std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    } else if (!std::filesystem::exists(path, error)) {
      return MakeError(ErrorCode::kNoDatabase, absl::StrCat("there is no database ", path), url);
    }
  }
  absl::StatusOr<Database> database = OpenDatabase(url, access);
  if (access != DatabaseAccess::kMake && absl::IsNotFound(database.status())) {
    return MakeError(ErrorCode::kNoDatabase, database.status().message(), url);
  }
  if (!database.ok()) return DatabaseError(database.status(), url);
  return database;
}

}  // namespace burnish
