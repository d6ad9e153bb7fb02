// What a user can meet: another program's file, a newer or damaged one, a lock, a full disk. Each
// has its own status, and nothing that was acknowledged is lost.
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "db/random_entries.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite_database.h"
#include "db/sqlite/sqlite_record_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string NewPath() {
  static int count = 0;
  const std::string folder = absl::StrCat(::testing::TempDir(), "/fault", count++);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder + "/a.db";
}

std::vector<MeasurementEntry> RandomLog(int begin, int end) {
  std::vector<MeasurementEntry> log;
  for (int i = begin; i < end; ++i) {
    Rng rng(static_cast<uint64_t>(i));
    log.push_back(RandomEntry(rng, {.only_trials = true}));
    log.back().trial_id = absl::StrCat("trial", i);
    log.back().study_id = "study";
  }
  return log;
}

absl::StatusOr<SqliteRecordStore> OpenStore(const std::string& path,
                                            const SqliteOptions& options = {}) {
  absl::StatusOr<std::shared_ptr<SqliteDatabase>> database = SqliteDatabase::Open(path, options);
  if (!database.ok()) return database.status();
  return SqliteRecordStore(*database);
}

void RunSql(const std::string& path, const std::string& script) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SqliteConnection> connection,
                       SqliteConnection::Open(path, {}));
  ASSERT_THAT(connection->Execute(script), IsOk());
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

const auto fails = [](absl::StatusCode code, const char* what) {
  return StatusIs(code, AllOf(HasSubstr(what), HasSubstr("hint: ")));
};

TEST(SqliteFaultTest, FileOfAnotherProgramIsRefusedAndLeftAsItIs) {
  const std::string path = NewPath();
  RunSql(path, "CREATE TABLE bookmarks(url TEXT)");
  const std::string before = BytesOf(path);
  EXPECT_THAT(OpenStore(path), fails(absl::StatusCode::kInvalidArgument, "another program"));
  EXPECT_EQ(BytesOf(path), before);
}

TEST(SqliteFaultTest, NewerSchemaIsRefusedAndLeftAsItIs) {
  const std::string path = NewPath();
  ASSERT_THAT(OpenStore(path), IsOk());
  RunSql(path, "PRAGMA user_version=77");
  const std::string before = BytesOf(path);
  EXPECT_THAT(OpenStore(path), fails(absl::StatusCode::kFailedPrecondition, "schema version 77"));
  EXPECT_EQ(BytesOf(path), before);
}

TEST(SqliteFaultTest, DamagedPagesAreDataLossAndNotAWrongAnswer) {
  const std::string path = NewPath();
  {
    ASSERT_OK_AND_ASSIGN(SqliteRecordStore store, OpenStore(path));
    ASSERT_THAT(store.AppendBatch(RandomLog(0, 500)), IsOk());
  }
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);  // All but the first page, which holds the schema's root.
    const std::string garbage(std::filesystem::file_size(path) - 4096, '\x5a');
    file.write(garbage.data(), static_cast<std::streamsize>(garbage.size()));
  }
  const absl::StatusOr<SqliteRecordStore> store = OpenStore(path);
  if (!store.ok()) {
    EXPECT_THAT(store, fails(absl::StatusCode::kDataLoss, "is damaged"));
  } else {
    EXPECT_THAT(store->Scan({}), fails(absl::StatusCode::kDataLoss, "is damaged"));
  }
}

TEST(SqliteFaultTest, RowThatIsNoMessageIsDataLoss) {
  const std::string path = NewPath();
  {
    ASSERT_OK_AND_ASSIGN(SqliteRecordStore store, OpenStore(path));
    ASSERT_THAT(store.AppendBatch(RandomLog(0, 1)), IsOk());
  }
  RunSql(path, "UPDATE measurement SET body = x'ffff'");
  ASSERT_OK_AND_ASSIGN(SqliteRecordStore store, OpenStore(path));
  EXPECT_THAT(store.ScanEntries({.study_id = "study"}),
              fails(absl::StatusCode::kDataLoss, "is damaged"));
  RunSql(path, "UPDATE record SET decisions = x'ffff'");
  EXPECT_THAT(store.Scan({}), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(SqliteFaultTest, FileThatAnotherProcessHoldsIsUnavailableAndThenWorks) {
  const std::string path = NewPath();
  ASSERT_OK_AND_ASSIGN(SqliteRecordStore store,
                       OpenStore(path, {.busy_timeout = absl::Milliseconds(1)}));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SqliteConnection> other,
                       SqliteConnection::Open(path, {}));
  ASSERT_THAT(other->Execute("BEGIN IMMEDIATE"), IsOk());
  EXPECT_THAT(store.AppendBatch(RandomLog(0, 1)),
              fails(absl::StatusCode::kUnavailable, "is locked"));
  EXPECT_THAT(store.CountTrials("study"), IsOkAndHolds(TrialCounts{}));  // Readers never wait.
  ASSERT_THAT(other->Execute("COMMIT"), IsOk());
  EXPECT_THAT(store.AppendBatch(RandomLog(0, 1)), IsOk());
}

TEST(SqliteFaultTest, ShortLockIsWaitedFor) {
  const std::string path = NewPath();
  ASSERT_OK_AND_ASSIGN(SqliteRecordStore store, OpenStore(path));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SqliteConnection> other,
                       SqliteConnection::Open(path, {}));
  ASSERT_THAT(other->Execute("BEGIN IMMEDIATE"), IsOk());
  std::thread appender([&] { EXPECT_THAT(store.AppendBatch(RandomLog(0, 1)), IsOk()); });
  ASSERT_THAT(other->Execute("COMMIT"), IsOk());
  appender.join();
}

TEST(SqliteFaultTest, FullDiskLosesNothingThatWasAcknowledged) {
  const std::string path = NewPath();
  int recorded = 0;
  absl::Status status;
  {
    ASSERT_OK_AND_ASSIGN(SqliteRecordStore store, OpenStore(path, {.page_count_max = 120}));
    while (recorded < 2000) {
      status = store.AppendBatch(RandomLog(recorded, recorded + 10)).status();
      if (!status.ok()) break;
      recorded += 10;
    }
    EXPECT_THAT(status, fails(absl::StatusCode::kResourceExhausted, "no space left"));
    EXPECT_THAT(store.AppendBatch(RandomLog(recorded, recorded + 10)),
                StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_EQ(store.CountTrials("study")->trial_count, recorded);
  }
  EXPECT_GT(recorded, 0);
  // With space again it goes on where it stopped.
  ASSERT_OK_AND_ASSIGN(SqliteRecordStore store, OpenStore(path));
  EXPECT_EQ(store.CountTrials("study")->trial_count, recorded);
  ASSERT_OK_AND_ASSIGN(const std::vector<AppendOutcome> outcomes,
                       store.AppendBatch(RandomLog(0, recorded + 10)));
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), AppendOutcome::kRecorded), 10);
}

TEST(SqliteFaultTest, ChangeThatFailsTakesNoOtherOfItsGroupAlong) {
  const std::string path = NewPath();
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<SqliteDatabase> database, SqliteDatabase::Open(path));
  // While the first change runs, the others queue up: they become one group.
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&database, i] {
      const absl::Status status =
          database->Write([i](SqliteConnection& connection) -> absl::Status {
            const absl::Status inserted = connection.Execute(
                absl::StrCat("INSERT INTO contract(text) VALUES('contract", i, "')"));
            if (!inserted.ok() || i % 2 == 0) return inserted;
            return absl::FailedPreconditionError("changed my mind");
          });
      EXPECT_EQ(status.ok(), i % 2 == 0) << status;
    });
  }
  for (std::thread& thread : threads) thread.join();
  int64_t count = 0;
  ASSERT_THAT(database->Read([&count](SqliteConnection& connection) -> absl::Status {
    const absl::StatusOr<int64_t> rows = connection.QueryInt("SELECT COUNT(*) FROM contract");
    if (rows.ok()) count = *rows;
    return rows.status();
  }),
              IsOk());
  EXPECT_EQ(count, 10);
}

TEST(SqliteFaultTest, ManyOpenersOfANewFileMakeItOnce) {
  const std::string path = NewPath();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&path, i] {
      absl::StatusOr<SqliteRecordStore> store = OpenStore(path);
      ASSERT_THAT(store, IsOk());
      EXPECT_THAT(store->AppendBatch(RandomLog(i, i + 2)), IsOk());
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_OK_AND_ASSIGN(SqliteRecordStore store, OpenStore(path));
  EXPECT_THAT(store.ScanEntries({.study_id = "study"}),
              IsOkAndHolds(::testing::Field(&EntryPage::entries, SizeIs(9))));
}

// A file of schema version 1, as it would be with what `path` holds: made by running the newest
// schema's content backwards through version 1's own statements.
void MakeVersion1(const std::string& from, const std::string& path) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SqliteConnection> connection,
                       SqliteConnection::Open(path, {}));
  ASSERT_THAT(connection->Execute(SqliteMigrations()[0]), IsOk());
  ASSERT_THAT(connection->Execute(absl::StrCat(
                  "PRAGMA user_version=1; PRAGMA application_id=", kSqliteApplicationId,
                  "; ATTACH '", from, "' AS newest")),
              IsOk());
  for (const char* table : {"workload", "target", "contract", "sketch", "study_name"}) {
    ASSERT_THAT(
        connection->Execute(absl::StrCat("INSERT INTO ", table, " SELECT * FROM newest.", table)),
        IsOk());
  }
  ASSERT_THAT(connection->Execute(R"sql(
INSERT INTO record SELECT id, candidate_id, method_version, workload_id, target_id, contract_id,
  sketch_id, decisions, codegen_epoch, rank_ns, median_ns, interval_low_ns, interval_high_ns,
  process_count, repeat_count, failure_kind, failure_text, numerics_kind, numerics_parameter,
  numerics_error, scratch_bytes, packed_bytes, code_bytes, lowered_sha256, code_sha256,
  first_recorded_ns, first_trial_id, host
FROM newest.record)sql"),
              IsOk());
  ASSERT_THAT(connection->Execute(R"sql(
INSERT INTO measurement SELECT m.id, record_id, study_id, trial_id, purpose, number, recorded_ns,
  failure_kind, e.body, m.body
FROM newest.measurement m JOIN newest.environment e ON e.id = m.environment_id)sql"),
              IsOk());
}

TEST(SqliteMigrationTest, Version1KeepsEveryMeasurementAndStoresEnvironmentsOnce) {
  const std::string newest = NewPath(), path = NewPath();
  ASSERT_OK_AND_ASSIGN(SqliteRecordStore want, OpenStore(newest));
  ASSERT_THAT(want.AppendBatch(RandomLog(0, 200)), IsOk());
  MakeVersion1(newest, path);
  ASSERT_OK_AND_ASSIGN(SqliteRecordStore got, OpenStore(path));
  ASSERT_OK_AND_ASSIGN(const std::vector<Record> want_records, want.Scan({.limit = 10000}));
  EXPECT_THAT(got.Scan({.limit = 10000}), IsOkAndHolds(want_records));
  ASSERT_OK_AND_ASSIGN(const EntryPage want_entries, want.ScanEntries({.study_id = "study"}));
  ASSERT_OK_AND_ASSIGN(const EntryPage got_entries, got.ScanEntries({.study_id = "study"}));
  EXPECT_THAT(got_entries.entries, SizeIs(200));
  EXPECT_EQ(got_entries.entries, want_entries.entries);
  // It takes new measurements, knows the old ones, and has the newest schema to the letter.
  ASSERT_OK_AND_ASSIGN(const std::vector<AppendOutcome> outcomes,
                       got.AppendBatch(RandomLog(199, 201)));
  EXPECT_THAT(outcomes,
              ::testing::ElementsAre(AppendOutcome::kDuplicate, AppendOutcome::kRecorded));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SqliteConnection> connection,
                       SqliteConnection::Open(path, {}));
  EXPECT_THAT(connection->QueryInt("PRAGMA user_version"),
              IsOkAndHolds(static_cast<int64_t>(SqliteMigrations().size())));
  EXPECT_THAT(connection->QueryInt("SELECT COUNT(*) < 20 FROM environment"), IsOkAndHolds(1));
  // The file of before is beside it, and whole.
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SqliteConnection> copy,
                       SqliteConnection::Open(SqliteCopyPath(path, 1), {}));
  EXPECT_THAT(copy->QueryInt("PRAGMA user_version"), IsOkAndHolds(1));
  EXPECT_THAT(copy->QueryInt("PRAGMA application_id"), IsOkAndHolds(kSqliteApplicationId));
  EXPECT_THAT(copy->QueryInt("SELECT COUNT(*) FROM measurement"), IsOkAndHolds(200));
  // A new file has nothing that could be lost.
  EXPECT_FALSE(std::filesystem::exists(SqliteCopyPath(newest, 0)));
  ASSERT_THAT(connection->Execute(absl::StrCat("ATTACH '", newest, "' AS newest")), IsOk());
  EXPECT_THAT(connection->QueryInt("SELECT COUNT(*) FROM (SELECT name, sql FROM sqlite_schema "
                                   "EXCEPT SELECT name, sql FROM newest.sqlite_schema)"),
              IsOkAndHolds(0));
}

TEST(SqliteMigrationTest, FileThatCannotBeCopiedKeepsItsVersion) {
  const std::string newest = NewPath(), path = NewPath();
  ASSERT_OK_AND_ASSIGN(SqliteRecordStore want, OpenStore(newest));
  ASSERT_THAT(want.AppendBatch(RandomLog(0, 20)), IsOk());
  MakeVersion1(newest, path);
  // No file can take the place of a folder that is not empty.
  std::filesystem::create_directories(SqliteCopyPath(path, 1) + "/something");
  EXPECT_THAT(OpenStore(path), fails(absl::StatusCode::kAborted, "cannot be copied"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SqliteConnection> connection,
                       SqliteConnection::Open(path, {}));
  EXPECT_THAT(connection->QueryInt("PRAGMA user_version"), IsOkAndHolds(1));
  std::filesystem::remove_all(SqliteCopyPath(path, 1));
  EXPECT_THAT(OpenStore(path), IsOk());
}

TEST(SqliteMigrationTest, MigrationThatFailsLeavesTheOldVersion) {
  const std::string newest = NewPath(), path = NewPath();
  ASSERT_OK_AND_ASSIGN(SqliteRecordStore store, OpenStore(newest));
  ASSERT_THAT(store.AppendBatch(RandomLog(0, 200)), IsOk());
  MakeVersion1(newest, path);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SqliteConnection> connection,
                       SqliteConnection::Open(path, {}));
  ASSERT_OK_AND_ASSIGN(const int64_t pages, connection->QueryInt("PRAGMA page_count"));
  EXPECT_THAT(OpenStore(path, {.page_count_max = pages + 2}),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(connection->QueryInt("PRAGMA user_version"), IsOkAndHolds(1));
  EXPECT_THAT(connection->QueryInt("SELECT COUNT(*) FROM measurement WHERE environment != x''"),
              IsOkAndHolds(200));
  EXPECT_THAT(OpenStore(path), IsOk());
}

}  // namespace
}  // namespace burnish
