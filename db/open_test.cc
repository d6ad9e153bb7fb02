#include "db/open.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "db/random_entries.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string NewFolder() {
  static int count = 0;
  const std::string folder = absl::StrCat(::testing::TempDir(), "/open", count++);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

TEST(OpenDatabaseTest, WhatWasRecordedIsThereAfterOpeningAgain) {
  const std::string path = NewFolder() + "/a.db";
  Rng rng(1);
  const MeasurementEntry entry = RandomEntry(rng, {});
  {
    ASSERT_OK_AND_ASSIGN(const Database database, OpenDatabase(path));
    ASSERT_THAT(database.records->Append(entry), IsOkAndHolds(AppendOutcome::kRecorded));
    ASSERT_THAT(database.studies->Create({.id = "s"}, {}), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(const Database database, OpenDatabase("sqlite:" + path));
  EXPECT_THAT(database.records->Append(entry), IsOkAndHolds(AppendOutcome::kDuplicate));
  EXPECT_THAT(database.records->FindCandidate(entry.candidate.Id()), IsOkAndHolds(SizeIs(1)));
  EXPECT_THAT(database.studies->Get("s"), IsOk());
}

TEST(OpenDatabaseTest, TwoOpeningsOfOneFileSeeEachOther) {
  const std::string path = NewFolder() + "/a.db";
  ASSERT_OK_AND_ASSIGN(const Database one, OpenDatabase(path));
  ASSERT_OK_AND_ASSIGN(const Database two, OpenDatabase(path));
  ASSERT_THAT(one.studies->Create({.id = "s"}, {}), IsOk());
  EXPECT_THAT(two.studies->SetState("s", StudyState::kRunning, "", 1), IsOk());
  EXPECT_EQ(one.studies->Get("s")->study.state, StudyState::kRunning);
}

TEST(OpenDatabaseTest, ReadersMakeNothingAndSeeWhatOthersWrite) {
  const std::string path = NewFolder() + "/a.db";
  for (const DatabaseAccess access : {DatabaseAccess::kChange, DatabaseAccess::kRead}) {
    EXPECT_THAT(OpenDatabase(path, access), StatusIs(absl::StatusCode::kNotFound, HasSubstr(path)));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  std::ofstream(path).close();
  EXPECT_THAT(OpenDatabase(path, DatabaseAccess::kRead),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("is empty")));
  EXPECT_EQ(std::filesystem::file_size(path), 0);
  ASSERT_OK_AND_ASSIGN(const Database writer, OpenDatabase(path));
  ASSERT_OK_AND_ASSIGN(const Database reader, OpenDatabase(path, DatabaseAccess::kRead));
  ASSERT_THAT(writer.studies->Create({.id = "s"}, {}), IsOk());
  EXPECT_THAT(reader.studies->Get("s"), IsOk());
  ASSERT_OK_AND_ASSIGN(const Database changer, OpenDatabase(path, DatabaseAccess::kChange));
  EXPECT_THAT(changer.studies->SetState("s", StudyState::kRunning, "", 1), IsOk());
}

TEST(OpenDatabaseTest, MemoryKeepsNothing) {
  ASSERT_OK_AND_ASSIGN(const Database database, OpenDatabase("memory:"));
  EXPECT_THAT(database.studies->Create({.id = "s"}, {}), IsOk());
  ASSERT_OK_AND_ASSIGN(const Database other, OpenDatabase("memory:"));
  EXPECT_THAT(other.studies->Get("s"), StatusIs(absl::StatusCode::kNotFound));
}

TEST(OpenDatabaseTest, NamesThatCannotBeOpenedSayWhatToDo) {
  const auto fails = [](absl::StatusCode code, const char* what) {
    return StatusIs(code, AllOf(HasSubstr(what), HasSubstr("hint: ")));
  };
  EXPECT_THAT(OpenDatabase("postgresql://farm/burnish"),
              fails(absl::StatusCode::kUnimplemented, "PostgreSQL"));
  EXPECT_THAT(OpenDatabase("mysql://farm"),
              fails(absl::StatusCode::kInvalidArgument, "unknown scheme"));
  EXPECT_THAT(OpenDatabase(""), fails(absl::StatusCode::kInvalidArgument, "no path"));
  EXPECT_THAT(OpenDatabase(NewFolder()), fails(absl::StatusCode::kInvalidArgument, "is a folder"));
  EXPECT_THAT(OpenDatabase("/no/such/folder/a.db"),
              fails(absl::StatusCode::kNotFound, "mkdir -p /no/such/folder"));
}

TEST(OpenDatabaseTest, FileThatIsNoDatabaseIsRefusedAndLeftAsItIs) {
  const std::string path = NewFolder() + "/notes.txt";
  const std::string text(5000, 'n');
  std::ofstream(path) << text;
  EXPECT_THAT(OpenDatabase(path),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not a database")));
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
}

}  // namespace
}  // namespace burnish
