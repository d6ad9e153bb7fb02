// A real tracker and a real worker, both processes, and this test as the tuner.
#include <grpcpp/grpcpp.h>
#include <sys/wait.h>
#include <sysexits.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/cpu_info.h"
#include "base/file.h"
#include "base/self_path.h"
#include "base/status_matchers.h"
#include "base/subprocess.h"
#include "compiler/codegen/codegen_epoch.h"
#include "compiler/target/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/artifact_codec.h"
#include "proto/build_job.h"
#include "proto/calibration_row.h"
#include "proto/rpc_server.h"
#include "proto/run_job.h"
#include "proto/tracker.grpc.pb.h"
#include "tests/e2e/worker/delivery.h"
#include "tracker/tracker_client.h"
#include "tuner/app/farm_client.h"
#include "worker/agent/agent_client.h"
#include "worker/runner/test_candidates.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr absl::Duration kLong = absl::Seconds(60);  // Never reached when all is well.

// Two threads where this machine has two CPUs: a worker refuses a target with more than it has.
Target HostWithTwoThreads() {
  const CpuInfo host = HostCpuInfo();
  return *HostTarget(host, std::min(2, host.logical_cpu_count()));
}

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
    deliverer_.reset();
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

  // No test waits for a calibration: `row` is what the worker says of its machine.
  void StartWorker(const std::vector<std::string>& more_flags = {},
                   const std::string& row = "table") {
    std::vector<std::string> flags = {
        "--tracker",    address_,      "--run",   "cpu",           "--lock-folder",
        folder_.path(), "--log-level", "warning", "--calibration", row};
    flags.insert(flags.end(), more_flags.begin(), more_flags.end());
    worker_ = Start("worker/worker", flags);
  }

  // Of `trace` on `workload`, by the worker's builder.
  BuiltArtifact Build(const std::string& id, const std::string& workload,
                      const std::string& trace) {
    const BuildJob job{.candidate_id = std::string(32, 'c'),
                       .workload = workload,
                       .target = HostWithTwoThreads().ToText(),
                       .trace = trace,
                       .codegen_epoch = kCodegenEpoch};
    EXPECT_THAT(tuner_->Submit({{.id = id, .kind = JobKind::kBuild, .payload = Encode(job)}}),
                IsOk());
    const JobOutcome outcome = CollectOne();
    const std::string* const payload = std::get_if<std::string>(&outcome);
    if (payload == nullptr) {
      ADD_FAILURE() << "outcome " << outcome.index();
      return {};
    }
    const absl::StatusOr<BuildResult> result = DecodeBuildResult(*payload);
    EXPECT_THAT(result, IsOk());
    if (const Failure* failure = std::get_if<Failure>(&result->outcome)) {
      ADD_FAILURE() << failure->message;
      return {};
    }
    return std::get<BuiltArtifact>(result->outcome);
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

  // Into the content store, as a builder would.
  void Deliver(const std::string& kernel) {
    if (deliverer_ == nullptr) deliverer_ = StartDeliverer(address_);
    const JobSpec delivery = DeliveryOf(VectorArtifact(kernel), absl::StrCat("deliver ", kernel));
    EXPECT_THAT(tuner_->Submit({delivery}), IsOk());
    EXPECT_EQ(CollectOne(), JobOutcome("delivered"));
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
  std::unique_ptr<AgentClient> deliverer_;  // Null: nothing was delivered yet.
};

TEST_F(WorkerTest, TakesJobsFromAnotherMachineOnlyWhereItIsWrittenOut) {
  const std::vector<std::string> flags = {"--tracker", "192.0.2.1:7171", "--run",
                                          "cpu",       "--calibration",  "table"};
  const std::unique_ptr<Child> refused = Start("worker/worker", flags);
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, refused->Wait(absl::Minutes(1)));
  EXPECT_EQ(exit.exit_code, 64);
  EXPECT_THAT(exit.stderr_bytes, HasSubstr("write --insecure"));
  std::vector<std::string> written_out = flags;
  written_out.push_back("--insecure");
  const std::unique_ptr<Child> open = Start("worker/worker", written_out);
  // It goes on, and tries to reach that tracker.
  EXPECT_THAT(open->Wait(absl::Milliseconds(500)), StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(WorkerTest, EndsAtATrackerWhoseUsersSecretItDoesNotKnow) {
  setenv("XDG_STATE_HOME", folder_.path().c_str(), /*overwrite=*/1);
  const std::unique_ptr<Child> tracker = Start("tracker/tracker", {"--listen", "127.0.0.1:0"});
  ASSERT_OK_AND_ASSIGN(const std::string address, tracker->ReadLine(kLong));
  setenv("XDG_STATE_HOME", absl::StrCat(folder_.path(), "/other").c_str(), /*overwrite=*/1);
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit,
                       RunWorker({"--tracker", address, "--run", "cpu", "--calibration", "table"}));
  EXPECT_EQ(exit.exit_code, EX_NOPERM);
  EXPECT_THAT(exit.stderr_bytes, AllOf(HasSubstr("B0904"), HasSubstr("loopback-secret")));
  unsetenv("XDG_STATE_HOME");
}

TEST_F(WorkerTest, JobsGoFromTunerToRunnerAndTheirResultsBack) {
  StartWorker();
  Deliver("RIGHT");
  Deliver("REVERSED");
  Deliver("CRASHES");
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

// The trace makes the padding a border of the input and packs the weights: the candidate's input
// lies otherwise in memory than candidate 0's, and its outputs are the same.
TEST_F(WorkerTest, BuiltCandidatesAreRunUnderTheContractThatTheirTraceMade) {
  const std::string workload =
      "workload/1\n"
      "input b0: f32[1, 6, 6, 4]\n"
      "const b1: f32[8, 3, 3, 4]\n"
      "const b2: f32[8]\n"
      "output b3: f32[1, 6, 6, 8]\n"
      "temp b4: f32[1, 8, 8, 4]\n"
      "block b4(i0 in 1, i1 in 8, i2 in 8, i3 in 4) {\n"
      "  step b4[i0, i1, i2, i3] = 1 <= i1 && i1 < 7 && 1 <= i2 && i2 < 7 ? "
      "b0[i0, i1 - 1, i2 - 1, i3] : 0x0p+0\n"
      "}\n"
      "block b3(i0 in 1, i1 in 6, i2 in 6, i3 in 8; i4 in 3, i5 in 3, i6 in 4) {\n"
      "  init b2[i3]\n"
      "  step b3[i0, i1, i2, i3] += b4[i0, i1 + i4, i2 + i5, i6] * b1[i3, i4, i5, i6]\n"
      "  finish max(self, 0x0p+0)\n"
      "}\n";
  StartWorker({"--build", "1"});
  const BuiltArtifact zero = Build("build-0", workload, "");
  const BuiltArtifact built = Build("build-1", workload,
                                    "border@1 b4->b0\n"
                                    "relayout@1 b1->packed dims=(b3.i4,b3.i5,b3.i6,b3.i3)\n"
                                    "precompute@1 packed\n"
                                    "fuse@1 (b3.i0,b3.i1)->rows\n"
                                    "parallel@1 rows\n");
  EXPECT_EQ(zero.contract, "");
  EXPECT_THAT(built.contract, HasSubstr("border"));
  RunJob job = VectorJob("RIGHT");
  job.target = HostWithTwoThreads().ToText();
  RunCandidate& candidate = job.candidates[0];
  candidate.workload = workload;
  candidate.artifact_sha256 = built.build.artifact_sha256;
  candidate.contract = built.contract;
  candidate.numerics = built.numerics;
  candidate.reference_artifact_sha256 = zero.build.artifact_sha256;
  candidate.reference_contract = zero.contract;
  Submit("run", job);
  const Measurement measurement = MeasurementOf(CollectOne());
  ASSERT_NE(measurement.latencies(), nullptr) << measurement.failure()->message;
  EXPECT_EQ(measurement.environment.threads, HostWithTwoThreads().threads);
  EXPECT_EQ(measurement.environment.cold_policy, ColdPolicy::kRotatedArena);
  EXPECT_GE(measurement.numerics.error, 0);
  EXPECT_LE(measurement.numerics.error, 1e-5);
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
    Deliver(kernel);
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
  Deliver("RIGHT");
  Submit("good", VectorJob("RIGHT"));
  EXPECT_NE(MeasurementOf(CollectOne()).latencies(), nullptr);
  worker_->Kill(SIGTERM);
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, worker_->Wait(kLong));
  EXPECT_EQ(exit.exit_code, 0) << Describe(exit);
}

TEST_F(WorkerTest, FarmShowsTheWorkersRowAndTheTargetThatItServes) {
  const CalibrationRow row{
      .machine = "m", .threads = 1, .clock_ghz = 3, .levels = {{"memory", 12, 12, 90}}};
  const std::string path = absl::StrCat(folder_.path(), "/row");
  ASSERT_THAT(WriteFileAtomically(path, ToText(row)), IsOk());
  Target less = HostWithTwoThreads();
  less.l3 = {};
  StartWorker({"--target", less.ToText()}, path);
  // Its job is done when the tracker has heard of the worker.
  Deliver("RIGHT");
  RunJob job = VectorJob("RIGHT");
  job.target = less.ToText();
  Submit("good", job);
  EXPECT_NE(MeasurementOf(CollectOne()).latencies(), nullptr);
  ASSERT_OK_AND_ASSIGN(std::vector<FarmWorker> workers, FarmClient(address_).ListWorkers());
  std::erase_if(workers, [](const FarmWorker& worker) { return worker.id == kDeliverer; });
  ASSERT_THAT(workers, SizeIs(1));
  EXPECT_EQ(workers[0].calibration, row);
  ASSERT_THAT(workers[0].slots, SizeIs(1));
  EXPECT_THAT(workers[0].slots[0].device_keys, ElementsAre(less.DeviceKey()));
  EXPECT_EQ(workers[0].slots[0].labels.at("target"), less.ToText());
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
  EXPECT_THAT(RunWorker({tracker, "--run", "cpu", "--target", "cpu:arch=bdver1"}),
              fails_with("want what this host can run"));
  EXPECT_THAT(RunWorker({tracker, "--run", "cpu", "--calibration", "/nowhere/row"}),
              fails_with("/nowhere/row"));
  EXPECT_THAT(RunWorker({"--run", "cpu"}), fails_with("--tracker"));
  EXPECT_THAT(RunWorker({tracker, "--build", "-1"}), fails_with("--build"));
}

// A tracker of version 0.1, which does not say what it speaks.
class FirstTracker : public v1::Tracker::Service {
 public:
  grpc::Status Synchronize(grpc::ServerContext*, const v1::SynchronizeRequest*,
                           v1::SynchronizeResponse*) override {
    return grpc::Status::OK;
  }
};

TEST(WorkerVersionTest, ATrackerOfTheFirstVersionEndsTheProgramByName) {
  FirstTracker service;
  ASSERT_OK_AND_ASSIGN(const auto server,
                       RpcServer::Start("localhost:0", [&service](grpc::ServerBuilder& builder) {
                         builder.RegisterService(&service);
                       }));
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit,
                       RunWorker({"--tracker", server->address(), "--build", "1"}));
  EXPECT_EQ(exit.exit_code, EX_PROTOCOL);
  EXPECT_THAT(exit.stderr_bytes, HasSubstr("tracker 0.1 speaks protocol 1: update the tracker"));
}

TEST(WorkerFlagsTest, HelpHasAnExample) {
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, RunWorker({"--help"}));
  EXPECT_EQ(exit.exit_code, 0);
  EXPECT_THAT(exit.stdout_bytes, HasSubstr("Example: worker --tracker"));
}

}  // namespace
}  // namespace burnish
