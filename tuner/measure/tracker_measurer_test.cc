// The measurer over a real tracker service on a real port, with fake builders and runners.
#include "tuner/measure/tracker_measurer.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/build_job.h"
#include "proto/run_job.h"
#include "proto/workload.h"
#include "tracker/tracker_client.h"
#include "tracker/tracker_service.h"
#include "tuner/measure/tracker_network_measurer.h"
#include "worker/agent/agent_client.h"
#include "worker/agent/fake_executor.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr absl::Duration kLong = absl::Minutes(1);

Target FarmTarget() {
  const absl::StatusOr<Target> target = ParseTarget("cpu:arch=znver3");
  CHECK_OK(target);
  return *target;
}

// What the fake farm was asked to do, and how it is to behave.
class Farm {
 public:
  Farm() : lab_(absl::Milliseconds(1), [this](const JobSpec& job) { return Execute(job); }) {
    auto service = TrackerService::Start({.hang_max = absl::Milliseconds(200)});
    CHECK_OK(service);
    service_ = *std::move(service);
  }
  ~Farm() {
    agent_.reset();
    service_.reset();
  }

  void StartWorker() {
    std::vector<AgentSlot> slots(2);
    slots[0] = {.info = {.kind = JobKind::kBuild}, .executor = lab_.MakeExecutor()};
    slots[1] = {.info = {.kind = JobKind::kRun, .device_keys = {FarmTarget().DeviceKey()}},
                .executor = lab_.MakeExecutor()};
    agent_ = std::make_unique<AgentClient>(
        AgentOptions{.tracker = address(), .identity = {.worker_id = "w", .incarnation = 1}},
        std::move(slots));
  }
  void StopTracker() { service_.reset(); }

  std::string address() const { return service_->address(); }

  std::map<std::string, int> counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  // Ids of jobs, as they were executed.
  std::vector<std::string> order() const {
    const std::lock_guard lock(mutex_);
    return order_;
  }
  std::vector<RunJob> run_jobs() const {
    const std::lock_guard lock(mutex_);
    return run_jobs_;
  }

  // Answers the first so many run jobs with ArtifactMissing of everything that they name.
  std::atomic<int> missing_count = 0;

  // What the first so many builders and runners make of their honest results.
  void Lie(int count, std::function<void(BuildResult&)> build,
           std::function<void(RunResult&)> run = nullptr) {
    const std::lock_guard lock(mutex_);
    lie_count_ = count;
    build_lie_ = std::move(build);
    run_lie_ = std::move(run);
  }

 private:
  JobOutcome Execute(const JobSpec& spec) {
    const std::lock_guard lock(mutex_);
    ++counts_[spec.id];
    order_.push_back(spec.id);
    return spec.kind == JobKind::kBuild ? Build(spec) : Run(spec);
  }

  static std::string ArtifactOf(const std::string& trace) { return Sha256Bytes("elf " + trace); }

  JobOutcome Build(const JobSpec& spec) {
    auto job = DecodeBuildJob(spec.payload);
    CHECK_OK(job);
    BuildResult result{.candidate_id = job->candidate_id};
    if (absl::StrContains(job->trace, "unbuildable")) {
      result.outcome = Failure{FailureKind::kBuildError, "no such loop"};
    } else {
      // A border for each letter of the trace.
      BuiltArtifact built{.numerics = {.kind = NumericsClass::kReassociated},
                          .contract = absl::StrCat(job->contract, " border ", job->trace.size())};
      built.build.artifact_sha256 = ArtifactOf(job->trace);
      built.build.codegen_epoch = job->codegen_epoch;
      result.outcome = built;
    }
    if (build_lie_ != nullptr && lie_count_-- > 0) build_lie_(result);
    return Encode(result);
  }

  JobOutcome Run(const JobSpec& spec) {
    auto job = DecodeRunJob(spec.payload);
    CHECK_OK(job);
    run_jobs_.push_back(*job);
    RunResult result;
    ArtifactMissing missing;
    for (const RunCandidate& candidate : job->candidates) {
      missing.sha256.push_back(candidate.artifact_sha256);
      if (!candidate.reference_artifact_sha256.empty()) {
        missing.sha256.push_back(candidate.reference_artifact_sha256);
      }
      Measurement measurement{.candidate_id = candidate.candidate_id};
      if (candidate.artifact_sha256 == ArtifactOf("crashing")) {
        measurement.outcome = Failure{FailureKind::kCrashed, "signal 11"};
      } else {
        measurement.outcome = Latencies{{ProcessLatencies{.latency_ns = {1234}}}};
      }
      measurement.numerics.error = 1e-7;
      result.measurements.push_back(measurement);
    }
    if (missing_count > 0) {
      --missing_count;
      return missing;
    }
    if (run_lie_ != nullptr && lie_count_-- > 0) run_lie_(result);
    return Encode(result);
  }

  mutable std::mutex mutex_;  // For those below, up to the lab.
  int lie_count_ = 0;
  std::function<void(BuildResult&)> build_lie_;
  std::function<void(RunResult&)> run_lie_;
  std::map<std::string, int> counts_;
  std::vector<std::string> order_;
  std::vector<RunJob> run_jobs_;
  FakeLab lab_;
  std::unique_ptr<TrackerService> service_;
  std::unique_ptr<AgentClient> agent_;
};

class TrackerMeasurerTest : public ::testing::Test {
 protected:
  TrackerMeasurerTest() { Connect("one"); }

  // As a tuner process that is started. The tracker takes it for the one before.
  void Connect(const std::string& session) {
    measurer_.reset();
    client_.reset();
    client_ = std::make_unique<TrackerClient>(
        TrackerClientOptions{.tracker = farm_.address(),
                             .tuner_id = "tuner",
                             .tuner_secret = "kept over the tuner's restarts"});
    measurer_ = std::make_unique<TrackerMeasurer>(
        TrackerMeasurerOptions{.client = client_.get(), .study = "s", .session = session});
  }

  static std::shared_ptr<const MeasureTask> Task(std::optional<std::string> reference,
                                                 const std::string& text = "block Y") {
    auto task = std::make_shared<MeasureTask>();
    auto workload = MakeWorkload(text, "block");
    CHECK_OK(workload);
    task->workload = *workload;
    task->target = FarmTarget();
    task->contract = "nhwc";
    task->codegen_epoch = 3;
    task->reference_trace = std::move(reference);
    return task;
  }

  std::map<std::string, Measurement> CollectCount(size_t count) {
    std::map<std::string, Measurement> results;
    while (results.size() < count) {
      const std::vector<MeasureResult> some = measurer_->Collect(kLong);
      if (some.empty()) break;
      for (const MeasureResult& result : some) {
        EXPECT_TRUE(results.emplace(result.trial_id, result.measurement).second);
      }
    }
    return results;
  }

  Farm farm_;
  std::unique_ptr<TrackerClient> client_;
  std::unique_ptr<TrackerMeasurer> measurer_;
};

TEST_F(TrackerMeasurerTest, TrialsAreBuiltAndRunBesideTheirReference) {
  farm_.StartWorker();
  const auto task = Task("default");
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/0", .task = task, .trace = "default"},
                                 {.trial_id = "s/1", .task = task, .trace = "fast"},
                                 {.trial_id = "s/2", .task = task, .trace = "unbuildable"},
                                 {.trial_id = "s/3", .task = task, .trace = "crashing"}}),
              IsOk());
  const std::map<std::string, Measurement> results = CollectCount(4);
  ASSERT_THAT(results, SizeIs(4));
  const Measurement& fast = results.at("s/1");
  ASSERT_NE(fast.latencies(), nullptr);
  EXPECT_EQ(fast.latencies()->processes[0].latency_ns[0], 1234);
  EXPECT_EQ(fast.numerics.kind, NumericsClass::kReassociated);
  EXPECT_EQ(fast.numerics.error, 1e-7);
  EXPECT_EQ(fast.build.codegen_epoch, 3);
  EXPECT_EQ(fast.environment.method_version, kMeasureMethodVersion);
  EXPECT_EQ(fast.environment.worker, "w");
  EXPECT_EQ(results.at("s/2").failure()->kind, FailureKind::kBuildError);
  EXPECT_EQ(results.at("s/2").environment.method_version, kMeasureMethodVersion);
  EXPECT_EQ(results.at("s/3").failure()->kind, FailureKind::kCrashed);
  EXPECT_EQ(results.at("s/3").build.codegen_epoch, 3);
  for (const RunJob& job : farm_.run_jobs()) {
    const RunCandidate& candidate = job.candidates[0];
    EXPECT_EQ(candidate.reference_artifact_sha256, Sha256Bytes("elf default"));
    EXPECT_EQ(candidate.reference_contract, "nhwc border 7");
    if (candidate.artifact_sha256 == Sha256Bytes("elf fast")) {
      EXPECT_EQ(candidate.contract, "nhwc border 4");
    }
  }
  EXPECT_THAT(measurer_->health(), IsOk());
}

TEST_F(TrackerMeasurerTest, ReferenceThatDoesNotBuildLeavesTheTrialsWithoutOne) {
  farm_.StartWorker();
  ASSERT_THAT(
      measurer_->Submit({{.trial_id = "s/1", .task = Task("unbuildable"), .trace = "fast"}}),
      IsOk());
  EXPECT_NE(CollectCount(1).at("s/1").latencies(), nullptr);
  EXPECT_EQ(farm_.run_jobs()[0].candidates[0].reference_artifact_sha256, "");
}

TEST_F(TrackerMeasurerTest, ReferenceIsBuiltBeforeTheTrialsThatWaitForIt) {
  farm_.StartWorker();
  const auto task = Task("default");
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = task, .trace = "fast"},
                                 {.trial_id = "s/2", .task = task, .trace = "other"}}),
              IsOk());
  EXPECT_THAT(CollectCount(2), SizeIs(2));
  EXPECT_THAT(farm_.order()[0], StartsWith("ref/"));
}

TEST_F(TrackerMeasurerTest, ReferenceThatIsATrialIsNotBuiltAgain) {
  farm_.StartWorker();
  const auto task = Task("default");
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/0", .task = task, .trace = "default"}}), IsOk());
  EXPECT_THAT(CollectCount(1), SizeIs(1));
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = task, .trace = "fast"}}), IsOk());
  EXPECT_THAT(CollectCount(1), SizeIs(1));
  EXPECT_THAT(farm_.order(), ElementsAre("s/0#b1", "s/0#r1", "s/1#b1", "s/1#r1"));
  EXPECT_EQ(farm_.run_jobs()[1].candidates[0].reference_artifact_sha256,
            Sha256Bytes("elf default"));
}

// A builder keeps the builds of all trials in flight until these have ended, and they end only when
// it builds once more.
TEST_F(TrackerMeasurerTest, WindowOfTrialsWhoseArtifactsAreAllForgottenGoesOn) {
  constexpr int kWindow = 64;  // StudyRunnerOptions::in_flight_max.
  farm_.missing_count = kWindow;
  farm_.StartWorker();
  const auto task = Task("default");
  std::vector<MeasureRequest> requests;
  for (int i = 0; i < kWindow; ++i) {
    requests.push_back(
        {.trial_id = absl::StrCat("s/", i), .task = task, .trace = absl::StrCat("trace ", i)});
  }
  ASSERT_THAT(measurer_->Submit(requests), IsOk());
  const std::map<std::string, Measurement> results = CollectCount(kWindow);
  ASSERT_THAT(results, SizeIs(kWindow));
  for (const auto& [id, measurement] : results) EXPECT_NE(measurement.latencies(), nullptr) << id;
}

TEST_F(TrackerMeasurerTest, LostArtifactsAreBuiltAgain) {
  farm_.missing_count = 2;
  farm_.StartWorker();
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = Task("default"), .trace = "fast"}}),
              IsOk());
  EXPECT_NE(CollectCount(1).at("s/1").latencies(), nullptr);
  const std::map<std::string, int> counts = farm_.counts();
  EXPECT_EQ(counts.at("s/1#b3"), 1);
  EXPECT_EQ(counts.at("s/1#r3"), 1);
  EXPECT_EQ(farm_.run_jobs().size(), 3);
}

TEST_F(TrackerMeasurerTest, TrialWhoseArtifactIsLostAgainAndAgainFails) {
  farm_.missing_count = 1000;
  farm_.StartWorker();
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = Task({}), .trace = "fast"}}), IsOk());
  const Measurement measurement = CollectCount(1).at("s/1");
  ASSERT_NE(measurement.failure(), nullptr);
  EXPECT_EQ(measurement.failure()->kind, FailureKind::kParked) << "the store's doing";
  EXPECT_THAT(measurement.failure()->message, HasSubstr("lost 6 times"));
}

TEST_F(TrackerMeasurerTest, TunerThatDiedFindsItsTrialsAgainAndNothingRunsTwice) {
  farm_.StartWorker();
  const auto task = Task("default");
  std::vector<MeasureRequest> requests;
  for (int i = 0; i < 20; ++i) {
    requests.push_back(
        {.trial_id = absl::StrCat("s/", i), .task = task, .trace = absl::StrCat("trace ", i)});
  }
  ASSERT_THAT(measurer_->Submit(requests), IsOk());
  ASSERT_THAT(CollectCount(20), SizeIs(20));  // Not acknowledged: nothing is stored.
  Connect("two");
  // All that the tracker has, a build and a run of each, comes before any trial is submitted again.
  while (client_->state().held_count < 40) {
    ASSERT_THAT(measurer_->Collect(absl::Milliseconds(10)), IsEmpty());
  }
  for (MeasureRequest& request : requests) request.resubmission = true;
  ASSERT_THAT(measurer_->Submit({requests.begin(), requests.begin() + 10}), IsOk());
  ASSERT_THAT(measurer_->Submit({requests.begin() + 10, requests.end()}), IsOk());
  measurer_->AllResubmitted();
  EXPECT_THAT(CollectCount(20), SizeIs(20));
  EXPECT_EQ(client_->state().held_count, 0);
  for (const auto& [job, count] : farm_.counts()) {
    EXPECT_EQ(count, 1) << job;  // The reference too: another session has another id.
  }
  std::vector<std::string> ids;
  for (const MeasureRequest& request : requests) ids.push_back(request.trial_id);
  measurer_->Acknowledge(ids);
}

TEST_F(TrackerMeasurerTest, CancelledTrialsSaySoAndMayBeTriedAgain) {
  const auto task = Task("default");  // No worker: everything waits.
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = task, .trace = "fast"}}), IsOk());
  // Until the tracker says that it has no worker for it, it may not have the job yet.
  while (absl::IsFailedPrecondition(measurer_->health()) == false) {
    ASSERT_THAT(measurer_->Collect(absl::Milliseconds(10)), IsEmpty());
  }
  ASSERT_THAT(measurer_->Cancel({"s/1"}), IsOk());
  EXPECT_EQ(CollectCount(1).at("s/1").failure()->kind, FailureKind::kCancelled);
  farm_.StartWorker();
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = task, .trace = "fast"}}), IsOk());
  EXPECT_NE(CollectCount(1).at("s/1").latencies(), nullptr);
}

TEST_F(TrackerMeasurerTest, UnreachableTrackerShowsInHealth) {
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = Task({}), .trace = "fast"}}), IsOk());
  farm_.StopTracker();
  while (!absl::IsUnavailable(measurer_->health())) {
    ASSERT_THAT(measurer_->Collect(absl::Milliseconds(10)), IsEmpty());
  }
}

TEST_F(TrackerMeasurerTest, MalformedRequestsAreRefusedAndNoneIsTaken) {
  const auto task = Task({});
  EXPECT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = task, .trace = "fast"},
                                 {.trial_id = "", .task = task}}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(measurer_->Submit({{.trial_id = "s/1"}}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(client_->state().open_count, 0);
}

// Such a contract would come back in the run job, which is then larger than a job may be.
TEST_F(TrackerMeasurerTest, ContractOfMegabytesIsItsBuildersFaultAndTheTrialGoesOn) {
  farm_.Lie(1, [](BuildResult& result) {
    std::get<BuiltArtifact>(result.outcome).contract = std::string(700 << 10, 'x');
  });
  farm_.StartWorker();
  const auto task = Task({});
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = task, .trace = "fast"}}), IsOk());
  const Measurement lost = CollectCount(1).at("s/1");
  ASSERT_NE(lost.failure(), nullptr);
  EXPECT_EQ(lost.failure()->kind, FailureKind::kWorkerLost);
  EXPECT_THAT(lost.failure()->message, HasSubstr("worker w sent a result that cannot be"));
  EXPECT_EQ(lost.environment.worker, "w");
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = task, .trace = "fast"}}), IsOk());
  EXPECT_NE(CollectCount(1).at("s/1").latencies(), nullptr);
}

TEST_F(TrackerMeasurerTest, TrialThatIsMeasuredAgainIsNotBuiltAgain) {
  farm_.StartWorker();
  const auto task = Task({});
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = task, .trace = "fast"}}), IsOk());
  ASSERT_THAT(CollectCount(1), SizeIs(1));
  // The only worker there is gets it all the same.
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1",
                                  .task = task,
                                  .trace = "fast",
                                  .again = true,
                                  .avoid_workers = std::vector<std::string>(100, "w")}}),
              IsOk());
  EXPECT_NE(CollectCount(1).at("s/1").latencies(), nullptr);
  measurer_->Acknowledge({"s/1"});
  const std::map<std::string, int> want = {{"s/1#b1", 1}, {"s/1#r1", 1}, {"s/1#r2", 1}};
  EXPECT_EQ(farm_.counts(), want);
}

// Hands out what it is given, and remembers which jobs it was told to be of an earlier run.
class RecordingClient : public JobClient {
 public:
  absl::Status Submit(std::vector<JobSpec> jobs, bool resubmission) override {
    for (const JobSpec& job : jobs) resubmissions[job.id] = resubmission;
    return absl::OkStatus();
  }
  void AllResubmitted() override {}
  std::vector<ResultEntry> Collect(absl::Duration, int) override {
    return std::exchange(results, {});
  }
  void Acknowledge(const std::vector<std::string>&) override {}
  absl::Status Cancel(const std::vector<std::string>&, const std::string&) override {
    return absl::OkStatus();
  }
  TrackerClientState state() const override { return {}; }

  std::map<std::string, bool> resubmissions;
  std::vector<ResultEntry> results;
};

// The process before this one may have begun the trial anew as well, under the same next id.
TEST_F(TrackerMeasurerTest, TrialOfAnEarlierProcessStaysOneWhenItIsTriedAgain) {
  RecordingClient client;
  TrackerMeasurer measurer({.client = &client, .study = "s", .has_thread = false});
  MeasureRequest request{.trial_id = "s/1", .task = Task({}), .trace = "t", .resubmission = true};
  ASSERT_THAT(measurer.Submit({request}), IsOk());
  client.results = {{.job_id = "s/1#b1", .outcome = WorkerFault{.message = "sick"}}};
  EXPECT_THAT(measurer.Collect(absl::ZeroDuration()), SizeIs(1));
  request.resubmission = false;
  request.again = true;
  ASSERT_THAT(measurer.Submit({request}), IsOk());
  const std::map<std::string, bool> want = {{"s/1#b1", true}, {"s/1#b2", true}};
  EXPECT_EQ(client.resubmissions, want);
}

// A tracker gives the result that it has for a job's id, and that was none.
TEST_F(TrackerMeasurerTest, TrialThatWasParkedGetsJobsThatNobodyKnows) {
  farm_.StartWorker();
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1",
                                  .task = Task({}),
                                  .trace = "fast",
                                  .resubmission = true,
                                  .resumption = 2}}),
              IsOk());
  EXPECT_NE(CollectCount(1).at("s/1").latencies(), nullptr);
  const std::map<std::string, int> want = {{"s/1#b2.1", 1}, {"s/1#r2.1", 1}};
  EXPECT_EQ(farm_.counts(), want);
}

TEST_F(TrackerMeasurerTest, TrialsThatAreTooLargeForAJobFailAndTheOthersGoOn) {
  // Three quarters of what a job may hold: the build job fits, the run job with two contracts of
  // the largest size does not.
  farm_.Lie(100, [](BuildResult& result) {
    std::get<BuiltArtifact>(result.outcome).contract =
        std::string(BuiltArtifact::kContractBytesMax, 'x');
  });
  farm_.StartWorker();
  const auto large = Task("default", std::string(JobSpec::kPayloadBytesMax / 4 * 3, 'w'));
  const auto too_large = Task("default", std::string(JobSpec::kPayloadBytesMax + 1, 'w'));
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = large, .trace = "fast"},
                                 {.trial_id = "s/2", .task = too_large, .trace = "fast"},
                                 {.trial_id = "s/3", .task = Task({}), .trace = "fast"}}),
              IsOk());
  const std::map<std::string, Measurement> results = CollectCount(3);
  ASSERT_NE(results.at("s/1").failure(), nullptr);
  EXPECT_EQ(results.at("s/1").failure()->kind, FailureKind::kRunError);
  EXPECT_THAT(results.at("s/1").failure()->message, HasSubstr("cannot be a job"));
  ASSERT_NE(results.at("s/2").failure(), nullptr);
  EXPECT_EQ(results.at("s/2").failure()->kind, FailureKind::kBuildError);
  EXPECT_NE(results.at("s/3").latencies(), nullptr);
}

TEST_F(TrackerMeasurerTest, ResultOfAnotherCandidateIsNotTakenForThisOne) {
  farm_.Lie(1, nullptr,
            [](RunResult& result) { result.measurements[0].candidate_id = std::string(32, 'z'); });
  farm_.StartWorker();
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = Task({}), .trace = "fast"}}), IsOk());
  const Measurement lost = CollectCount(1).at("s/1");
  ASSERT_NE(lost.failure(), nullptr);
  EXPECT_EQ(lost.failure()->kind, FailureKind::kWorkerLost);
  EXPECT_THAT(lost.failure()->message, HasSubstr("another candidate"));
}

TEST_F(TrackerMeasurerTest, ReferenceIsBuiltAgainWhereABuilderLied) {
  farm_.Lie(1000, [lies = 2](BuildResult& result) mutable {
    const BuiltArtifact& built = std::get<BuiltArtifact>(result.outcome);
    if (built.build.artifact_sha256 != Sha256Bytes("elf default") || lies-- <= 0) return;
    result.candidate_id = std::string(32, 'z');
  });
  farm_.StartWorker();
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = Task("default"), .trace = "fast"}}),
              IsOk());
  EXPECT_NE(CollectCount(1).at("s/1").latencies(), nullptr);
  EXPECT_EQ(farm_.run_jobs()[0].candidates[0].reference_artifact_sha256,
            Sha256Bytes("elf default"));
}

// Two processes run one study, of databases of their own: the second must not wait for results that
// the tracker gives to the first.
TEST_F(TrackerMeasurerTest, AStrangerUnderTheTunersNameIsToldSo) {
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = Task({}), .trace = "fast"}}), IsOk());
  // Once it has heard that nobody can do the job, the tracker knows it.
  while (!absl::IsFailedPrecondition(measurer_->health())) std::this_thread::yield();
  TrackerClient stranger({.tracker = farm_.address(), .tuner_id = "tuner"});
  TrackerMeasurer measurer({.client = &stranger, .study = "s", .session = "two"});
  while (!absl::IsPermissionDenied(measurer.health())) std::this_thread::yield();
  EXPECT_THAT(measurer.health(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("by another secret")));
  EXPECT_THAT(measurer_->health(), testing::Not(StatusIs(absl::StatusCode::kPermissionDenied)));
  TrackerNetworkMeasurer network({.client = &stranger,
                                  .clock = &Clock::Real(),
                                  .study = "s",
                                  .session = "two",
                                  .silence_max = absl::InfiniteDuration()});
  NetworkRequest request{.candidates = {{.task = Task({}), .trace = "fast"}},
                         .order = {.step_count = 1, .candidates = {0}},
                         .timeout = absl::Seconds(7)};
  EXPECT_THAT(network.Measure(request, [] { return false; }),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

class TrackerNetworkMeasurerTest : public TrackerMeasurerTest {
 protected:
  TrackerNetworkMeasurerTest() {
    network_client_ = std::make_unique<TrackerClient>(
        TrackerClientOptions{.tracker = farm_.address(), .tuner_id = "tuner/refine"});
    network_ = std::make_unique<TrackerNetworkMeasurer>(TrackerNetworkMeasurerOptions{
        .client = network_client_.get(),
        .clock = &Clock::Real(),
        .study = "s",
        .session = "one",
        .find_built =
            [this](const std::string& candidate_id) { return measurer_->FindBuilt(candidate_id); },
        .silence_max = absl::Milliseconds(1)});
  }

  // A model of two steps with these candidates, each in one pass.
  static NetworkRequest Request(const std::vector<std::string>& traces) {
    NetworkRequest request{
        .order = {.step_count = 2}, .model_id = std::string(32, 'm'), .timeout = absl::Seconds(7)};
    for (const std::string& trace : traces) {
      const auto index = static_cast<int32_t>(request.candidates.size());
      request.candidates.push_back({.task = Task({}), .trace = trace});
      request.order.candidates.insert(request.order.candidates.end(), 2, index);
    }
    return request;
  }

  absl::StatusOr<NetworkResult> Measure(const std::vector<std::string>& traces) {
    return network_->Measure(Request(traces), [] { return false; });
  }

  std::unique_ptr<TrackerClient> network_client_;
  std::unique_ptr<TrackerNetworkMeasurer> network_;
};

TEST_F(TrackerNetworkMeasurerTest, EachCandidateIsBuiltOnceAndAllRunInOneJobInTheModelsOrder) {
  farm_.StartWorker();
  for (int process = 0; process < 2; ++process) {
    ASSERT_OK_AND_ASSIGN(const NetworkResult result, Measure({"fast", "fast", "slow"}));
    EXPECT_TRUE(result.has_run);
    ASSERT_THAT(result.measurements, SizeIs(3));
    for (const Measurement& measurement : result.measurements) {
      ASSERT_NE(measurement.latencies(), nullptr);
      EXPECT_EQ(measurement.latencies()->processes[0].latency_ns[0], 1234);
    }
  }
  EXPECT_THAT(farm_.counts(), SizeIs(4));  // Two builds and two runs.
  const RunJob job = farm_.run_jobs().at(1);
  ASSERT_THAT(job.candidates, SizeIs(3));
  EXPECT_EQ(job.candidates[0], job.candidates[1]);
  EXPECT_EQ(job.candidates[2].artifact_sha256, Sha256Bytes("elf slow"));
  EXPECT_EQ(job.candidates[2].contract, "nhwc border 4");
  EXPECT_EQ(job.model_order, Request({"fast", "fast", "slow"}).order);
  EXPECT_EQ(job.model_sha256, std::string(32, 'm'));
  EXPECT_EQ(job.method.cold_policy, ColdPolicy::kModelOrder);
  EXPECT_EQ(job.method.timeout, absl::Seconds(7));
}

TEST_F(TrackerNetworkMeasurerTest, ResultThatCannotBeIsMeasuredAgainButNotForEver) {
  const auto lie = [](RunResult& result) { result.measurements[1].network_factor = 1e300; };
  farm_.Lie(2, nullptr, lie);
  farm_.StartWorker();
  ASSERT_OK_AND_ASSIGN(const NetworkResult result, Measure({"fast", "slow"}));
  EXPECT_TRUE(result.has_run);
  EXPECT_EQ(result.measurements[1].network_factor, 0);
  EXPECT_THAT(farm_.run_jobs(), SizeIs(3));
  farm_.Lie(1000, nullptr, lie);
  EXPECT_THAT(Measure({"fast", "slow"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("network_factor")));
}

TEST_F(TrackerNetworkMeasurerTest, BuildThatCannotBeIsBuiltAgainButNotForEver) {
  const auto lie = [](BuildResult& result) { result.candidate_id = std::string(32, 'z'); };
  farm_.Lie(2, lie);
  farm_.StartWorker();
  ASSERT_OK_AND_ASSIGN(const NetworkResult result, Measure({"fast", "slow"}));
  EXPECT_TRUE(result.has_run);
  farm_.Lie(1000, lie);
  EXPECT_THAT(Measure({"fast", "other"}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(TrackerNetworkMeasurerTest, NothingRunsWhereACandidateDoesNotBuild) {
  farm_.StartWorker();
  ASSERT_OK_AND_ASSIGN(const NetworkResult result, Measure({"fast", "unbuildable"}));
  EXPECT_FALSE(result.has_run);
  EXPECT_EQ(result.measurements[0].failure()->kind, FailureKind::kCancelled);
  EXPECT_EQ(result.measurements[1].failure()->kind, FailureKind::kBuildError);
  EXPECT_THAT(farm_.run_jobs(), IsEmpty());
}

TEST_F(TrackerNetworkMeasurerTest, LostArtifactsAreBuiltAgainButNotForEver) {
  farm_.missing_count = 2;
  farm_.StartWorker();
  ASSERT_OK_AND_ASSIGN(const NetworkResult result, Measure({"fast", "slow"}));
  EXPECT_TRUE(result.has_run);
  EXPECT_THAT(farm_.run_jobs(), SizeIs(3));
  EXPECT_THAT(farm_.counts(), SizeIs(3 * 3));
  farm_.missing_count = 1000;
  EXPECT_THAT(Measure({"fast", "slow"}), StatusIs(absl::StatusCode::kInternal));
}

TEST_F(TrackerNetworkMeasurerTest, WhatTheTrialsHadBuiltIsNotBuiltAgainUnlessItIsLost) {
  farm_.StartWorker();
  ASSERT_THAT(measurer_->Submit({{.trial_id = "s/1", .task = Task({}), .trace = "fast"}}), IsOk());
  ASSERT_THAT(CollectCount(1), SizeIs(1));
  measurer_->Acknowledge({"s/1"});
  ASSERT_OK_AND_ASSIGN(const NetworkResult result, Measure({"fast"}));
  EXPECT_TRUE(result.has_run);
  EXPECT_EQ(farm_.run_jobs().back().candidates[0].contract, "nhwc border 4");
  EXPECT_THAT(farm_.counts(), SizeIs(3));  // A build and two runs.
  farm_.missing_count = 1;
  ASSERT_THAT(Measure({"fast"}), IsOk());
  EXPECT_THAT(farm_.counts(), SizeIs(3 + 3));  // It is missing, is built, and runs.
}

TEST_F(TrackerNetworkMeasurerTest, StopEndsItAndItsJobs) {
  int asked = 0;
  EXPECT_THAT(network_->Measure(Request({"fast"}), [&] { return ++asked > 0; }),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(asked, 1);
}

TEST_F(TrackerNetworkMeasurerTest, FarmWithoutAWorkerIsGivenUp) {
  EXPECT_THAT(Measure({"fast"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no worker can do it")));
}

}  // namespace
}  // namespace burnish
