// The whole of `tuner submit` with its own farm, and one of its processes killed at a random point
// of its progress: 20 times, each process in turn. What is checked is what is left behind, never
// what a program says of itself. A seed decides everything but the machine's timing;
// BURNISH_KILL_SEED sets another one, BURNISH_KILL_POINTS another number of points.
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/self_path.h"
#include "base/status_matchers.h"
#include "db/open.h"
#include "db/sqlite/connection.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/kill/process_tree.h"
#include "tuner/study/study_checker.h"
#include "tuner/study/study_runner.h"

namespace burnish {
namespace {

using ::testing::IsEmpty;

constexpr int kTrials = 30;
constexpr absl::Duration kRunLimit = absl::Minutes(2);      // Never reached when all is well.
constexpr absl::Duration kOrphanLimit = absl::Seconds(20);  // Likewise.
constexpr absl::Duration kPollInterval = absl::Milliseconds(2);
constexpr char kTask[] = "conv2d:n=1,h=14,w=14,ci=16,co=16,k=3,p=1";

enum class Role {
  kCandidateBuild,  // The builder's forked child.
  kRunner,          // The process that a candidate runs in.
  kChecker,
  kBuilder,
  kBuilderWorker,
  kRunnerWorker,
  kTracker,
  kTuner,
};
constexpr int kRoleCount = 8;

const char* NameOf(Role role) {
  constexpr const char* kNames[kRoleCount] = {
      "candidate's build", "candidate's run", "checker", "builder",
      "builder worker",    "runner worker",   "tracker", "tuner"};
  return kNames[static_cast<int>(role)];
}

struct KillPoint {
  Role role;
  int64_t after_trials;  // Recorded ones.
};

uint64_t NumberFromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  uint64_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

std::vector<KillPoint> KillPoints(uint64_t seed, int count) {
  Rng rng(RngStream{.seed = seed, .purpose = "kill points"});
  std::vector<KillPoint> points;
  for (int i = 0; i < count; ++i) {
    // With room behind it for whatever lives only for moments to show up.
    points.push_back({static_cast<Role>(i % kRoleCount), rng.Between(0, kTrials * 2 / 3)});
  }
  return points;
}

// The child of `parent` that runs `program` with `arg` (any, where it is null).
std::optional<Process> FindChild(const std::vector<Process>& processes, pid_t parent,
                                 absl::string_view program, const char* arg = nullptr) {
  for (const Process& child : ChildrenOf(processes, parent)) {
    if (child.state != 'Z' && child.program == program && (arg == nullptr || child.HasArg(arg))) {
      return child;
    }
  }
  return std::nullopt;
}

// Whoever plays the role now, by descent from the tuner.
std::optional<Process> FindRole(pid_t tuner, Role role) {
  const std::vector<Process> processes = ListProcesses();
  const auto below = [&](const char* worker_flag, const char* program) -> std::optional<Process> {
    const std::optional<Process> worker = FindChild(processes, tuner, "worker", worker_flag);
    return worker ? FindChild(processes, worker->pid, program) : std::nullopt;
  };
  switch (role) {
    case Role::kTuner:
      return Process{.pid = tuner, .program = "tuner"};
    case Role::kTracker:
      return FindChild(processes, tuner, "tracker");
    case Role::kBuilderWorker:
      return FindChild(processes, tuner, "worker", "--build");
    case Role::kRunnerWorker:
      return FindChild(processes, tuner, "worker", "--run");
    case Role::kBuilder:
      return below("--build", "builder");
    case Role::kRunner:
      return below("--run", "runner");
    case Role::kChecker:
      return below("--run", "checker");
    case Role::kCandidateBuild: {
      const std::optional<Process> builder = below("--build", "builder");
      return builder ? FindChild(processes, builder->pid, "builder") : std::nullopt;
    }
  }
  return std::nullopt;
}

std::map<std::string, MeasurementEntry> ReadEntries(const Database& database,
                                                    const std::string& study) {
  std::map<std::string, MeasurementEntry> entries;
  EntryQuery query{.study_id = study};
  while (true) {
    const absl::StatusOr<EntryPage> page = database.records->ScanEntries(query);
    EXPECT_THAT(page, IsOk());
    if (!page.ok() || page->entries.empty()) return entries;
    for (const MeasurementEntry& entry : page->entries) {
      EXPECT_TRUE(entries.emplace(entry.trial_id, entry).second) << entry.trial_id << " twice";
    }
    query.after_row_id = page->last_row_id;
  }
}

class KillTest : public ::testing::Test {
 protected:
  // A tuner of its own database and folder for temporary files, found again by its environment.
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(TempDir folder, TempDir::Create("kill-test"));
    folder_.emplace(std::move(folder));
    temporary_ = folder_->path() + "/tmp";
    database_ = folder_->path() + "/study.db";
    marker_ = absl::StrCat("BURNISH_KILL_TEST=", folder_->path());
    std::filesystem::create_directory(temporary_);
  }

  std::unique_ptr<Child> StartTuner(std::vector<std::string> args) {
    const absl::StatusOr<std::string> program = FindProgram("tuner/tuner");
    EXPECT_THAT(program, IsOk());
    args.insert(args.end(), {"--db", database_, "--json"});
    absl::StatusOr<std::unique_ptr<Child>> child = Child::Start(
        {.program = program.value_or(""),
         .args = std::move(args),
         .extra_env = {marker_, "TMPDIR=" + temporary_,
                       "BURNISH_TRACKER=", "BURNISH_TARGET=", "BURNISH_CALIBRATION=table"}});
    EXPECT_THAT(child, IsOk());
    return child.ok() ? *std::move(child) : nullptr;
  }

  // The first line of `submit` and `resume`.
  std::string ReadStudy(Child& tuner) {
    const absl::StatusOr<std::string> line = tuner.ReadLine(kRunLimit);
    EXPECT_THAT(line, IsOk());
    const nlohmann::json json =
        nlohmann::json::parse(line.value_or(""), /*cb=*/nullptr, /*allow_exceptions=*/false);
    return json.is_object() ? json.value("study", "") : "";
  }

  // Kills at the point; what was recorded by then goes into `acknowledged_`. False: the study ended
  // before anybody played the role.
  bool KillAt(Child& tuner, const KillPoint& point) {
    {
      const absl::StatusOr<Database> database = OpenDatabase(database_);
      EXPECT_THAT(database, IsOk());
      if (!database.ok()) return false;
      while (!tuner.Wait(kPollInterval).ok()) {
        const absl::StatusOr<TrialCounts> counts = database->records->CountTrials(study_);
        EXPECT_THAT(counts, IsOk());
        if (!counts.ok() || counts->trial_count >= point.after_trials) break;
      }
      acknowledged_ = ReadEntries(*database, study_);
    }  // Nobody but the tuner has the database open when it dies.
    do {
      const std::optional<Process> target = FindRole(tuner.pid(), point.role);
      if (target.has_value() && kill(target->pid, SIGKILL) == 0) return true;
    } while (!tuner.Wait(absl::ZeroDuration()).ok());
    return false;
  }

  void RunToTheEnd(std::unique_ptr<Child> tuner, const KillPoint& point) {
    const absl::StatusOr<ExitInfo> exit = tuner->Wait(kRunLimit);
    ASSERT_THAT(exit, IsOk()) << "it hangs; " << tuner->stderr_bytes();
    if (point.role != Role::kTuner) {
      EXPECT_EQ(exit->exit_code, 0) << Describe(*exit) << "\n" << exit->stdout_bytes;
      return;
    }
    EXPECT_EQ(exit->signal, SIGKILL);
    tuner.reset();
    CheckNoProcess();
    const std::unique_ptr<Child> resumed = StartTuner({"resume", study_});
    ASSERT_NE(resumed, nullptr);
    EXPECT_EQ(ReadStudy(*resumed), study_);
    const absl::StatusOr<ExitInfo> end = resumed->Wait(kRunLimit);
    ASSERT_THAT(end, IsOk()) << "it hangs; " << resumed->stderr_bytes();
    EXPECT_EQ(end->exit_code, 0) << Describe(*end) << "\n" << end->stdout_bytes;
  }

  void CheckNoProcess() {
    const absl::Time end = Clock::Real().SteadyNow() + kOrphanLimit;
    std::vector<Process> left = ProcessesWithEnvironment(marker_);
    while (!left.empty() && Clock::Real().SteadyNow() < end) {
      left = ProcessesWithEnvironment(marker_);
    }
    for (const Process& process : left) {
      ADD_FAILURE() << "orphan: " << Describe(process);
      kill(process.pid, SIGKILL);
    }
  }

  void CheckDatabase() {
    ASSERT_OK_AND_ASSIGN(const Database database, OpenDatabase(database_));
    EXPECT_THAT(CheckStudy({.study_id = study_,
                            .records = database.records.get(),
                            .studies = database.studies.get()}),
                IsOk());
    const std::map<std::string, MeasurementEntry> entries = ReadEntries(database, study_);
    for (const auto& [trial_id, entry] : acknowledged_) {
      const auto found = entries.find(trial_id);
      ASSERT_NE(found, entries.end()) << "trial " << trial_id << " was lost";
      EXPECT_EQ(found->second, entry) << "trial " << trial_id << " was changed";
    }
    ASSERT_OK_AND_ASSIGN(const TrialCounts counts, database.records->CountTrials(study_));
    EXPECT_EQ(counts.trial_count, kTrials);
    ASSERT_OK_AND_ASSIGN(const StudySummary summary, database.studies->Get(study_));
    EXPECT_EQ(summary.study.state, StudyState::kDone) << summary.study.detail;
    EXPECT_EQ(summary.open_job_count, 0);
    for (const auto& [kind, count] : counts.failure_counts) {
      std::cout << "  " << count << " trials ended as " << FailureKindName(kind) << "\n";
    }
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<SqliteConnection> connection,
                         SqliteConnection::Open(database_, {}));
    ASSERT_OK_AND_ASSIGN(SqliteQuery check, connection->Query("PRAGMA integrity_check"));
    ASSERT_THAT(check.Step(), IsOkAndHolds(true));
    EXPECT_EQ(check.BytesAt(0), "ok");
  }

  void CheckTemporaryFiles() {
    std::vector<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(temporary_)) {
      left.push_back(entry.path().filename().string());
    }
    EXPECT_THAT(left, IsEmpty());
  }

  std::optional<TempDir> folder_;
  std::string temporary_, database_, marker_, study_;
  std::map<std::string, MeasurementEntry> acknowledged_;  // At the kill, by trial id.
};

TEST_F(KillTest, StudyOutlivesTheDeathOfAnyOfItsProcesses) {
  const uint64_t seed = NumberFromEnvironment("BURNISH_KILL_SEED", 1);
  const int count = static_cast<int>(NumberFromEnvironment("BURNISH_KILL_POINTS", 20));
  std::cout << "BURNISH_KILL_SEED=" << seed << "\n";
  const std::vector<KillPoint> points = KillPoints(seed, count);
  for (int i = 0; i < count; ++i) {
    const KillPoint& point = points[i];
    const std::string title = absl::StrCat("point ", i, ": ", NameOf(point.role), " after ",
                                           point.after_trials, " trials, seed ", seed);
    SCOPED_TRACE(title);
    std::cout << title << std::endl;
    if (i > 0) SetUp();
    std::unique_ptr<Child> tuner = StartTuner(
        {"submit", "--task", kTask, "--trials", absl::StrCat(kTrials), "--seed", absl::StrCat(i)});
    ASSERT_NE(tuner, nullptr);
    study_ = ReadStudy(*tuner);
    ASSERT_FALSE(study_.empty()) << tuner->stderr_bytes();
    EXPECT_TRUE(KillAt(*tuner, point)) << "nobody to kill";
    RunToTheEnd(std::move(tuner), point);
    CheckNoProcess();
    CheckDatabase();
    CheckTemporaryFiles();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace burnish
