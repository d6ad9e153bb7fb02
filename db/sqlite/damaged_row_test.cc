// Each column of each table, with values that its type allows and nobody wrote. Whatever is asked
// of the stores is answered, or names the row with a command; after the command it is answered.
#include "db/sqlite/damaged_row.h"

#include <filesystem>
#include <functional>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "db/random_entries.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/sqlite_database.h"
#include "db/sqlite/sqlite_record_store.h"
#include "db/sqlite/sqlite_study_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr int kEntries = 6;

std::vector<MeasurementEntry> Entries() {
  std::vector<MeasurementEntry> entries;
  for (int i = 0; i < kEntries; ++i) {
    Rng rng(static_cast<uint64_t>(i));
    entries.push_back(RandomEntry(rng, {.only_trials = true}));
    entries.back().trial_id = absl::StrCat("trial", i);
    entries.back().study_id = "study";
  }
  return entries;
}

class DamagedRowTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/damaged");
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    Open("whole.db", [&](SqliteRecordStore& records, SqliteStudyStore& studies) {
      ASSERT_THAT(records.AppendBatch(Entries()), IsOk());
      ASSERT_THAT(studies.Create(
                      {.id = "study",
                       .title = "t",
                       .target = "cpu:arch=znver3",
                       .spec = "s",
                       .created_ns = 1,
                       .updated_ns = 1},
                      {{{.workload_id = RandomEntryWorkload(0).id, .name = "task", .weight = 1}}}),
                  IsOk());
      ASSERT_THAT(studies.AppendLog("study", 0,
                                    {{{.kind = StudyLogKind::kSnapshot, .snapshot_id = "session 1"},
                                      {.kind = StudyLogKind::kUpdate, .trial_ids = {"trial1"}}}}),
                  IsOk());
      ASSERT_THAT(studies.PutJobs("study", {{{.job_id = "job", .trial_id = "trial99"}}}), IsOk());
    });
  }

  std::string Path(const std::string& name) const { return absl::StrCat(folder_, "/", name); }

  void Open(const std::string& name,
            const std::function<void(SqliteRecordStore&, SqliteStudyStore&)>& then) {
    ASSERT_OK_AND_ASSIGN(const std::shared_ptr<SqliteDatabase> database,
                         SqliteDatabase::Open(Path(name), {}));
    SqliteRecordStore records(database);
    SqliteStudyStore studies(database);
    then(records, studies);
  }

  absl::Status RunSql(const std::string& name, const std::string& script) {
    auto connection = SqliteConnection::Open(Path(name), {});
    return connection.ok() ? (*connection)->Execute(script) : connection.status();
  }

  std::vector<std::vector<std::string>> Rows(const std::string& sql, int columns) {
    std::vector<std::vector<std::string>> rows;
    auto connection = SqliteConnection::Open(Path("whole.db"), {});
    auto query = (*connection)->Query(sql);
    while (query->Step().value()) {
      rows.emplace_back();
      for (int i = 0; i < columns; ++i) rows.back().push_back(query->BytesAt(i));
    }
    return rows;
  }

  // Everything that reads: what each says.
  std::vector<absl::Status> AskAll() {
    std::vector<absl::Status> said;
    Open("damaged.db", [&](SqliteRecordStore& records, SqliteStudyStore& studies) {
      said.push_back(records.Scan({.with_failures = true, .limit = 100}).status());
      said.push_back(records.ScanEntries({.study_id = "study", .limit = 100}).status());
      said.push_back(records.CountTrials("study").status());
      said.push_back(records.ListTasks().status());
      for (int workload = 0; workload < 4; ++workload) {
        said.push_back(records.FindWorkload(RandomEntryWorkload(workload).id).status());
        for (int target = 0; target < 2; ++target) {
          said.push_back(records
                             .Best({.workload_id = RandomEntryWorkload(workload).id,
                                    .target = RandomEntryTarget(target).ToText(),
                                    .limit = 5})
                             .status());
        }
      }
      // Of candidates that are known: their measurements are read for the summary.
      std::vector<MeasurementEntry> again = Entries();
      for (MeasurementEntry& entry : again) {
        said.push_back(records.FindCandidate(entry.measurement.candidate_id).status());
        entry.trial_id += "again";
      }
      said.push_back(records.AppendBatch(again).status());
      said.push_back(studies.List({.limit = 100}).status());
      said.push_back(studies.Get("study").status());
      said.push_back(studies.Tasks("study").status());
      said.push_back(studies.ReadLog("study", 0, 100).status());
      said.push_back(studies.OpenJobs("study").status());
    });
    return said;
  }

  std::string folder_;
};

// What is in quotes behind "sqlite3 FILE"; empty: there is no command.
std::string CommandOf(const absl::Status& status) {
  const absl::string_view message = status.message();
  constexpr absl::string_view kBegin =
      "; hint: put back a copy, or go on without it: sqlite3 FILE \"";
  const size_t at = message.find(kBegin);
  if (!absl::IsDataLoss(status) || at == absl::string_view::npos) return "";
  return std::string(absl::StripSuffix(message.substr(at + kBegin.size()), "\""));
}

std::vector<std::string> ValuesOf(const std::string& type) {
  if (type == "INTEGER") return {"-1", "0", "77", "4611686018427387904", "NULL"};
  if (type == "REAL") return {"-1.0", "0.0", "9e999", "-9e999", "NULL"};
  if (type == "TEXT") return {"''", "'no such thing'", "'a\";b''c'", "CAST(x'ff00fe' AS TEXT)"};
  return {"x''", "x'ff'", "x'0a'", "zeroblob(32)", "x'ffffffffffffffffffffffff'"};
}

TEST_F(DamagedRowTest, IsPassedOverOrNamedWithTheCommandThatGoesOn) {
  int changed = 0;
  std::map<std::string, int> named;  // By table.
  for (const auto& table : Rows("SELECT name FROM sqlite_schema WHERE type='table'", 1)) {
    const auto columns =
        Rows(absl::StrCat("SELECT name, type, pk FROM pragma_table_info('", table[0], "')"), 3);
    std::vector<std::string> keys;
    for (const auto& column : columns) {
      if (column[2] != "0") keys.push_back(column[0]);
    }
    const std::string key = absl::StrJoin(keys, ", ");
    for (const auto& column : columns) {
      for (const std::string& value : ValuesOf(column[1])) {
        const std::string sql =
            absl::StrCat("UPDATE ", table[0], " SET ", column[0], "=", value, " WHERE (", key,
                         ")=(SELECT ", key, " FROM ", table[0], " ORDER BY ", key, " LIMIT 1)");
        SCOPED_TRACE(sql);
        std::filesystem::remove(Path("damaged.db-wal"));
        std::filesystem::remove(Path("damaged.db-shm"));
        std::filesystem::copy_file(Path("whole.db"), Path("damaged.db"),
                                   std::filesystem::copy_options::overwrite_existing);
        if (!RunSql("damaged.db", sql).ok()) continue;  // The schema forbids it.
        ++changed;
        // Each command takes one row; many may name it, and a second be behind it.
        for (int commands = 0;; ++commands) {
          std::string command;
          for (const absl::Status& said : AskAll()) {
            if (said.ok() || absl::IsNotFound(said)) continue;
            command = CommandOf(said);
            EXPECT_NE(command, "") << said;
            named[table[0]] += commands == 0 ? 1 : 0;
            break;
          }
          if (command.empty()) break;
          ASSERT_LT(commands, 3) << command;
          ASSERT_THAT(RunSql("damaged.db", command), IsOk());
        }
      }
    }
  }
  EXPECT_GT(changed, 150);
  for (const char* table : {"workload", "target", "sketch", "environment", "record", "measurement",
                            "study", "study_task", "study_log"}) {
    EXPECT_GT(named[table], 0) << table;
  }
}

}  // namespace
}  // namespace burnish
