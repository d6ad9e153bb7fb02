#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "db/record_store_conformance.h"
#include "db/sqlite/sqlite_database.h"
#include "db/sqlite/sqlite_record_store.h"
#include "db/sqlite/sqlite_study_store.h"
#include "db/study_store_conformance.h"

namespace burnish {
namespace {

std::shared_ptr<SqliteDatabase> NewDatabase() {
  static int count = 0;
  const std::string path = absl::StrCat(::testing::TempDir(), "/conformance", count++, ".db");
  std::filesystem::remove(path);
  absl::StatusOr<std::shared_ptr<SqliteDatabase>> database = SqliteDatabase::Open(path);
  CHECK_OK(database);
  return *database;
}

std::unique_ptr<RecordStore> MakeRecords() {
  return std::make_unique<SqliteRecordStore>(NewDatabase());
}

std::unique_ptr<StudyStore> MakeStudies() {
  return std::make_unique<SqliteStudyStore>(NewDatabase());
}

INSTANTIATE_TEST_SUITE_P(Sqlite, RecordStoreConformanceTest, ::testing::Values(&MakeRecords));
INSTANTIATE_TEST_SUITE_P(Sqlite, StudyStoreConformanceTest, ::testing::Values(&MakeStudies));

}  // namespace
}  // namespace burnish
