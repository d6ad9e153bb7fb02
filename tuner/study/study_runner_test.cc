#include "tuner/study/study_runner.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "db/memory/memory_record_store.h"
#include "db/memory/memory_study_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/protocol.h"
#include "tuner/search/synthetic_task.h"
#include "tuner/study/stop_rule.h"
#include "tuner/study/study_checker.h"
#include "tuner/study/study_claim.h"
#include "tuner/study/study_log.h"
#include "tuner/study/study_retry.h"
#include "tuner/study/synthetic_study.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class StudyRunnerTest : public ::testing::Test {
 protected:
  void Create(const SyntheticStudyOptions& options) {
    study_ = std::make_unique<SyntheticStudy>(options);
    ASSERT_THAT(CreateStudy(*studies_, study_->New()), IsOk());
    SetFarm(study_->Farm());
  }
  void SetFarm(FakeMeasurerOptions farm) {
    farm.clock = &clock_;
    measurer_ = std::make_unique<FakeMeasurer>(farm);
  }

  StudyRunnerOptions Options() {
    return study_->Options(records_.get(), studies_.get(), measurer_.get(), &clock_);
  }
  absl::StatusOr<StudyResult> Run() { return StudyRunner(Options()).Run(); }

  StudyState State() { return studies_->Get(SyntheticStudy::kId)->study.state; }
  int64_t StoredTrials() { return records_->CountTrials(SyntheticStudy::kId)->trial_count; }

  // Traces of the study's trials, by trial id.
  std::map<std::string, std::string> Traces() {
    std::map<std::string, std::string> traces;
    EntryQuery query{.study_id = SyntheticStudy::kId, .limit = 10000};
    const absl::StatusOr<EntryPage> page = records_->ScanEntries(query);
    for (const MeasurementEntry& entry : page->entries) {
      traces[entry.trial_id] = entry.candidate.trace;
    }
    return traces;
  }

  FakeClock clock_;
  std::unique_ptr<MemoryRecordStore> records_ = std::make_unique<MemoryRecordStore>();
  std::unique_ptr<MemoryStudyStore> studies_ = std::make_unique<MemoryStudyStore>();
  std::unique_ptr<SyntheticStudy> study_;
  std::unique_ptr<FakeMeasurer> measurer_;
};

TEST_F(StudyRunnerTest, SpendsItsBudgetExactlyAndFindsFasterCandidates) {
  Create({.task_count = 3, .spec = {.trials_max = 200}});
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(result.reason, StopReason::kTrials);
  EXPECT_EQ(result.progress.trial_count, 200);
  EXPECT_EQ(StoredTrials(), 200);
  EXPECT_EQ(State(), StudyState::kDone);
  ASSERT_THAT(result.progress.tasks, SizeIs(3));
  for (const TaskStatus& task : result.progress.tasks) {
    EXPECT_EQ(task.best.origin, BestOrigin::kTrial);
    EXPECT_LT(task.best.latency_ns, task.default_ns);
  }
  EXPECT_THAT(CheckStudy(Options()), IsOk());
  EXPECT_THAT(CheckReplay(Options()), IsOk());
}

TEST_F(StudyRunnerTest, SaysWhereItsTimeWent) {
  Create({.task_count = 2, .spec = {.trials_max = 30}});
  FakeMeasurerOptions farm = study_->Farm();
  farm.effort = {.check_ns = 1'000, .wait_ns = 2'000, .run_ns = 3'000};
  farm.build_ns = 4'000;
  SetFarm(farm);
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  const StudyTimes& times = result.progress.times;
  // 30 trials and candidate 0 of each task.
  EXPECT_EQ(times.check, absl::Microseconds(32));
  EXPECT_EQ(times.queue, absl::Microseconds(64));
  EXPECT_EQ(times.run, absl::Microseconds(96));
  EXPECT_EQ(times.build, absl::Microseconds(128));
  // The clock moves only while results are awaited.
  EXPECT_EQ(times.wait, result.progress.elapsed);
  EXPECT_EQ(times.search, absl::ZeroDuration());
}

TEST_F(StudyRunnerTest, CandidateZeroIsMeasuredFirstAndNamedByEveryTrial) {
  Create({.task_count = 2, .spec = {.trials_max = 20}});
  ASSERT_THAT(Run(), IsOk());
  std::set<const MeasureTask*> tasks;
  for (size_t i = 0; i < measurer_->requests().size(); ++i) {
    const MeasureRequest& request = measurer_->requests()[i];
    EXPECT_EQ(i < 2, absl::EndsWith(request.trial_id, "/ref")) << request.trial_id;
    EXPECT_TRUE(request.task->reference_trace.has_value());
    if (i >= 2) EXPECT_GT(request.incumbent_ns, 0);
  }
  EXPECT_EQ(measurer_->requests().size(), 22);
}

TEST_F(StudyRunnerTest, FewTrialsOfATaskAreUnderWayBeforeAnyIsKnown) {
  Create({.task_count = 1, .spec = {.trials_max = 40}});
  FakeMeasurerOptions farm = study_->Farm();
  int open_max = 0;
  farm.latency_ns = [&, formula = farm.latency_ns](const MeasureRequest& request) {
    open_max = std::max(open_max, measurer_->open_count());
    return formula(request);
  };
  SetFarm(farm);
  StudyRunnerOptions options = Options();
  options.batch_size = 8;
  options.in_flight_max = 64;
  ASSERT_THAT(StudyRunner(options).Run().status(), IsOk());
  EXPECT_EQ(StoredTrials(), 40);
  EXPECT_GE(open_max, 12);
  EXPECT_LE(open_max, 20);
}

// Trials of each of four tasks, of two batches in all; the references come back one by one.
class FewTrialsTest : public StudyRunnerTest {
 protected:
  std::vector<int> Counts(bool no_default) {
    Create({.task_count = 4, .spec = {.trials_max = 16, .no_default = no_default}});
    FakeMeasurerOptions farm = study_->Farm();
    farm.reorder = false;
    farm.results_per_collect = 1;
    SetFarm(farm);
    StudyRunnerOptions options = Options();
    options.batch_size = 8;
    options.in_flight_max = 64;
    EXPECT_THAT(StudyRunner(options).Run().status(), IsOk());
    EXPECT_THAT(CheckStudy(options), IsOk());
    EXPECT_THAT(CheckReplay(options), IsOk());
    std::vector<int> counts(4, 0);
    for (const MeasureRequest& request : measurer_->requests()) {
      if (absl::EndsWith(request.trial_id, "/ref")) continue;
      for (size_t i = 0; i < counts.size(); ++i) {
        counts[i] += request.task->workload.id == study_->tasks()[i].workload.id;
      }
    }
    return counts;
  }
};

TEST_F(FewTrialsTest, AreOfTheHeaviestTasksAndNotOfTheFirstToBeHeard) {
  const std::vector<int> counts = Counts(/*no_default=*/false);
  EXPECT_THAT(counts, ::testing::UnorderedElementsAre(0, 0, 8, 8));
  const auto time_of = [this](int i) {
    return study_->tasks()[i].weight *
           static_cast<double>(study_->LatencyNs(i, study_->default_trace(i)));
  };
  int heaviest = 0;
  for (int i = 1; i < 4; ++i) heaviest = time_of(i) > time_of(heaviest) ? i : heaviest;
  EXPECT_EQ(counts[heaviest], 8);
  EXPECT_EQ(counts[0], 0);
}

TEST_F(FewTrialsTest, AreSharedOutWhereNothingSaysWhichIsHeavy) {
  EXPECT_THAT(Counts(/*no_default=*/true), ElementsAre(4, 4, 4, 4));
}

TEST_F(StudyRunnerTest, FewTrialsBeginWithWhatShipsWithoutAny) {
  Create({.task_count = 4, .second_algorithm = true, .spec = {.trials_max = 12}});
  StudyRunnerOptions options = Options();
  options.batch_size = 8;
  ASSERT_OK_AND_ASSIGN(const StudyResult result, StudyRunner(options).Run());
  EXPECT_EQ(result.progress.trial_count, 12);
  const std::map<std::string, std::string> traces = Traces();
  for (int task = 0; task < 4; ++task) {
    EXPECT_EQ(traces.at(absl::StrCat(SyntheticStudy::kId, "/t", task, "/0")),
              study_->second_default_trace(task));
  }
  EXPECT_THAT(CheckStudy(options), IsOk());
  EXPECT_THAT(CheckReplay(options), IsOk());
}

TEST_F(StudyRunnerTest, WhatDidWellOnMoreThreadsIsTriedFirstIfItIsAPointHere) {
  Create({.task_count = 1, .spec = {.trials_max = 8}});
  Target elsewhere = study_->target();
  elsewhere.threads = 4;
  int64_t latency_ns = 0;
  for (const std::string& trace : {std::string("of no rule"), study_->second_default_trace(0)}) {
    MeasurementEntry entry{.study_id = "other",
                           .trial_id = trace.substr(0, 64),
                           .candidate = {.workload = study_->tasks()[0].workload,
                                         .target = elsewhere,
                                         .trace = trace,
                                         .codegen_epoch = 1}};
    entry.measurement.environment.method_version = kMeasureMethodVersion;
    entry.measurement.outcome = Latencies{{ProcessLatencies{.latency_ns = {++latency_ns}}}};
    ASSERT_THAT(records_->Append(entry), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(result.progress.trial_count, 8);
  const std::map<std::string, std::string> traces = Traces();
  EXPECT_EQ(traces.at(absl::StrCat(SyntheticStudy::kId, "/t0/0")), study_->second_default_trace(0));
  for (const auto& [trial_id, trace] : traces) EXPECT_NE(trace, "of no rule") << trial_id;
  EXPECT_THAT(CheckReplay(Options()), IsOk());
}

TEST_F(StudyRunnerTest, ZeroTrialsMeasureTheDefaultsOnly) {
  Create({.spec = {.trials_max = 0}});
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(result.reason, StopReason::kTrials);
  EXPECT_EQ(StoredTrials(), 0);
  for (const TaskStatus& task : result.progress.tasks) {
    EXPECT_EQ(task.best.origin, BestOrigin::kDefault);
    EXPECT_EQ(task.best.latency_ns, task.default_ns);
  }
}

TEST_F(StudyRunnerTest, OpenNumberOfTrialsEndsWhenLittleIsToGain) {
  Create({.spec = {.gain_min = 0.02}});
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_THAT(result.reason, ::testing::AnyOf(StopReason::kGain, StopReason::kNoTaskLeft));
  EXPECT_GT(StoredTrials(), 50);
  EXPECT_LT(StoredTrials(), 3000);
  EXPECT_THAT(CheckStudy(Options()), IsOk());
}

TEST_F(StudyRunnerTest, EarlyStoppingEndsTasksWithoutGain) {
  Create({.spec = {.trials_max = 5000, .early_stopping_trials = 40}});
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(result.reason, StopReason::kNoTaskLeft);
  EXPECT_GE(StoredTrials(), 80);
  EXPECT_LT(StoredTrials(), 2000);
}

TEST_F(StudyRunnerTest, ExhaustedSpaceEndsTheStudyBeforeItsBudget) {
  Create({.task_count = 1, .decision_count = 2, .spec = {.trials_max = 5000}});
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(result.reason, StopReason::kNoTaskLeft);
  EXPECT_TRUE(result.progress.tasks[0].exhausted);
  // Two sketches of 6 x 6 points without (32,32), less (2,2) which does not apply and candidate 0.
  EXPECT_EQ(StoredTrials(), 2 * 35 - 2 - 1);
  EXPECT_THAT(CheckStudy(Options()), IsOk());
}

TEST_F(StudyRunnerTest, TimeEndsTheStudyAndCountsOverAllItsRuns) {
  Create({.spec = {.trials_max = 5000, .time_max_ns = absl::ToInt64Nanoseconds(absl::Seconds(2))}});
  {
    StudyRunnerOptions options = Options();
    StudyRunner* running = nullptr;
    options.on_progress = [&](const StudyProgress& progress) {
      if (progress.trial_count >= 100) running->Interrupt();
    };
    StudyRunner runner(options);
    running = &runner;
    ASSERT_OK_AND_ASSIGN(const StudyResult result, runner.Run());
    EXPECT_EQ(result.reason, StopReason::kInterrupted);
    EXPECT_EQ(State(), StudyState::kInterrupted);
  }
  clock_.Advance(absl::Hours(3));  // Nobody ran it.
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(result.reason, StopReason::kTime);
  // Ten milliseconds a trial, and what was open when the time was up.
  EXPECT_GE(StoredTrials(), 190);
  EXPECT_LE(StoredTrials(), 220);
  EXPECT_EQ(State(), StudyState::kDone);
  EXPECT_THAT(CheckStudy(Options()), IsOk());
}

TEST_F(StudyRunnerTest, TrialsThatOutlastTheTimeAreDropped) {
  Create({.spec = {.trials_max = 5000, .time_max_ns = absl::ToInt64Nanoseconds(absl::Seconds(1))}});
  StudyRunnerOptions options = Options();
  options.on_progress = [&](const StudyProgress& progress) {
    if (progress.trial_count >= 20) measurer_->set_answering(false);
  };
  ASSERT_OK_AND_ASSIGN(const StudyResult result, StudyRunner(options).Run());
  EXPECT_EQ(result.reason, StopReason::kTime);
  EXPECT_EQ(measurer_->open_count(), 0);
  EXPECT_EQ(result.progress.pending_count, 0);
  EXPECT_THAT(*studies_->OpenJobs(SyntheticStudy::kId), IsEmpty());
  EXPECT_THAT(CheckStudy(Options()), IsOk());
}

TEST_F(StudyRunnerTest, FailuresAreTrialsAndLostWorkersAreNot) {
  Create({.spec = {.trials_max = 150}});
  FakeMeasurerOptions farm = study_->Farm();
  farm.failure_share = 0.3;
  farm.lost_share = 0.2;
  SetFarm(farm);
  ASSERT_OK_AND_ASSIGN(StudyResult result, Run());
  // One in a hundred is lost three times.
  for (int i = 0; i < 10 && result.reason == StopReason::kParked; ++i) {
    ASSERT_OK_AND_ASSIGN(result, Run());
  }
  EXPECT_EQ(result.reason, StopReason::kTrials);
  EXPECT_EQ(StoredTrials(), 150);
  int64_t failure_count = 0;
  for (const auto& [kind, count] : result.progress.failure_counts) {
    EXPECT_TRUE(CountsAsTrial(kind));
    failure_count += count;
  }
  EXPECT_GT(failure_count, 25);
  EXPECT_LT(failure_count, 75);
  EXPECT_EQ(records_->CountTrials(SyntheticStudy::kId)->failure_counts,
            result.progress.failure_counts);
  EXPECT_THAT(CheckReplay(Options()), IsOk());
}

TEST_F(StudyRunnerTest, StudyThatAnotherProcessHasTakenOverIsLeftToIt) {
  Create({.spec = {.trials_max = 200}});
  const auto take = [this](const char* owner) {
    return StudyClaim::Take({.studies = studies_.get(),
                             .clock = &clock_,
                             .study_id = SyntheticStudy::kId,
                             .owner = owner});
  };
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StudyClaim> claim, take("first"));
  std::unique_ptr<StudyClaim> second;
  StudyRunnerOptions options = Options();
  options.claim = claim.get();
  options.on_progress = [&](const StudyProgress& progress) {
    if (progress.trial_count < 30 || second != nullptr) return;
    clock_.Advance(kLeaseDuration);  // Suspended.
    absl::StatusOr<std::unique_ptr<StudyClaim>> taken = take("second");
    ASSERT_THAT(taken, IsOk());
    second = *std::move(taken);
    ASSERT_THAT(studies_->SetState(SyntheticStudy::kId, StudyState::kRunning, "second's", 1),
                IsOk());
  };
  EXPECT_THAT(StudyRunner(options).Run(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is run by second")));
  EXPECT_EQ(studies_->Get(SyntheticStudy::kId)->study.detail, "second's");
}

TEST_F(StudyRunnerTest, StudyOfWhichNothingRunsHasFailedAndSaysOfWhat) {
  Create({.task_count = 2, .spec = {.trials_max = 12}});
  FakeMeasurerOptions farm = study_->Farm();
  farm.failure_share = 1;
  farm.reference_fails = true;
  SetFarm(farm);
  for (const char* run : {"first", "resumed"}) {
    SCOPED_TRACE(run);
    ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
    EXPECT_EQ(result.reason, StopReason::kNothingMeasured);
    EXPECT_THAT(result.detail, HasSubstr("nothing measured: all 14 candidates failed, study/t"));
    EXPECT_THAT(result.detail, HasSubstr("/ref first: "));
    EXPECT_EQ(State(), StudyState::kFailed);
    EXPECT_EQ(studies_->Get(SyntheticStudy::kId)->study.detail, result.detail);
  }
  // The second run had nothing left to try.
  EXPECT_EQ(measurer_->requests().size(), 14);
}

TEST_F(StudyRunnerTest, OneCandidateThatRunsIsAResult) {
  Create({.task_count = 2, .spec = {.trials_max = 12}});
  FakeMeasurerOptions farm = study_->Farm();
  farm.failure_share = 1;
  SetFarm(farm);
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(result.reason, StopReason::kTrials);
  EXPECT_EQ(State(), StudyState::kDone);
}

TEST_F(StudyRunnerTest, PoisonThatIsLiftedIsMeasuredAgainWithinTheBudget) {
  Create({.task_count = 2, .spec = {.trials_max = 60}});
  FakeMeasurerOptions farm = study_->Farm();
  farm.failure_share = 0.5;
  SetFarm(farm);
  ASSERT_OK_AND_ASSIGN(const StudyResult first, Run());
  const int64_t poisoned = first.progress.failure_counts.at(FailureKind::kPoisoned);
  ASSERT_GT(poisoned, 1);
  ASSERT_OK_AND_ASSIGN(const EntryPage page,
                       records_->ScanEntries({.study_id = SyntheticStudy::kId}));
  std::map<std::string, std::string> condemned;  // Candidates by trial.
  for (const MeasurementEntry& entry : page.entries) {
    const Failure* failure = entry.measurement.failure();
    if (failure == nullptr || failure->kind != FailureKind::kPoisoned) continue;
    condemned[entry.trial_id] = entry.candidate.Id();
  }
  // One, then the others; what is lifted is not lifted again.
  const std::string one = condemned.begin()->first;
  EXPECT_THAT(LiftPoison(*records_, *studies_, SyntheticStudy::kId, one), IsOkAndHolds(1));
  EXPECT_THAT(LiftPoison(*records_, *studies_, SyntheticStudy::kId, ""),
              IsOkAndHolds(static_cast<int>(poisoned) - 1));
  EXPECT_THAT(LiftPoison(*records_, *studies_, SyntheticStudy::kId, ""), IsOkAndHolds(0));
  ASSERT_THAT(studies_->SetState(SyntheticStudy::kId, StudyState::kQueued, "", 1), IsOk());
  farm.failure_share = 0;
  SetFarm(farm);
  ASSERT_OK_AND_ASSIGN(const StudyResult second, Run());
  EXPECT_EQ(second.reason, StopReason::kTrials);
  EXPECT_EQ(second.progress.trial_count, 60);
  EXPECT_FALSE(second.progress.failure_counts.contains(FailureKind::kPoisoned));
  EXPECT_EQ(measurer_->requests().size(), poisoned);
  // What was condemned has a time now.
  for (const auto& [trial_id, candidate] : condemned) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Record> records, records_->FindCandidate(candidate));
    ASSERT_THAT(records, SizeIs(1));
    EXPECT_GT(records.front().rank_ns, 0) << trial_id;
  }
  EXPECT_THAT(CheckStudy(Options()), IsOk());
  EXPECT_THAT(CheckReplay(Options()), IsOk());
}

TEST_F(StudyRunnerTest, CandidatesThatGetNoResultAreParkedAndMeasuredByALaterRun) {
  Create({.task_count = 2, .spec = {.trials_max = 60}});
  FakeMeasurerOptions farm = study_->Farm();
  farm.lost_share = 0.5;
  SetFarm(farm);
  ASSERT_OK_AND_ASSIGN(StudyResult result, Run());
  EXPECT_EQ(result.reason, StopReason::kParked);
  EXPECT_EQ(State(), StudyState::kParked);
  EXPECT_THAT(result.detail, HasSubstr("candidates had no result in 3 attempts each"));
  EXPECT_THAT(result.detail, HasSubstr("`tuner resume study` tries them again"));
  // Nobody is condemned, and what is parked has kept its place in the budget.
  EXPECT_THAT(result.progress.failure_counts, IsEmpty());
  EXPECT_GT(StoredTrials(), 0);
  EXPECT_LT(StoredTrials(), 60);
  EXPECT_FALSE(studies_->OpenJobs(SyntheticStudy::kId)->empty());
  farm.lost_share = 0;
  SetFarm(farm);
  ASSERT_OK_AND_ASSIGN(result, Run());
  EXPECT_EQ(result.reason, StopReason::kTrials);
  // Their jobs are not those of which the farm has a result that is none.
  ASSERT_FALSE(measurer_->requests().empty());
  EXPECT_EQ(measurer_->requests().front().resumption, 1);
  EXPECT_EQ(State(), StudyState::kDone);
  EXPECT_EQ(StoredTrials(), 60);
  EXPECT_THAT(CheckStudy(Options()), IsOk());
  EXPECT_THAT(CheckReplay(Options()), IsOk());
}

// One worker that loses all must not be given the whole budget.
TEST_F(StudyRunnerTest, FarmThatLosesAllIsNotGivenMore) {
  Create({.task_count = 1, .spec = {.trials_max = 1000}});
  FakeMeasurerOptions farm = study_->Farm();
  farm.lost_share = 1;
  SetFarm(farm);
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(result.reason, StopReason::kParked);
  EXPECT_EQ(StoredTrials(), 0);
  // Candidate 0 comes first, and nothing without it.
  EXPECT_EQ(measurer_->requests().size(), 3);
}

// The store refuses a whole batch for one such entry, and the study would end.
TEST_F(StudyRunnerTest, ResultThatNoStoreTakesCostsNothingAndIsTriedAgain) {
  Create({.task_count = 1, .spec = {.trials_max = 40}});
  FakeMeasurerOptions farm = study_->Farm();
  std::map<std::string, int> attempts;
  farm.lie = [&attempts](const MeasureRequest& request, Measurement& measurement) {
    if (++attempts[request.trial_id] > 1) return;
    switch (attempts.size() % 4) {
      case 0:
        measurement.network_factor = 1e-9;
        break;
      case 1:
        measurement.candidate_id = std::string(32, 'z');
        break;
      case 2:
        std::get<Latencies>(measurement.outcome).processes[0].latency_ns = {0};
        break;
      default:
        measurement.outcome = Latencies{};
    }
  };
  SetFarm(farm);
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(StoredTrials(), 40);
  EXPECT_THAT(result.progress.failure_counts, IsEmpty());
  EXPECT_THAT(measurer_->requests(), SizeIs(2 * 41));
  EXPECT_THAT(CheckStudy(Options()), IsOk());
}

// A farm of workers in turn, of which some make their times up.
class LyingFarmTest : public StudyRunnerTest {
 protected:
  void Start(const SyntheticStudyOptions& options, int worker_count,
             std::function<int64_t(int worker, int64_t honest_ns)> latency_ns) {
    Create(options);
    FakeMeasurerOptions farm = study_->Farm();
    farm.lie = [=, this](const MeasureRequest& request, Measurement& measurement) {
      int worker = next_++ % worker_count;
      const std::vector<std::string>& avoid = request.avoid_workers;
      for (int i = 0; i < worker_count; ++i) {
        if (std::find(avoid.begin(), avoid.end(), NameOf(worker)) == avoid.end()) break;
        worker = (worker + 1) % worker_count;
      }
      measurement.environment.worker = NameOf(worker);
      if (measurement.latencies() == nullptr) return;
      int64_t& ns = std::get<Latencies>(measurement.outcome).processes[0].latency_ns[0];
      honest_ns_[request.trial_id] = ns;
      ns = latency_ns(worker, ns);
    };
    SetFarm(farm);
  }
  static std::string NameOf(int worker) { return absl::StrCat("worker-", worker); }

  // Of each stored trial with latencies.
  std::map<std::string, int64_t> StoredNs() {
    std::map<std::string, int64_t> stored;
    const auto page = records_->ScanEntries({.study_id = SyntheticStudy::kId, .limit = 10000});
    for (const MeasurementEntry& entry : page->entries) {
      if (const Latencies* latencies = entry.measurement.latencies()) {
        stored[entry.trial_id] = latencies->processes[0].latency_ns[0];
      }
    }
    return stored;
  }

  int next_ = 0;
  std::map<std::string, int64_t> honest_ns_;
};

TEST_F(LyingFarmTest, OneNanosecondIsMeasuredElsewhereAndTheLiarIsPausedAndNamed) {
  Start({.task_count = 1, .spec = {.trials_max = 100}}, 3,
        [](int worker, int64_t honest_ns) { return worker == 1 ? 1 : honest_ns; });
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(StoredTrials(), 100);
  EXPECT_THAT(result.progress.failure_counts, IsEmpty());
  EXPECT_EQ(StoredNs(), honest_ns_);
  EXPECT_THAT(result.progress.guard.lies, ElementsAre(Pair("worker-1", 1)));
  EXPECT_GE(result.progress.guard.held, 1);
  EXPECT_THAT(studies_->Get(SyntheticStudy::kId)->study.detail,
              HasSubstr("worker worker-1 was paused"));
  // While it runs: in its progress and in its log, from where `tuner status` has it.
  EXPECT_THAT(result.progress.paused,
              ElementsAre(::testing::Field(&PausedWorker::worker_id, "worker-1")));
  ASSERT_OK_AND_ASSIGN(const StudyLog log, StudyLog::Open(studies_.get(), SyntheticStudy::kId));
  EXPECT_EQ(PausedWorkers(log.events(), absl::ToUnixNanos(clock_.WallNow())),
            result.progress.paused);
  EXPECT_THAT(CheckStudy(Options()), IsOk());
  EXPECT_THAT(CheckReplay(Options()), IsOk());
}

TEST_F(LyingFarmTest, WithoutAnotherWorkerNothingImpossibleIsTakenAndNoCandidateIsCharged) {
  Start({.task_count = 1, .spec = {.trials_max = 10}}, 1, [](int, int64_t) { return int64_t{1}; });
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_THAT(StoredNs(), IsEmpty());
  EXPECT_EQ(result.progress.failure_counts.at(FailureKind::kDeviceError), 10);
  EXPECT_EQ(result.progress.tasks[0].best.latency_ns, 0);
  // Three times each, and not for ever.
  EXPECT_THAT(measurer_->requests(), SizeIs(3 * 11));
}

TEST_F(LyingFarmTest, NewBestThatIsNotConfirmedDoesNotCount) {
  // Within what the device can do, and once only: the second measurement is honest.
  Start({.task_count = 1, .confirm_best = true, .spec = {.trials_max = 60}}, 2,
        [n = 0](int, int64_t honest_ns) mutable {
          return ++n == 20 ? SyntheticTask::kBestNs * 6 / 10 : honest_ns;
        });
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(StoredNs(), honest_ns_);
  EXPECT_GE(result.progress.tasks[0].best.latency_ns, SyntheticTask::kBestNs);
  EXPECT_GT(result.progress.guard.confirmed, 1);
  EXPECT_THAT(result.progress.guard.lies, IsEmpty());
  // Only a new best is measured twice.
  EXPECT_LT(measurer_->requests().size(), 61u + 30u);
  EXPECT_THAT(CheckReplay(Options()), IsOk());
}

TEST_F(LyingFarmTest, DeterministicStudyWithConfirmationHasTheSameCandidates) {
  std::map<std::string, std::string> first;
  for (const uint64_t farm_seed : {1, 2, 3}) {
    records_ = std::make_unique<MemoryRecordStore>();
    studies_ = std::make_unique<MemoryStudyStore>();
    Create({.confirm_best = true, .spec = {.trials_max = 120, .deterministic = true}});
    FakeMeasurerOptions farm = study_->Farm();
    farm.seed = farm_seed;
    SetFarm(farm);
    ASSERT_THAT(Run(), IsOk());
    if (first.empty()) first = Traces();
    EXPECT_EQ(Traces(), first);
  }
  EXPECT_THAT(first, SizeIs(122));
}

TEST_F(StudyRunnerTest, DeterministicStudyHasTheSameCandidatesInWhateverOrderResultsCome) {
  std::map<std::string, std::string> first;
  for (const uint64_t farm_seed : {1, 2, 3}) {
    records_ = std::make_unique<MemoryRecordStore>();
    studies_ = std::make_unique<MemoryStudyStore>();
    Create({.spec = {.trials_max = 120, .deterministic = true}});
    FakeMeasurerOptions farm = study_->Farm();
    farm.seed = farm_seed;
    SetFarm(farm);
    ASSERT_THAT(Run(), IsOk());
    EXPECT_THAT(CheckReplay(Options()), IsOk());
    if (first.empty()) first = Traces();
    EXPECT_EQ(Traces(), first);
  }
  EXPECT_THAT(first, SizeIs(122));
}

TEST_F(StudyRunnerTest, WithheldDefaultIsMeasuredButNotTheBest) {
  Create({.task_count = 1, .spec = {.trials_max = 3, .no_default = true}});
  // Everything but candidate 0 is slow.
  FakeMeasurerOptions farm = study_->Farm();
  farm.latency_ns = [this](const MeasureRequest& request) {
    return request.trace == study_->default_trace(0) ? 1'000'000 : 100'000'000;
  };
  SetFarm(farm);
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  const TaskStatus& task = result.progress.tasks[0];
  EXPECT_EQ(task.default_ns, 1'000'000);
  EXPECT_EQ(task.best.origin, BestOrigin::kTrial);
  EXPECT_EQ(task.best.latency_ns, 100'000'000);
  EXPECT_EQ(measurer_->requests().back().task->reference_trace, study_->default_trace(0));
}

TEST_F(StudyRunnerTest, CancelledStudyLeavesNothingOpenAndMayBeResumed) {
  Create({.spec = {.trials_max = 100}});
  StudyRunnerOptions options = Options();
  StudyRunner* running = nullptr;
  options.on_progress = [&](const StudyProgress& progress) {
    if (progress.trial_count >= 30) running->Cancel();
  };
  StudyRunner runner(options);
  running = &runner;
  ASSERT_OK_AND_ASSIGN(const StudyResult result, runner.Run());
  EXPECT_EQ(result.reason, StopReason::kCancelled);
  EXPECT_EQ(State(), StudyState::kCancelled);
  EXPECT_EQ(measurer_->open_count(), 0);
  EXPECT_THAT(*studies_->OpenJobs(SyntheticStudy::kId), IsEmpty());
  EXPECT_THAT(CheckStudy(Options()), IsOk());

  ASSERT_OK_AND_ASSIGN(const StudyResult resumed, Run());
  EXPECT_EQ(resumed.reason, StopReason::kTrials);
  EXPECT_EQ(StoredTrials(), 100);
  EXPECT_THAT(CheckStudy(Options()), IsOk());
}

TEST_F(StudyRunnerTest, ARefusedTunerEndsAtOnceAndSaysWhy) {
  Create({.spec = {.trials_max = 100}});
  measurer_->set_answering(false);
  measurer_->set_health(absl::PermissionDeniedError("known by another secret"));
  const absl::Time begin = clock_.SteadyNow();
  StudyRunnerOptions options = Options();
  options.silence_max = absl::Hours(1);
  ASSERT_OK_AND_ASSIGN(const StudyResult result, StudyRunner(options).Run());
  EXPECT_EQ(result.reason, StopReason::kMeasurerSilent);
  EXPECT_LT(clock_.SteadyNow() - begin, absl::Minutes(1));
  EXPECT_EQ(State(), StudyState::kInterrupted) << "resumable";
  EXPECT_THAT(studies_->Get(SyntheticStudy::kId)->study.detail, HasSubstr("another secret"));
}

TEST_F(StudyRunnerTest, SilentMeasurerInterruptsTheStudyAndSaysWhy) {
  Create({.spec = {.trials_max = 100}});
  measurer_->set_answering(false);
  measurer_->set_health(absl::UnavailableError("no tracker at localhost:1"));
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(result.reason, StopReason::kMeasurerSilent);
  EXPECT_EQ(State(), StudyState::kInterrupted);
  EXPECT_THAT(studies_->Get(SyntheticStudy::kId)->study.detail, HasSubstr("localhost:1"));
  measurer_->set_answering(true);
  measurer_->set_health(absl::OkStatus());
  ASSERT_THAT(Run(), IsOk());
  EXPECT_EQ(StoredTrials(), 100);
}

// As a damaged database may have it: it must not be taken for an index.
TEST_F(StudyRunnerTest, AnOpenJobOfATaskThatIsNotThereIsDataLoss) {
  for (const int task_index : {-1, -7, 1000}) {
    records_ = std::make_unique<MemoryRecordStore>();
    studies_ = std::make_unique<MemoryStudyStore>();
    Create({.spec = {.trials_max = 10}});
    ASSERT_OK_AND_ASSIGN(StudyLog log, StudyLog::Open(studies_.get(), SyntheticStudy::kId));
    ASSERT_THAT(log.Append({{.kind = StudyEventKind::kRound,
                             .task_index = task_index,
                             .trial_ids = {absl::StrCat(SyntheticStudy::kId, "/0/1")},
                             .number = 1}}),
                IsOk());
    EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kDataLoss)) << task_index;
  }
}

// The farm would never answer: the study ends before its patience does, and goes on elsewhere.
TEST_F(StudyRunnerTest, AFarmThatSpeaksAnotherProtocolEndsTheRunAtOnce) {
  Create({.spec = {.trials_max = 100}});
  measurer_->set_answering(false);
  measurer_->set_health(ProtocolRefusal("tracker 9.0 speaks protocol 9"));
  StudyRunnerOptions options = Options();
  options.silence_max = absl::Hours(1);
  const absl::Time start = clock_.SteadyNow();
  ASSERT_OK_AND_ASSIGN(const StudyResult result, StudyRunner(options).Run());
  EXPECT_EQ(result.reason, StopReason::kMeasurerSilent);
  EXPECT_LT(clock_.SteadyNow() - start, absl::Minutes(1));
  EXPECT_EQ(State(), StudyState::kInterrupted);
  EXPECT_THAT(studies_->Get(SyntheticStudy::kId)->study.detail, HasSubstr("protocol 9"));
}

TEST_F(StudyRunnerTest, DoneStudyAndOtherTasksAreRefused) {
  Create({.spec = {.trials_max = 10}});
  StudyRunnerOptions others = Options();
  others.tasks.pop_back();
  EXPECT_THAT(StudyRunner(others).Run(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("2 tasks")));
  EXPECT_EQ(State(), StudyState::kQueued);
  ASSERT_THAT(Run(), IsOk());
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(State(), StudyState::kDone);
}

TEST_F(StudyRunnerTest, UnknownNamesAndBrokenToolsFailTheStudyWithTheReason) {
  Create({.spec = {.trials_max = 10, .strategy = "luck"}});
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("luck")));
  EXPECT_EQ(State(), StudyState::kFailed);
  EXPECT_THAT(studies_->Get(SyntheticStudy::kId)->study.detail, HasSubstr("luck"));
}

TEST_F(StudyRunnerTest, SecondStudyStartsFromWhatTheFirstFound) {
  Create({.task_count = 1, .spec = {.trials_max = 150}});
  ASSERT_OK_AND_ASSIGN(const StudyResult first, Run());
  NewStudy again = study_->New();
  again.id = "again";
  ASSERT_THAT(CreateStudy(*studies_, again), IsOk());
  StudyRunnerOptions options = Options();
  options.study_id = "again";
  options.spec.trials_max = 0;
  ASSERT_OK_AND_ASSIGN(const StudyResult second, StudyRunner(options).Run());
  EXPECT_EQ(second.progress.tasks[0].best.origin, BestOrigin::kHistory);
  EXPECT_EQ(second.progress.tasks[0].best.candidate_id, first.progress.tasks[0].best.candidate_id);

  // Another finish, same anchor: what was best there is among the first candidates here.
  NewStudy related = study_->New();
  related.id = "related";
  ASSERT_OK_AND_ASSIGN(const Workload workload, MakeWorkload("block 0 sigmoid", "block 0"));
  related.tasks[0].workload = workload;
  ASSERT_THAT(CreateStudy(*studies_, related), IsOk());
  options = Options();
  options.study_id = "related";
  options.tasks = related.tasks;
  options.make_tools = [this, make = options.make_tools](absl::Span<const StudyTaskSpec>,
                                                         const Target& target,
                                                         const StudySpec& spec) {
    return make({&study_->tasks()[0], 1}, target, spec);
  };
  options.spec.trials_max = 5;
  FakeMeasurerOptions farm = study_->Farm();
  farm.latency_ns = [this](const MeasureRequest& request) {
    return study_->LatencyNs(0, request.trace);
  };
  SetFarm(farm);
  options.measurer = measurer_.get();
  ASSERT_OK_AND_ASSIGN(const StudyResult third, StudyRunner(options).Run());
  EXPECT_EQ(third.progress.tasks[0].best.latency_ns, first.progress.tasks[0].best.latency_ns);
}

TEST_F(StudyRunnerTest, StudyIsDurableFromItsCreation) {
  Create({.spec = {.trials_max = 10, .seed = 7}});
  ASSERT_OK_AND_ASSIGN(const StudySpec spec, ReadStudySpec(*studies_, SyntheticStudy::kId));
  EXPECT_EQ(spec, study_->spec());
  EXPECT_THAT(CreateStudy(*studies_, study_->New()), IsOk());  // The same: a retried call.
  NewStudy other = study_->New();
  other.title = "other";
  EXPECT_THAT(CreateStudy(*studies_, other), StatusIs(absl::StatusCode::kAlreadyExists));
  other.id = std::string(kStudyIdBytesMax + 1, 'x');
  EXPECT_THAT(CreateStudy(*studies_, other), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ReadStudySpec(*studies_, "nobody"), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace burnish
