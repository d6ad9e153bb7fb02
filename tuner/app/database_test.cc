#include "tuner/app/database.h"

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gtest/gtest.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

TEST(DatabaseTest, AUrlNamesAFileOrNone) {
  EXPECT_EQ(DatabasePath("studies.db"), "studies.db");
  EXPECT_EQ(DatabasePath("sqlite:/var/studies.db"), "/var/studies.db");
  EXPECT_EQ(DatabasePath("memory:"), "");
  EXPECT_EQ(DatabasePath("postgresql://host/db"), "");
  EXPECT_EQ(DatabasePath("/odd/a:b.db"), "/odd/a:b.db");  // A colon behind a folder is no scheme.
}

TEST(DatabaseTest, AFileIsMadeWithItsFolder) {
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("database_test"));
  const std::string path = absl::StrCat(folder.path(), "/new/studies.db");
  ASSERT_OK_AND_ASSIGN(const Database database, OpenUserDatabase(path, DatabaseAccess::kMake));
  EXPECT_EQ(database.url, path);
  EXPECT_TRUE(ReadFile(path, 1 << 20).ok());
}

TEST(DatabaseTest, ErrorsNameTheDatabaseAndTheirKind) {
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("database_test"));
  const std::string path = absl::StrCat(folder.path(), "/text.db");
  ASSERT_TRUE(WriteFileAtomically(path, "no database").ok());
  const absl::Status not_one = OpenUserDatabase(path, DatabaseAccess::kMake).status();
  EXPECT_EQ(ErrorCodeOf(not_one), ErrorCode::kNotDatabase);
  EXPECT_EQ(PartsOf(not_one).where, path);
  EXPECT_EQ(ErrorCodeOf(OpenUserDatabase("postgresql://host/db", DatabaseAccess::kRead).status()),
            ErrorCode::kDatabaseScheme);
  EXPECT_TRUE(DatabaseError(absl::OkStatus(), path).ok());
}

}  // namespace
}  // namespace burnish
