// Studies whose candidates are ties alone and are not inside the model.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "base/status_matchers.h"
#include "db/memory/memory_record_store.h"
#include "db/memory/memory_study_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/measure/fake_measurer.h"
#include "tuner/measure/fake_network_measurer.h"
#include "tuner/study/study_checker.h"
#include "tuner/study/study_runner.h"
#include "tuner/study/synthetic_study.h"

namespace burnish {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

// Within 1 % of each other, whatever the candidate.
int64_t AloneNs(const std::string& trace) {
  return 100'000 + static_cast<int64_t>(std::hash<std::string>()(trace) % 1000);
}

class StudyRefinerTest : public ::testing::Test {
 protected:
  void SetUp() override { Create({.trials_max = 60}); }

  void Create(const StudySpec& spec, int task_count = 2, bool second_algorithm = false) {
    records_ = std::make_unique<MemoryRecordStore>();
    studies_ = std::make_unique<MemoryStudyStore>();
    study_ = std::make_unique<SyntheticStudy>(SyntheticStudyOptions{
        .task_count = task_count, .second_algorithm = second_algorithm, .spec = spec});
    ASSERT_THAT(CreateStudy(*studies_, study_->New()), IsOk());
    farm_ = std::make_unique<FakeMeasurer>(
        FakeMeasurerOptions{.latency_ns =
                                [this](const MeasureRequest& request) {
                                  return (IsSecondDefault(request.trace) ? second_slowdown_ : 1) *
                                         AloneNs(request.trace);
                                },
                            .numerics =
                                [this](const MeasureRequest& request) {
                                  if (!IsSecondDefault(request.trace)) {
                                    return Numerics{.kind = NumericsClass::kReassociated};
                                  }
                                  return Numerics{.kind = NumericsClass::kAlgorithm,
                                                  .algorithm = "winograd",
                                                  .parameter = 4,
                                                  .error = 1e-5};
                                },
                            .clock = &clock_});
    SetNetwork({});
  }

  // Everybody is as fast as alone, but for `planted_` of task 0.
  void SetNetwork(FakeNetworkMeasurerOptions options) {
    options.latency_ns = [this](const NetworkCandidate& candidate) {
      const bool is_first_task = candidate.task->workload.id == study_->tasks()[0].workload.id;
      const bool is_planted = is_first_task && planted_ != nullptr && candidate.trace == planted_();
      return is_planted ? AloneNs(candidate.trace) * 8 / 10 : AloneNs(candidate.trace);
    };
    network_ = std::make_unique<FakeNetworkMeasurer>(options);
  }

  bool IsSecondDefault(const std::string& trace) const {
    for (int task = 0; task < static_cast<int>(study_->tasks().size()); ++task) {
      if (trace == study_->second_default_trace(task)) return true;
    }
    return false;
  }
  // How many candidates of task 0 are this one.
  int CountIn(const NetworkRequest& request, const std::string& trace) const {
    return static_cast<int>(std::count_if(
        request.candidates.begin(), request.candidates.end(), [&](const NetworkCandidate& one) {
          return one.task->workload.id == study_->tasks()[0].workload.id && one.trace == trace;
        }));
  }

  std::vector<Record> Best(int task_index) {
    const absl::StatusOr<BestAnswer> best =
        records_->Best({.workload_id = study_->tasks()[task_index].workload.id,
                        .target = study_->target().ToText(),
                        .limit = 20});
    return best.ok() ? best->records : std::vector<Record>();
  }
  // Of the trace that has place `rank` alone, from 0; as of the first time that it is asked for.
  std::function<std::string()> TraceOfRank(size_t rank) {
    return [this, rank, trace = std::string()]() mutable {
      if (trace.empty()) trace = Best(0)[rank].trace;
      return trace;
    };
  }

  StudyRunnerOptions Options() {
    StudyRunnerOptions options =
        study_->Options(records_.get(), studies_.get(), farm_.get(), &clock_);
    options.network = network_.get();
    options.model_order = {0, 1, 1};
    return options;
  }
  absl::StatusOr<StudyResult> Run() { return StudyRunner(Options()).Run(); }
  StudySummary Summary() { return *studies_->Get(SyntheticStudy::kId); }

  FakeClock clock_;
  std::unique_ptr<MemoryRecordStore> records_;
  std::unique_ptr<MemoryStudyStore> studies_;
  std::unique_ptr<SyntheticStudy> study_;
  std::unique_ptr<FakeMeasurer> farm_;
  std::unique_ptr<FakeNetworkMeasurer> network_;
  std::function<std::string()> planted_;
  int64_t second_slowdown_ = 1;  // Alone, of the second algorithm's defaults.
};

TEST_F(StudyRefinerTest, WhoIsFasterInsideTheModelIsWhatTheRecordsSay) {
  planted_ = TraceOfRank(1);
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(result.reason, StopReason::kTrials);
  // Three for the contests, three against the default schedules.
  EXPECT_EQ(result.progress.refine.process_count, 6);
  EXPECT_EQ(result.progress.refine.changed_count, 1);
  EXPECT_EQ(result.progress.refine.error, "");
  // A fifth of one of three steps that take the same.
  EXPECT_NEAR(result.progress.refine.gain, 0.2 / 3, 0.01);
  const BestCandidate& best = result.progress.tasks[0].best;
  EXPECT_TRUE(best.refined);
  EXPECT_EQ(best.trace, planted_());
  EXPECT_FALSE(result.progress.tasks[1].best.refined);

  const std::vector<Record> records = Best(0);
  EXPECT_EQ(records[0].trace, planted_());
  // The rank orders records; what a study shows of a task is its time alone.
  EXPECT_EQ(records[0].isolated_rank_ns(), best.latency_ns);
  EXPECT_LT(records[0].rank_ns, best.latency_ns);
  EXPECT_EQ(records[0].isolated_rank_ns(), AloneNs(planted_()));
  // In proportion to the incumbent, which is as fast inside as alone.
  EXPECT_NEAR(static_cast<double>(records[0].rank_ns), 0.8 * AloneNs(planted_()), 2);
  EXPECT_EQ(records[1].network_factor, 1);
  // None of this is a trial, and the study's log is that of its trials.
  EXPECT_EQ(records_->CountTrials(SyntheticStudy::kId)->trial_count, 60);
  EXPECT_EQ(Summary().study.state, StudyState::kDone);
  EXPECT_THAT(CheckStudy(Options()), IsOk());
  EXPECT_THAT(CheckReplay(Options()), IsOk());
}

TEST_F(StudyRefinerTest, VerdictIsInTheLogAsRefineMeasurementsOfThreeProcesses) {
  planted_ = TraceOfRank(1);
  ASSERT_THAT(Run(), IsOk());
  ASSERT_OK_AND_ASSIGN(const EntryPage page,
                       records_->ScanEntries({.study_id = SyntheticStudy::kId}));
  int refine_count = 0, winner_count = 0;
  size_t most_processes = 0;
  for (const MeasurementEntry& entry : page.entries) {
    if (entry.purpose != Purpose::kRefine) continue;
    ++refine_count;
    // Both halves of the incumbent of the task with a contest to the end.
    most_processes = std::max(most_processes, entry.measurement.latencies()->processes.size());
    EXPECT_EQ(entry.measurement.environment.mode, MeasureMode::kInNetwork);
    EXPECT_THAT(entry.measurement.environment.model_sha256, SizeIs(32));
    EXPECT_GT(entry.measurement.network_factor, 0);
    if (entry.candidate.trace != planted_()) continue;
    ++winner_count;
    EXPECT_THAT(entry.measurement.latencies()->processes, SizeIs(3));
    EXPECT_LT(entry.measurement.network_factor, 0.9);
  }
  EXPECT_EQ(winner_count, 1);
  EXPECT_EQ(most_processes, 6u);
  // Four and the default of each task.
  EXPECT_GE(refine_count, 8);
  EXPECT_LE(refine_count, 10);
}

TEST_F(StudyRefinerTest, IncumbentRunsTwiceAndTheDefaultTakesPart) {
  ASSERT_THAT(Run(), IsOk());
  ASSERT_THAT(network_->requests(), Not(IsEmpty()));
  const NetworkRequest& request = network_->requests()[0];
  EXPECT_EQ(request.candidates[0].trace, request.candidates[1].trace);
  EXPECT_EQ(request.candidates[0].trace, Best(0)[0].trace);
  for (int task = 0; task < 2; ++task) {
    EXPECT_THAT(request.candidates,
                Contains(Field(&NetworkCandidate::trace, study_->default_trace(task))));
  }
  EXPECT_EQ(request.order.step_count, 3);
  EXPECT_GT(request.timeout, absl::ZeroDuration());
}

TEST_F(StudyRefinerTest, NoiseAloneKeepsTheWinnersAndEndsAfterTheFirstProcesses) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Create({.trials_max = 20, .seed = seed});
    SetNetwork({.noise = 0.01, .seed = seed});
    ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
    EXPECT_EQ(result.progress.refine.changed_count, 0) << seed;
    EXPECT_THAT(network_->requests(), Not(SizeIs(0)));
    for (const Record& record : Best(0)) EXPECT_EQ(record.network_factor, 1);
  }
}

TEST_F(StudyRefinerTest, FailureLeavesWhatTheTrialsFoundAndSaysWhy) {
  planted_ = TraceOfRank(1);
  network_->set_status(absl::InternalError("crashed: signal 11"));
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(result.reason, StopReason::kTrials);
  EXPECT_THAT(result.progress.refine.error, HasSubstr("signal 11"));
  EXPECT_FALSE(result.progress.tasks[0].best.refined);
  EXPECT_EQ(result.progress.tasks[0].best.trace, Best(0)[0].trace);
  EXPECT_EQ(Summary().study.state, StudyState::kDone);
  EXPECT_THAT(Summary().study.detail, HasSubstr("not refined: INTERNAL: crashed"));
}

TEST_F(StudyRefinerTest, InterruptedRefineBeginsAgainAndTrialsDoNot) {
  planted_ = TraceOfRank(1);
  StudyRunnerOptions options = Options();
  StudyRunner* running = nullptr;
  options.on_progress = [&](const StudyProgress& progress) {
    if (progress.refine.process_count == 1) running->Interrupt();
  };
  StudyRunner runner(options);
  running = &runner;
  ASSERT_OK_AND_ASSIGN(const StudyResult interrupted, runner.Run());
  EXPECT_EQ(interrupted.reason, StopReason::kInterrupted);
  EXPECT_EQ(interrupted.progress.refine.error, "");
  EXPECT_EQ(Summary().study.state, StudyState::kInterrupted);
  EXPECT_NE(Best(0)[0].trace, planted_());

  const size_t trials_before = farm_->requests().size();
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(result.progress.refine.process_count, 6);
  EXPECT_EQ(Best(0)[0].trace, planted_());
  EXPECT_EQ(farm_->requests().size(), trials_before);
  EXPECT_EQ(Summary().study.state, StudyState::kDone);
}

TEST_F(StudyRefinerTest, CancelEndsItToo) {
  StudyRunnerOptions options = Options();
  StudyRunner* running = nullptr;
  options.on_progress = [&](const StudyProgress& progress) {
    if (progress.refine.process_count_max > 0) running->Cancel();
  };
  StudyRunner runner(options);
  running = &runner;
  ASSERT_OK_AND_ASSIGN(const StudyResult result, runner.Run());
  EXPECT_EQ(result.reason, StopReason::kCancelled);
  EXPECT_EQ(Summary().study.state, StudyState::kCancelled);
}

TEST_F(StudyRefinerTest, CandidateThatNoLongerBuildsLeavesAndTheOthersGoOn) {
  planted_ = TraceOfRank(2);
  auto broken = std::make_shared<std::function<std::string()>>(TraceOfRank(1));
  SetNetwork({.fails_to_build = [broken](const NetworkCandidate& candidate) {
    return candidate.trace == (*broken)();
  }});
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(result.progress.refine.error, "");
  EXPECT_EQ(Best(0)[0].trace, planted_());
  EXPECT_THAT(network_->requests()[0].candidates,
              Contains(Field(&NetworkCandidate::trace, (*broken)())));
  EXPECT_THAT(network_->requests()[1].candidates,
              Not(Contains(Field(&NetworkCandidate::trace, (*broken)()))));
}

// The best, the next and what the planted winner is: whoever is wrong alone is judged as a trial.
TEST_F(StudyRefinerTest, CandidateThatIsWrongAloneIsRecordedSoAndTheOthersGoOn) {
  planted_ = TraceOfRank(2);
  std::vector<std::string> wrong;
  SetNetwork({.is_wrong = [&](const NetworkCandidate& candidate) {
    if (wrong.empty()) wrong = {Best(0)[0].trace, Best(0)[1].trace};
    planted_();
    return std::find(wrong.begin(), wrong.end(), candidate.trace) != wrong.end();
  }});
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(result.progress.refine.error, "");
  EXPECT_EQ(Best(0)[0].trace, planted_());
  for (const std::string& trace : wrong) {
    const std::string id = CandidateId(study_->tasks()[0].workload.id, study_->target().ToText(),
                                       study_->tasks()[0].contract, trace, Options().codegen_epoch);
    ASSERT_OK_AND_ASSIGN(const std::vector<Record> records, records_->FindCandidate(id));
    ASSERT_THAT(records, SizeIs(1));
    ASSERT_TRUE(records[0].failure.has_value());
    EXPECT_EQ(records[0].failure->kind, FailureKind::kWrongResult);
    EXPECT_EQ(CountIn(network_->requests().back(), trace), 0);
  }
}

TEST_F(StudyRefinerTest, FarmWhoseCodeIsAllWrongEndsTheRefinement) {
  SetNetwork({.is_wrong = [](const NetworkCandidate&) { return true; }});
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_NE(result.progress.refine.error, "");
  EXPECT_THAT(network_->requests(), SizeIs(Le(32)));
}

TEST_F(StudyRefinerTest, NextStudyBeginsFromTheVerdictAndMayTurnItRound) {
  planted_ = TraceOfRank(1);
  ASSERT_THAT(Run(), IsOk());
  const std::string winner = planted_();
  ASSERT_EQ(Best(0)[0].trace, winner);

  NewStudy again = study_->New();
  again.id = "again";
  ASSERT_THAT(CreateStudy(*studies_, again), IsOk());
  // Now it is the fastest of the others, which is as fast alone as the winner.
  planted_ = TraceOfRank(1);
  StudyRunnerOptions options = Options();
  options.study_id = "again";
  const size_t requests_before = network_->requests().size();
  ASSERT_OK_AND_ASSIGN(const StudyResult result, StudyRunner(options).Run());
  EXPECT_EQ(network_->requests()[requests_before].candidates[0].trace, winner);
  EXPECT_EQ(result.progress.tasks[0].best.trace, planted_());
  EXPECT_EQ(Best(0)[0].trace, planted_());
  EXPECT_EQ(Best(0)[1].trace, winner);
}

TEST_F(StudyRefinerTest, WinnerOfAnEarlierStudyIsReportedWhereNobodyBeatsIt) {
  planted_ = TraceOfRank(1);
  ASSERT_THAT(Run(), IsOk());
  NewStudy again = study_->New();
  again.id = "again";
  ASSERT_THAT(CreateStudy(*studies_, again), IsOk());
  StudyRunnerOptions options = Options();
  options.study_id = "again";
  ASSERT_OK_AND_ASSIGN(const StudyResult result, StudyRunner(options).Run());
  EXPECT_EQ(result.progress.refine.changed_count, 0);
  EXPECT_EQ(result.progress.tasks[0].best.trace, planted_());
  EXPECT_EQ(result.progress.tasks[0].best.origin, BestOrigin::kHistory);
  EXPECT_TRUE(result.progress.tasks[0].best.refined);
}

// Alone it met a busy moment, in which a trial stops early: three times as slow.
TEST_F(StudyRefinerTest, DefaultOfAnotherAlgorithmWinsWhereverItStoodAlone) {
  second_slowdown_ = 3;
  Create({.trials_max = 60}, /*task_count=*/2, /*second_algorithm=*/true);
  const std::string second = study_->second_default_trace(0);
  planted_ = [second] { return second; };
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(CountIn(network_->requests()[0], second), 1);
  EXPECT_EQ(CountIn(network_->requests()[0], study_->default_trace(0)), 1);
  // What `compile` takes.
  EXPECT_EQ(Best(0)[0].trace, second);
  EXPECT_EQ(Best(0)[0].isolated_rank_ns(), 3 * AloneNs(second));
  EXPECT_EQ(result.progress.tasks[0].best.origin, BestOrigin::kDefault);
  EXPECT_TRUE(result.progress.tasks[0].best.refined);
  EXPECT_NE(Best(1)[0].trace, study_->second_default_trace(1));
}

TEST_F(StudyRefinerTest, DefaultThatTheAccuracyLimitRefusesTakesNoPart) {
  Create({.trials_max = 60, .error_max = 1e-6}, /*task_count=*/2, /*second_algorithm=*/true);
  planted_ = [this] { return study_->second_default_trace(0); };
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  for (const NetworkRequest& request : network_->requests()) {
    EXPECT_EQ(CountIn(request, planted_()), 0);
  }
  EXPECT_EQ(CountIn(network_->requests()[0], study_->default_trace(0)), 1);
  EXPECT_EQ(result.progress.refine.error, "");
}

TEST_F(StudyRefinerTest, WithheldDefaultsTakeNoPart) {
  Create({.trials_max = 60, .no_default = true}, /*task_count=*/2, /*second_algorithm=*/true);
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  for (const NetworkRequest& request : network_->requests()) {
    EXPECT_EQ(CountIn(request, study_->default_trace(0)), 0);
    EXPECT_EQ(CountIn(request, study_->second_default_trace(0)), 0);
  }
  EXPECT_EQ(result.progress.refine.network_ratio, 0);
  EXPECT_EQ(NetworkText(result.progress.refine), "");
}

TEST_F(StudyRefinerTest, WhatTuningIsWorthIsMeasuredInWholePasses) {
  planted_ = TraceOfRank(1);
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  double chosen_ns = 0, default_ns = 0;
  for (const int task : {0, 1, 1}) {
    const std::string trace = Best(task)[0].trace;
    chosen_ns += static_cast<double>(AloneNs(trace)) * (trace == planted_() ? 0.8 : 1);
    default_ns += static_cast<double>(AloneNs(study_->default_trace(task)));
  }
  EXPECT_NEAR(result.progress.refine.network_ratio, chosen_ns / default_ns, 1e-4);
  EXPECT_THAT(NetworkText(result.progress.refine), HasSubstr("faster than with default"));
  EXPECT_THAT(Summary().study.detail, HasSubstr("; network: "));
}

TEST_F(StudyRefinerTest, GainOfATaskIsMeasuredInTurnWithWhatShipsWithoutTrials) {
  planted_ = TraceOfRank(0);
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  const std::vector<double>& gains = result.progress.refine.task_gains;
  ASSERT_THAT(gains, SizeIs(2));
  const std::string shipped = study_->default_trace(0);
  EXPECT_NEAR(gains[0], AloneNs(shipped) / (0.8 * AloneNs(planted_())), 1e-3);
  EXPECT_NEAR(gains[1], 1, 0.011);
}

// One operator has no neighbours: a made-up model has it several times.
TEST_F(StudyRefinerTest, GainIsMeasuredWhereNothingIsRefined) {
  Create({.trials_max = 20}, /*task_count=*/1);
  planted_ = TraceOfRank(0);
  StudyRunnerOptions options = Options();
  options.model_order = {};
  ASSERT_OK_AND_ASSIGN(const StudyResult result, StudyRunner(options).Run());
  EXPECT_TRUE(result.progress.refine.gains_only);
  EXPECT_EQ(result.progress.refine.process_count, 3);
  EXPECT_EQ(network_->requests().front().order.step_count, 8);
  ASSERT_THAT(result.progress.refine.task_gains, SizeIs(1));
  EXPECT_NEAR(result.progress.refine.task_gains[0],
              AloneNs(study_->default_trace(0)) / (0.8 * AloneNs(planted_())), 1e-3);
  // The records are as the trials left them.
  EXPECT_EQ(Best(0)[0].network_factor, 1);
  EXPECT_EQ(NetworkText(result.progress.refine), "");
}

// A study's best is never what is slower in turn than what ships without it.
TEST_F(StudyRefinerTest, DefaultOfOneOperatorIsTakenWhereTheBestAloneIsBehindIt) {
  Create({.trials_max = 20}, /*task_count=*/1);
  planted_ = [this] { return study_->default_trace(0); };
  StudyRunnerOptions options = Options();
  options.model_order = {};
  ASSERT_OK_AND_ASSIGN(const StudyResult result, StudyRunner(options).Run());
  EXPECT_TRUE(result.progress.refine.gains_only);
  EXPECT_TRUE(result.progress.refine.defaults_taken);
  EXPECT_EQ(result.progress.refine.task_gains, std::vector<double>{1});
  EXPECT_EQ(Best(0)[0].trace, study_->default_trace(0));
  EXPECT_EQ(result.progress.tasks[0].best.trace, study_->default_trace(0));
  EXPECT_EQ(result.progress.tasks[0].best.origin, BestOrigin::kDefault);
}

TEST_F(StudyRefinerTest, DefaultSchedulesStayWhereTheBestOfEachTaskAreSlowerTogether) {
  planted_ = TraceOfRank(1);
  // In passes without a default, of jobs of two sets: as caches that are too small for them.
  SetNetwork({.pass_factor = [this](const NetworkRequest& request, int64_t pass) {
    if (request.candidates.size() > 4) return 1.0;
    const int candidate = request.order.candidates[pass * request.order.step_count];
    return request.candidates[candidate].trace == study_->default_trace(0) ? 1.0 : 1.5;
  }});
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_GT(result.progress.refine.network_ratio, 1.3);
  EXPECT_THAT(NetworkText(result.progress.refine), HasSubstr("which are taken"));
  EXPECT_THAT(Summary().study.detail, HasSubstr("slower than with default schedules"));
  for (int task = 0; task < 2; ++task) {
    EXPECT_EQ(Best(task)[0].trace, study_->default_trace(task));
    EXPECT_EQ(result.progress.tasks[task].best.trace, study_->default_trace(task));
    EXPECT_EQ(result.progress.tasks[task].best.origin, BestOrigin::kDefault);
  }
}

TEST_F(StudyRefinerTest, NothingIsRefinedWhereItIsNotWorthIt) {
  const auto is_refined = [this](const std::function<void(StudyRunnerOptions&)>& change,
                                 const StudySpec& spec, int task_count = 2) {
    Create(spec, task_count);
    StudyRunnerOptions options = Options();
    change(options);
    const absl::StatusOr<StudyResult> result = StudyRunner(options).Run();
    EXPECT_THAT(result, IsOk());
    if (spec.no_refine) EXPECT_THAT(network_->requests(), IsEmpty());
    return !network_->requests().empty() && !result->progress.refine.gains_only;
  };
  const auto nothing = [](StudyRunnerOptions&) {};
  EXPECT_TRUE(is_refined(nothing, {.trials_max = 16}));
  EXPECT_FALSE(is_refined(nothing, {.trials_max = 15}));
  EXPECT_FALSE(is_refined(nothing, {.trials_max = 60, .no_refine = true}));
  EXPECT_FALSE(is_refined([](StudyRunnerOptions& options) { options.model_order.clear(); },
                          {.trials_max = 60}));
  EXPECT_FALSE(is_refined([](StudyRunnerOptions& options) { options.model_order = {0, 0}; },
                          {.trials_max = 60}, /*task_count=*/1));
  EXPECT_FALSE(is_refined([](StudyRunnerOptions& options) { options.network = nullptr; },
                          {.trials_max = 60}));
}

}  // namespace
}  // namespace burnish
