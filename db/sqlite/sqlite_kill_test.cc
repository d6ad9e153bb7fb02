// A tuner that is killed at any point: what it was told is recorded is there, once.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "db/random_entries.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/sqlite_database.h"
#include "db/sqlite/sqlite_record_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr int kKills = 20;
constexpr int kThreads = 3;  // Their appends meet in group commits.

// Trial i, the same in every process.
MeasurementEntry Trial(int32_t i) {
  Rng rng(static_cast<uint64_t>(i));
  MeasurementEntry entry = RandomEntry(rng, {.only_trials = true});
  entry.study_id = "study";
  entry.trial_id = absl::StrCat("trial", i);
  return entry;
}

// Appends trials until it is killed and acknowledges each on `pipe`. The first ones are those that
// the process before it may have lost: told again, as a resumed tuner does.
[[noreturn]] void AppendForEver(const std::string& path, int32_t first, int pipe) {
  absl::StatusOr<std::shared_ptr<SqliteDatabase>> database = SqliteDatabase::Open(path);
  if (!database.ok()) _exit(1);
  SqliteRecordStore store(*database);
  std::vector<std::thread> threads;
  for (int32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&store, first, t, pipe] {
      for (int32_t i = first + t;; i += kThreads) {
        if (!store.Append(Trial(i)).ok()) _exit(2);
        if (write(pipe, &i, sizeof(i)) != sizeof(i)) _exit(3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  _exit(4);
}

// Runs one process until `ack_count` trials are acknowledged and a little longer, kills it, and
// returns all trials that it acknowledged.
std::set<int32_t> RunAndKill(const std::string& path, int32_t first, uint64_t ack_count,
                             uint64_t spin_count) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();  // No other thread is alive here.
  if (child == 0) {
    close(ends[0]);
    AppendForEver(path, first, ends[1]);
  }
  close(ends[1]);
  std::set<int32_t> acknowledged;
  int32_t trial = 0;
  while (acknowledged.size() < ack_count && read(ends[0], &trial, sizeof(trial)) == sizeof(trial)) {
    acknowledged.insert(trial);
  }
  // Anywhere in the next transactions, not only right after an acknowledgement.
  for (volatile uint64_t spin = 0; spin < spin_count;) spin = spin + 1;
  kill(child, SIGKILL);
  while (read(ends[0], &trial, sizeof(trial)) == sizeof(trial)) acknowledged.insert(trial);
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "exit status " << WEXITSTATUS(status);
  return acknowledged;
}

TEST(SqliteKillTest, EveryAcknowledgedTrialIsThereOnceAfterTwentyKills) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/kill.db");
  std::filesystem::remove(path);
  Rng rng(1);
  std::set<int32_t> acknowledged;
  for (int kill_index = 0; kill_index < kKills; ++kill_index) {
    SCOPED_TRACE(absl::StrCat("kill ", kill_index));
    const int32_t end = acknowledged.empty() ? 0 : *acknowledged.rbegin() + 1;
    const int32_t first = static_cast<int32_t>(std::max<int64_t>(0, end - rng.Between(0, 10)));
    acknowledged.merge(RunAndKill(path, first, rng.Below(100), rng.Below(3'000'000)));
    absl::StatusOr<std::shared_ptr<SqliteDatabase>> database = SqliteDatabase::Open(path);
    ASSERT_THAT(database, IsOk());
    const SqliteRecordStore store(*database);
    ASSERT_OK_AND_ASSIGN(const EntryPage page,
                         store.ScanEntries({.study_id = "study", .limit = 10000}));
    std::map<std::string, MeasurementEntry> stored;
    for (const MeasurementEntry& entry : page.entries) {
      EXPECT_TRUE(stored.emplace(entry.trial_id, entry).second) << entry.trial_id << " twice";
    }
    for (const int32_t trial : acknowledged) {
      const auto found = stored.find(absl::StrCat("trial", trial));
      ASSERT_NE(found, stored.end()) << "trial " << trial << " was lost";
      EXPECT_EQ(found->second, Trial(trial));
    }
    // At most what each thread had under way when a process was killed.
    EXPECT_LE(stored.size(), acknowledged.size() + kThreads * (kill_index + 1));
    // Records agree with the log: as many candidates as the log has.
    ASSERT_OK_AND_ASSIGN(const std::vector<Record> records, store.Scan({.limit = 10000}));
    std::set<std::pair<std::string, int32_t>> candidates;
    for (const MeasurementEntry& entry : page.entries) {
      candidates.emplace(entry.candidate.Id(), entry.measurement.environment.method_version);
    }
    EXPECT_EQ(records.size(), candidates.size());
  }
  EXPECT_GT(acknowledged.size(), 100u);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SqliteConnection> connection,
                       SqliteConnection::Open(path, {}));
  ASSERT_OK_AND_ASSIGN(SqliteQuery check, connection->Query("PRAGMA integrity_check"));
  ASSERT_THAT(check.Step(), IsOkAndHolds(true));
  EXPECT_EQ(check.BytesAt(0), "ok");
}

}  // namespace
}  // namespace burnish
