// A tuner that is killed at any write, again and again: whatever it leaves behind, the next one
// goes on from, until the budget is spent exactly.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "base/rng.h"
#include "base/status_matchers.h"
#include "db/memory/memory_record_store.h"
#include "db/memory/memory_study_store.h"
#include "db/open.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/study/crashing_stores.h"
#include "tuner/study/study_checker.h"
#include "tuner/study/synthetic_study.h"

namespace burnish {
namespace {

constexpr int kTrials = 60;

struct Run {
  RecordStore* records;
  StudyStore* studies;
  uint64_t seed = 0;
  bool deterministic = false;
  bool farm_survives = true;  // False: a fresh tracker, which knows nothing of open trials.
};

// Kills the study's tuner at random writes until one of them gets through.
void KillUntilDone(const Run& run) {
  SyntheticStudyOptions study_options{
      .seed = run.seed,
      .spec = {.trials_max = kTrials, .deterministic = run.deterministic, .seed = run.seed}};
  const SyntheticStudy study(study_options);
  ASSERT_THAT(CreateStudy(*run.studies, study.New()), IsOk());
  FakeClock clock;
  FakeMeasurerOptions farm_options = study.Farm();
  farm_options.seed = run.seed;
  farm_options.failure_share = 0.2;
  farm_options.lost_share = 0.1;
  farm_options.clock = &clock;
  auto farm = std::make_unique<FakeMeasurer>(farm_options);
  Rng rng(RngStream{.seed = run.seed, .purpose = "kills"});

  int kill_count = 0;
  while (true) {
    CrashPoint crash{.writes_left = rng.Between(0, 40), .last_applies = rng.Below(2) == 1};
    SCOPED_TRACE(absl::StrCat("kill ", kill_count, " seed ", run.seed));
    if (!run.farm_survives) farm = std::make_unique<FakeMeasurer>(farm_options);
    CrashingRecordStore records(run.records, &crash);
    CrashingStudyStore studies(run.studies, &crash);
    CrashingMeasurer measurer(farm.get(), &crash);
    StudyRunner runner(study.Options(&records, &studies, &measurer, &clock));
    crash.on_death = [&runner] { runner.Interrupt(); };
    const absl::StatusOr<StudyResult> result = runner.Run();
    clock.Advance(absl::Seconds(1));

    const StudyRunnerOptions intact = study.Options(run.records, run.studies, farm.get(), &clock);
    // Lost three times: the next run tries it again.
    if (result.ok() && result->reason == StopReason::kParked) continue;
    if (result.ok()) {
      EXPECT_EQ(result->reason, StopReason::kTrials);
      EXPECT_EQ(result->progress.trial_count, kTrials);
    }
    // One that died as it said that it was done is done too.
    if (run.studies->Get(SyntheticStudy::kId)->study.state == StudyState::kDone) {
      ASSERT_THAT(CheckStudy(intact), IsOk());
      ASSERT_THAT(CheckReplay(intact), IsOk());
      break;
    }
    ASSERT_EQ(result.status().code(), absl::StatusCode::kAborted) << result.status();
    ASSERT_LE(run.records->CountTrials(SyntheticStudy::kId)->trial_count, kTrials);
    ASSERT_LT(++kill_count, 1000);
  }
  EXPECT_GT(kill_count, 0);
  EXPECT_EQ(run.records->CountTrials(SyntheticStudy::kId)->trial_count, kTrials);
  if (!run.farm_survives) return;
  for (const auto& [trial_id, count] : farm->measured_counts()) {
    EXPECT_EQ(count, 1) << trial_id << " was measured again";
  }
}

TEST(StudyKillTest, NothingIsLostOrMeasuredAgainWhenTheTrackerSurvives) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    MemoryRecordStore records;
    MemoryStudyStore studies;
    KillUntilDone({.records = &records, .studies = &studies, .seed = seed});
    if (HasFatalFailure()) return;
  }
}

TEST(StudyKillTest, NothingIsLostOrStoredTwiceWhenTheTrackerDiesToo) {
  for (uint64_t seed = 100; seed < 108; ++seed) {
    MemoryRecordStore records;
    MemoryStudyStore studies;
    KillUntilDone({.records = &records, .studies = &studies, .seed = seed, .farm_survives = false});
    if (HasFatalFailure()) return;
  }
}

TEST(StudyKillTest, DeterministicRoundsSurviveToo) {
  for (uint64_t seed = 200; seed < 204; ++seed) {
    MemoryRecordStore records;
    MemoryStudyStore studies;
    KillUntilDone({.records = &records, .studies = &studies, .seed = seed, .deterministic = true});
    if (HasFatalFailure()) return;
  }
}

TEST(StudyKillTest, SameOnDisk) {
  for (uint64_t seed = 300; seed < 302; ++seed) {
    ASSERT_OK_AND_ASSIGN(const Database database,
                         OpenDatabase(absl::StrCat(::testing::TempDir(), "/kill", seed, ".db")));
    KillUntilDone(
        {.records = database.records.get(), .studies = database.studies.get(), .seed = seed});
    if (HasFatalFailure()) return;
  }
}

// A killed deterministic study has the very candidates of one that ran through.
TEST(StudyKillTest, KilledDeterministicStudyIsTheSameStudy) {
  const auto traces_of = [](const RecordStore& records) {
    std::map<std::string, std::string> traces;
    const EntryQuery query{.study_id = SyntheticStudy::kId, .limit = 1000};
    const absl::StatusOr<EntryPage> page = records.ScanEntries(query);
    for (const MeasurementEntry& entry : page->entries) {
      traces[entry.trial_id] = entry.candidate.trace;
    }
    return traces;
  };
  MemoryRecordStore killed_records, whole_records;
  MemoryStudyStore killed_studies, whole_studies;
  KillUntilDone(
      {.records = &killed_records, .studies = &killed_studies, .seed = 400, .deterministic = true});
  const SyntheticStudy study(
      {.seed = 400, .spec = {.trials_max = kTrials, .deterministic = true, .seed = 400}});
  ASSERT_THAT(CreateStudy(whole_studies, study.New()), IsOk());
  FakeClock clock;
  FakeMeasurerOptions farm_options = study.Farm();
  farm_options.seed = 400;  // The same candidates fail.
  farm_options.failure_share = 0.2;
  FakeMeasurer farm(farm_options);
  ASSERT_THAT(StudyRunner(study.Options(&whole_records, &whole_studies, &farm, &clock)).Run(),
              IsOk());
  EXPECT_EQ(traces_of(killed_records), traces_of(whole_records));
}

}  // namespace
}  // namespace burnish
