// A real tracker and a real worker, both processes, and this test as the tuner.
#include <sys/wait.h>

#include <cerrno>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/self_path.h"
#include "base/status_matchers.h"
#include "base/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/artifact_codec.h"
#include "proto/run_job.h"
#include "proto/target.h"
#include "tracker/tracker_client.h"
#include "worker/runner/test_candidates.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr absl::Duration kLong = absl::Seconds(60);  // Never reached when all is well.

absl::StatusOr<ExitInfo> RunWorker(std::vector<std::string> args) {
  return RunSubprocess({.program = *FindProgram("worker/worker"), .args = std::move(args)});
}

class WorkerTest : public ::testing::Test {
 protected:
  WorkerTest() : address_(absl::StrCat("unix:", folder_.path(), "/tracker")) {
    tracker_ = Start("tracker/tracker", {"--listen", address_, "--log-level", "warning"});
    EXPECT_THAT(tracker_->ReadLine(kLong), IsOkAndHolds(address_));
    tuner_ = std::make_unique<TrackerClient>(
        TrackerClientOptions{.tracker = address_, .tuner_id = "tuner", .seed = 1});
  }

  // Nothing that was started is left, nor anything that those started.
  ~WorkerTest() override {
    tuner_.reset();
    worker_.reset();
    tracker_.reset();
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }

  static std::unique_ptr<Child> Start(absl::string_view program, std::vector<std::string> args) {
    absl::StatusOr<std::unique_ptr<Child>> child =
        Child::Start({.program = *FindProgram(program), .args = std::move(args)});
    EXPECT_THAT(child, IsOk());
    return *std::move(child);
  }

  void StartWorker() {
    worker_ = Start("worker/worker", {"--tracker", address_, "--run", "cpu", "--lock-folder",
                                      folder_.path(), "--log-level", "warning"});
  }

  void Submit(const std::string& id, const RunJob& job) {
    JobSpec spec = ToSpec(job, id);
    spec.device_key = ParseTarget(job.target)->DeviceKey();
    EXPECT_THAT(tuner_->Submit({spec}), IsOk());
  }

  // Of a job with one candidate.
  Measurement MeasurementOf(const JobOutcome& outcome) {
    const std::string* const payload = std::get_if<std::string>(&outcome);
    if (payload == nullptr) {
      ADD_FAILURE() << "outcome " << outcome.index();
      return {};
    }
    const absl::StatusOr<RunResult> result = DecodeRunResult(*payload);
    EXPECT_THAT(result, IsOk());
    EXPECT_THAT(result->measurements, SizeIs(1));
    return result->measurements[0];
  }

  JobOutcome CollectOne() {
    const absl::Time end = Clock::Real().SteadyNow() + kLong;
    while (Clock::Real().SteadyNow() < end) {
      std::vector<ResultEntry> results = tuner_->Collect(absl::Seconds(5));
      if (results.empty()) continue;
      EXPECT_THAT(results, SizeIs(1));
      tuner_->Acknowledge({results[0].job_id});
      return results[0].outcome;
    }
    ADD_FAILURE() << "no result";
    return {};
  }

  const TempDir folder_ = *TempDir::Create("worker-test");
  const std::string address_;
  std::unique_ptr<Child> tracker_, worker_;
  std::unique_ptr<TrackerClient> tuner_;
};

TEST_F(WorkerTest, JobsGoFromTunerToRunnerAndTheirResultsBack) {
  StartWorker();
  EXPECT_THAT(tuner_->PutArtifact(VectorArtifact("RIGHT")), IsOk());
  EXPECT_THAT(tuner_->PutArtifact(VectorArtifact("REVERSED")), IsOk());
  EXPECT_THAT(tuner_->PutArtifact(VectorArtifact("CRASHES")), IsOk());
  Submit("good", VectorJob("REVERSED"));
  const Measurement good = MeasurementOf(CollectOne());
  ASSERT_NE(good.latencies(), nullptr);
  EXPECT_THAT(good.latencies()->processes, SizeIs(1));
  EXPECT_GT(good.latencies()->processes[0].reference_before_ns, 0);
  EXPECT_THAT(good.environment.worker, HasSubstr("/cpu"));

  Submit("bad", VectorJob("CRASHES"));
  const Measurement bad = MeasurementOf(CollectOne());
  ASSERT_NE(bad.failure(), nullptr);
  EXPECT_EQ(bad.failure()->kind, FailureKind::kCrashed);
}

TEST_F(WorkerTest, ArtifactThatTheStoreDoesNotHaveIsAskedForAgain) {
  StartWorker();
  Submit("early", VectorJob("RIGHT"));
  const JobOutcome outcome = CollectOne();
  const ArtifactMissing* const missing = std::get_if<ArtifactMissing>(&outcome);
  ASSERT_NE(missing, nullptr);
  EXPECT_THAT(missing->sha256, ElementsAre(ArtifactSha256(VectorArtifact("RIGHT"))));
}

TEST_F(WorkerTest, HangingCandidateIsCancelledAndTheWorkerGoesOn) {
  StartWorker();
  for (const char* kernel : {"RIGHT", "HANGS"}) {
    EXPECT_THAT(tuner_->PutArtifact(VectorArtifact(kernel)), IsOk());
  }
  RunJob job = VectorJob("HANGS");
  job.method.timeout = absl::Minutes(10);
  Submit("hangs", job);
  EXPECT_THAT(tuner_->Cancel({"hangs"}), IsOk());
  const JobOutcome outcome = CollectOne();
  ASSERT_TRUE(std::holds_alternative<Failure>(outcome));
  EXPECT_EQ(std::get<Failure>(outcome).kind, FailureKind::kCancelled);
  Submit("good", VectorJob("RIGHT"));
  EXPECT_NE(MeasurementOf(CollectOne()).latencies(), nullptr);
}

TEST_F(WorkerTest, SignalEndsTheWorkerWhenItHasNothingLeft) {
  StartWorker();
  EXPECT_THAT(tuner_->PutArtifact(VectorArtifact("RIGHT")), IsOk());
  Submit("good", VectorJob("RIGHT"));
  EXPECT_NE(MeasurementOf(CollectOne()).latencies(), nullptr);
  worker_->Kill(SIGTERM);
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, worker_->Wait(kLong));
  EXPECT_EQ(exit.exit_code, 0) << Describe(exit);
}

TEST(WorkerFlagsTest, WhatTheWorkerCannotBeIsAUsageError) {
  const auto fails_with = [](const char* hint) {
    return IsOkAndHolds(AllOf(::testing::Field(&ExitInfo::exit_code, 64),
                              ::testing::Field(&ExitInfo::stderr_bytes, HasSubstr(hint))));
  };
  const std::string tracker = "--tracker=unix:/nowhere";
  EXPECT_THAT(RunWorker({tracker}), fails_with("--run DEVICE"));
  EXPECT_THAT(RunWorker({tracker, "--run", "cuda:0"}), fails_with("try --run cpu"));
  EXPECT_THAT(RunWorker({tracker, "--run", "opencl:0"}), fails_with("try --run cpu"));
  EXPECT_THAT(RunWorker({tracker, "--run", "cpu:99999"}), fails_with("CPU 99999"));
  EXPECT_THAT(RunWorker({tracker, "--run", "cpu", "--label", "x"}), fails_with("NAME=VALUE"));
  EXPECT_THAT(RunWorker({"--run", "cpu"}), fails_with("--tracker"));
  EXPECT_THAT(RunWorker({tracker, "--build", "-1"}), fails_with("--build"));
}

TEST(WorkerFlagsTest, HelpHasAnExample) {
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, RunWorker({"--help"}));
  EXPECT_EQ(exit.exit_code, 0);
  EXPECT_THAT(exit.stdout_bytes, HasSubstr("Example: worker --tracker"));
}

}  // namespace
}  // namespace burnish
