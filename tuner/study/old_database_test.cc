// A database of schema version 3, as the program of 22 November 2026 (5c07ec8) wrote it: two
// operators with schedules of another algorithm among their records, one study done, one cut off.
// testdata/README.md says how it was made. This program must know all of it.
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/fake_clock.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "db/open.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/measure/fake_measurer.h"
#include "tuner/study/study_checker.h"
#include "tuner/study/study_runner.h"
#include "tuner/study/study_storage.h"
#include "tuner/study/task_tools.h"

namespace burnish {
namespace {

using Json = nlohmann::json;

constexpr char kFolder[] = "tuner/study/testdata/";

class OldDatabaseTest : public ::testing::Test {
 protected:
  OldDatabaseTest() {
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    path_ = absl::StrCat(::testing::TempDir(), "/", test.name(), ".db");
    std::filesystem::remove(path_);
    std::filesystem::copy_file(absl::StrCat(kFolder, "schema3.db"), path_);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    absl::StatusOr<Database> database = OpenDatabase(path_);
    CHECK_OK(database);
    database_ = *std::move(database);
    const absl::StatusOr<std::string> known =
        ReadFile(absl::StrCat(kFolder, "schema3.json"), 1 << 20);
    CHECK_OK(known);
    known_ = Json::parse(*known);
  }

  std::vector<Record> Records() const {
    const absl::StatusOr<std::vector<Record>> records = database_.records->Scan({.limit = 10000});
    CHECK_OK(records);
    return *records;
  }

  // The study in this state; there is one.
  Study StudyIn(StudyState state) const {
    const absl::StatusOr<std::vector<StudySummary>> found =
        database_.studies->List({.state = state});
    CHECK_OK(found);
    CHECK_EQ(found->size(), 1);
    return found->front().study;
  }

  std::string path_;
  Database database_;
  Json known_;  // What the old program and plain SQL said of the file.
};

TEST_F(OldDatabaseTest, EveryRecordIsThereUnderTheSameId) {
  std::map<std::string, Json> want;
  for (const Json& record : known_["records"]) want[record["candidate"]] = record;
  const std::vector<Record> records = Records();
  ASSERT_EQ(records.size(), want.size());
  for (const Record& record : records) {
    // The identity is computed as it was.
    EXPECT_EQ(record.candidate_id, CandidateId(record.workload_id, record.target, record.contract,
                                               record.trace, record.codegen_epoch));
    const std::string id = absl::BytesToHexString(record.candidate_id);
    ASSERT_TRUE(want.contains(id)) << id;
    EXPECT_EQ(record.rank_ns,
              want[id]["rank_ns"].is_null() ? 0 : want[id]["rank_ns"].get<int64_t>());
    EXPECT_EQ(static_cast<int>(record.numerics.kind), want[id]["numerics_kind"].get<int>());
    EXPECT_EQ(record.numerics.parameter, want[id]["winograd_m"].get<int>());
    EXPECT_EQ(record.numerics.error, want[id]["numerics_error"].get<double>());
  }
}

TEST_F(OldDatabaseTest, FileIsCopiedFirstAndItsStudiesHaveNoOwner) {
  EXPECT_TRUE(std::filesystem::exists(absl::StrCat(path_, ".schema3")));
  ASSERT_OK_AND_ASSIGN(const std::vector<StudySummary> studies, database_.studies->List({}));
  ASSERT_FALSE(studies.empty());
  for (const StudySummary& summary : studies) {
    EXPECT_EQ(summary.lease, StudyLease());
    EXPECT_EQ(summary.crash_count, 0);
  }
}

TEST_F(OldDatabaseTest, AlgorithmsHaveTheirNamesInRecordsAndInMeasurements) {
  std::set<int32_t> tiles;
  for (const Record& record : Records()) {
    const bool is_algorithm = record.numerics.kind == NumericsClass::kAlgorithm;
    EXPECT_EQ(record.numerics.algorithm, is_algorithm ? "winograd" : "");
    if (is_algorithm) tiles.insert(record.numerics.parameter);
  }
  EXPECT_FALSE(tiles.empty());
  const Study study = StudyIn(StudyState::kDone);
  ASSERT_OK_AND_ASSIGN(const EntryPage page,
                       database_.records->ScanEntries({.study_id = study.id, .limit = 10000}));
  std::set<int32_t> measured;
  for (const MeasurementEntry& entry : page.entries) {
    const Numerics& numerics = entry.measurement.numerics;
    EXPECT_EQ(entry.candidate.Id(), entry.measurement.candidate_id);
    if (numerics.kind != NumericsClass::kAlgorithm) continue;
    EXPECT_EQ(numerics.algorithm, "winograd");
    measured.insert(numerics.parameter);
  }
  EXPECT_FALSE(measured.empty());
}

TEST_F(OldDatabaseTest, BestSchedulesAreThoseThatTheOldProgramNamed) {
  std::map<std::pair<std::string, std::string>, std::vector<Json>> want;
  for (const Json& row : known_["query"]["records"]) {
    want[{row["workload"], row["target"]}].push_back(row);
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<TaskKey> tasks, database_.records->ListTasks());
  EXPECT_EQ(tasks.size(), want.size());
  for (const auto& [key, rows] : want) {
    ASSERT_OK_AND_ASSIGN(const BestAnswer best,
                         database_.records->Best({.workload_id = absl::HexStringToBytes(key.first),
                                                  .target = key.second,
                                                  .limit = static_cast<int>(rows.size())}));
    ASSERT_EQ(best.records.size(), rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const Record& record = best.records[i];
      EXPECT_EQ(record.trace, rows[i]["trace"].get<std::string>());
      EXPECT_EQ(record.rank_ns, std::llround(rows[i]["rank_ms"].get<double>() * 1e6));
      EXPECT_EQ(record.median_ns, std::llround(rows[i]["median_ms"].get<double>() * 1e6));
      EXPECT_EQ(record.first_trial_id, rows[i]["trial"].get<std::string>());
      EXPECT_EQ(record.first_recorded_ns, rows[i]["recorded_ns"].get<int64_t>());
    }
  }
}

TEST_F(OldDatabaseTest, StudyThatWasCutOffGoesOnAndMeasuresNothingTwice) {
  const Study study = StudyIn(StudyState::kInterrupted);
  ASSERT_OK_AND_ASSIGN(const StudySpec spec, ReadStudySpec(*database_.studies, study.id));
  ASSERT_OK_AND_ASSIGN(const TrialCounts before, database_.records->CountTrials(study.id));
  ASSERT_GT(before.trial_count, 0);
  ASSERT_LT(before.trial_count, spec.trials_max);
  ASSERT_OK_AND_ASSIGN(const std::vector<StudyTask> tasks, database_.studies->Tasks(study.id));
  ASSERT_OK_AND_ASSIGN(const Target target, ParseTarget(study.target));
  FakeClock clock;
  FakeMeasurer measurer({.latency_ns = [](const MeasureRequest&) { return int64_t{1'000'000'000}; },
                         .clock = &clock});
  StudyRunnerOptions options;
  options.study_id = study.id;
  options.spec = spec;
  options.target = target;
  for (const StudyTask& task : tasks) {
    ASSERT_OK_AND_ASSIGN(const std::optional<Workload> workload,
                         database_.records->FindWorkload(task.workload_id));
    ASSERT_TRUE(workload.has_value());
    ASSERT_OK_AND_ASSIGN(const std::vector<Record> records,
                         database_.records->Scan({.workload_id = task.workload_id, .limit = 1}));
    options.tasks.push_back({.name = task.name,
                             .workload = *workload,
                             .contract = records.front().contract,
                             .weight = task.weight});
    options.codegen_epoch = records.front().codegen_epoch;
  }
  options.make_tools = [](absl::Span<const StudyTaskSpec> tasks, const Target& target,
                          const StudySpec& spec) { return MakeTaskTools({}, tasks, target, spec); };
  options.records = database_.records.get();
  options.studies = database_.studies.get();
  options.measurer = &measurer;
  options.clock = &clock;
  options.enumerated_points_max = 0;
  ASSERT_OK_AND_ASSIGN(const StudyResult result, StudyRunner(options).Run());
  EXPECT_EQ(result.reason, StopReason::kTrials);
  EXPECT_EQ(result.progress.trial_count, spec.trials_max);
  int64_t measured = 0;
  for (const auto& [trial_id, count] : measurer.measured_counts()) measured += count;
  EXPECT_EQ(measured, spec.trials_max - before.trial_count);
  EXPECT_THAT(CheckStudy(options), IsOk());
}

}  // namespace
}  // namespace burnish
