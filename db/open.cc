#include "db/open.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "db/memory/memory_record_store.h"
#include "db/memory/memory_study_store.h"
#include "db/sqlite/sqlite_database.h"
#include "db/sqlite/sqlite_record_store.h"
#include "db/sqlite/sqlite_study_store.h"

namespace burnish {
namespace {

// What SQLite itself would say less clearly.
absl::Status CheckPath(const std::string& path) {
  if (path.empty()) {
    return absl::InvalidArgumentError("database: got no path; hint: --db FILE");
  }
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("database ", path, " is a folder; hint: name a file in it"));
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
    return absl::NotFoundError(absl::StrCat("database ", path, ": there is no folder ",
                                            folder.string(), "; hint: mkdir -p ", folder.string()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Database> OpenDatabase(absl::string_view url, DatabaseAccess access) {
  if (absl::StartsWith(url, "postgresql://") || absl::StartsWith(url, "postgres://")) {
    return absl::UnimplementedError(
        absl::StrCat("database ", url, ": there is no PostgreSQL store yet; hint: --db FILE"));
  }
  if (url == "memory:") {
    return Database{.url = std::string(url),
                    .records = std::make_unique<MemoryRecordStore>(),
                    .studies = std::make_unique<MemoryStudyStore>()};
  }
  absl::string_view file = url;
  if (!absl::ConsumePrefix(&file, "sqlite:") && absl::StrContains(url, "://")) {
    return absl::InvalidArgumentError(
        absl::StrCat("database ", url, ": unknown scheme; hint: a path, sqlite:PATH or memory:"));
  }
  const std::string path(file);
  RETURN_IF_ERROR(CheckPath(path));
  const bool make = access == DatabaseAccess::kMake;
  std::error_code error;
  if (!make && !std::filesystem::exists(path, error)) {
    return absl::NotFoundError(absl::StrCat("there is no database ", path));
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<SqliteDatabase> database,
                   access == DatabaseAccess::kRead ? SqliteDatabase::OpenToRead(path)
                                                   : SqliteDatabase::Open(path, {.make = make}));
  return Database{.url = std::string(url),
                  .records = std::make_unique<SqliteRecordStore>(database),
                  .studies = std::make_unique<SqliteStudyStore>(database)};
}

}  // namespace burnish
