#include "worker/runner/runner_executor.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <semaphore>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/own_user.h"
#include "base/sandbox.h"
#include "base/sanitized.h"
#include "base/self_path.h"
#include "base/status_matchers.h"
#include "compiler/runtime/artifact.h"
#include "compiler/runtime/elf_for_tests.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/artifact_codec.h"
#include "worker/runner/measuring_lock.h"
#include "worker/runner/test_candidates.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

constexpr char kKernels[][16] = {
    "RIGHT",      "REVERSED",     "PACKED",    "CRASHES",  "HANGS", "LEAVES",       "OVERRUNS",
    "WRONG",      "ALMOST",       "UNWRITTEN", "CHANGES",  "SLOW",  "WRITES_INPUT", "EXITS",
    "DATA_ERROR", "CRASHES_LATE", "OPENS",     "CONNECTS", "EXECS", "FORKS",        "KILLS",
    "TRACES",     "GROWS",        "MAPS",      "EXTENDS",  "SEALS", "ROUNDS"};

// A sanitizer's own handler would turn the runner's crash into an exit. Children inherit this.
void LetCrashesBeSignals() {
  for (const char* name : {"ASAN_OPTIONS", "TSAN_OPTIONS"}) {
    const char* const set = std::getenv(name);
    setenv(name, absl::StrCat(set == nullptr ? "" : set, ":handle_segv=0").c_str(), 1);
  }
}

class RunnerExecutorTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { LetCrashesBeSignals(); }

  RunnerExecutorTest() {
    for (const char* kernel : kKernels) {
      const std::string artifact = VectorArtifact(kernel);
      store_[ArtifactSha256(artifact)] = artifact;
    }
    RunnerExecutorOptions options{.host_cpu = HostCpuInfo(), .host = "here", .worker = "w"};
    EXPECT_THAT(ParseRunDevice("cpu", options.host_cpu), IsOk());
    options.device = *ParseRunDevice("cpu", options.host_cpu);
    options.lock_folder = folder_->path();
    options.artifacts = std::make_shared<ArtifactCache>(
        [this](const std::string& sha256) -> absl::StatusOr<std::string> {
          const auto found = store_.find(sha256);
          if (found == store_.end()) return absl::NotFoundError("forgotten");
          return found->second;
        },
        /*bytes_max=*/1 << 20);
    options.bench.runner_program = *FindProgram("worker/runner/runner");
    options.bench.checker_program = *FindProgram("worker/runner/checker");
    options.bench.memory_bytes_max = 64 << 20;
    options.bench.vmstat_path = VmstatPath();
    SetOomKills(0);
    executor_ = std::make_unique<RunnerExecutor>(options);
    executor_->TellWaiting([this](bool waiting) { (waiting ? waits_ : ends_of_waits_).release(); });
  }

  std::string VmstatPath() const { return absl::StrCat(folder_->path(), "/vmstat"); }
  void SetOomKills(int count) {
    EXPECT_THAT(WriteFileAtomically(VmstatPath(), absl::StrCat("oom_kill ", count, "\n")), IsOk());
  }
  // Sends SIGKILL to this process's child of that name, once there is one.
  void KillChild(const std::string& program) {
    while (true) {
      const pid_t pid = FindChild(program);
      if (pid <= 0) continue;
      ASSERT_EQ(kill(pid, SIGKILL), 0);
      return;
    }
  }
  // 0: there is none.
  static pid_t FindChild(const std::string& program) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream children(entry.path() / "children");
      for (pid_t pid = 0; children >> pid;) {
        std::string name;
        std::getline(std::ifstream(absl::StrCat("/proc/", pid, "/comm")), name);
        if (name == program) return pid;
      }
    }
    return 0;
  }
  // Of a candidate that hangs until its runner is killed.
  JobOutcome OutcomeOfKilledRunner(int oom_kills) {
    RunJob job = VectorJob("HANGS");
    job.method.timeout = absl::Minutes(10);
    std::future<JobOutcome> outcome = Start(job);
    // A candidate that hangs does so in its first call, in a runner that is past its start.
    EXPECT_EQ(outcome.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
    SetOomKills(oom_kills);
    KillChild("runner");
    return outcome.get();
  }

  // Nothing that was started is left, not even as a zombie.
  ~RunnerExecutorTest() override {
    executor_.reset();
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }

  std::future<JobOutcome> Start(const RunJob& job) {
    auto promise = std::make_shared<std::promise<JobOutcome>>();
    executor_->Start(ToSpec(job), {},
                     [promise](JobOutcome outcome) { promise->set_value(std::move(outcome)); });
    return promise->get_future();
  }

  RunResult Run(const RunJob& job) {
    const JobOutcome outcome = Start(job).get();
    const std::string* const payload = std::get_if<std::string>(&outcome);
    if (payload == nullptr) {
      const WorkerFault* const fault = std::get_if<WorkerFault>(&outcome);
      ADD_FAILURE() << "no result: " << (fault != nullptr ? fault->message : "");
      return {};
    }
    absl::StatusOr<RunResult> result = DecodeRunResult(*payload);
    EXPECT_THAT(result, IsOk());
    return result.ok() ? *std::move(result) : RunResult();
  }

  // Of a job with this one candidate.
  Measurement Measure(const RunJob& job) {
    RunResult result = Run(job);
    EXPECT_THAT(result.measurements, SizeIs(1));
    return result.measurements.empty() ? Measurement() : result.measurements[0];
  }

  void ExpectFailure(absl::string_view kernel, FailureKind kind, const std::string& message) {
    RunJob job = VectorJob(kernel);
    if (kernel == "HANGS") job.method.timeout = absl::Milliseconds(300);
    const Measurement measurement = Measure(job);
    ASSERT_NE(measurement.failure(), nullptr) << kernel;
    EXPECT_EQ(measurement.failure()->kind, kind) << measurement.failure()->message;
    EXPECT_THAT(measurement.failure()->message, HasSubstr(message)) << kernel;
  }

  std::counting_semaphore<> waits_{0}, ends_of_waits_{0};
  std::unique_ptr<TempDir> folder_ =
      std::make_unique<TempDir>(*TempDir::Create("runner-executor-test"));
  std::map<std::string, std::string> store_;
  std::unique_ptr<RunnerExecutor> executor_;
};

// Three steps and three passes, of which the first is not timed.
RunJob NetworkJob(const char* kernel) {
  RunJob job = VectorJob("RIGHT");
  for (const char* other : {kernel, "PACKED"}) {
    job.candidates.push_back(VectorJob(other).candidates[0]);
    job.candidates.back().candidate_id[0] = other[0];
  }
  job.method.cold_policy = ColdPolicy::kModelOrder;
  job.model_order = ModelOrder{
      .step_count = 3, .warm_up_pass_count = 1, .candidates = {0, 1, 2, 0, 2, 0, 0, 1, 2}};
  job.model_sha256 = std::string(32, 'm');
  return job;
}

TEST_F(RunnerExecutorTest, RightCandidatesAreTimed) {
  for (const char* kernel : {"RIGHT", "REVERSED", "PACKED"}) {
    const RunJob job = VectorJob(kernel);
    const Measurement measurement = Measure(job);
    ASSERT_NE(measurement.latencies(), nullptr) << kernel << measurement.failure()->message;
    EXPECT_EQ(measurement.candidate_id, job.candidates[0].candidate_id);
    ASSERT_THAT(measurement.latencies()->processes, SizeIs(1));
    const ProcessLatencies& times = measurement.latencies()->processes[0];
    EXPECT_THAT(times.latency_ns, AllOf(SizeIs(3), Each(Gt(0))));
    EXPECT_THAT(times.inner_count, Ge(1));
    EXPECT_THAT(times.warm_up_count, Ge(1));
    EXPECT_THAT(times.probe_before_ns, Gt(1000));
    EXPECT_THAT(times.probe_after_ns, Gt(1000));
    // Candidate 0 is not timed beside itself.
    EXPECT_EQ(times.reference_before_ns > 0, std::string(kernel) != "RIGHT");
    EXPECT_EQ(times.reference_after_ns > 0, std::string(kernel) != "RIGHT");
    EXPECT_THAT(measurement.numerics.error, AllOf(Ge(0), Le(1e-6)));
  }
}

TEST_F(RunnerExecutorTest, MeasurementSaysWhereAndHowItRan) {
  const Measurement measurement = Measure(VectorJob("RIGHT"));
  const Environment& environment = measurement.environment;
  EXPECT_EQ(environment.mode, MeasureMode::kIsolated);
  EXPECT_EQ(environment.cold_policy, ColdPolicy::kRotatedArena);
  EXPECT_EQ(environment.arena_bytes, 1 << 20);
  EXPECT_EQ(environment.threads, 1);
  EXPECT_THAT(environment.cpus, SizeIs(1));
  EXPECT_TRUE(environment.flush_denormals);
  EXPECT_EQ(environment.vector_bytes, 16);
  EXPECT_EQ(environment.cpu_model, HostCpuInfo().brand);
  EXPECT_NE(environment.kernel_release, "");
  EXPECT_EQ(environment.device, "cpu");
  EXPECT_EQ(environment.host, "here");
  EXPECT_EQ(environment.worker, "w");
  EXPECT_EQ(environment.seed, 7u);
  EXPECT_EQ(environment.distribution, "normal");
  EXPECT_EQ(environment.method_version, RunnerExecutor::kMethodVersion);
}

TEST_F(RunnerExecutorTest, WarmConstantsAreWhatTheMethodMayAskFor) {
  RunJob job = VectorJob("RIGHT");
  job.method.cold_policy = ColdPolicy::kWarm;
  EXPECT_EQ(Measure(job).environment.cold_policy, ColdPolicy::kWarm);
}

// With their own place there are two, which no cache of half the arena holds.
TEST_F(RunnerExecutorTest, ConstantsOfMoreThanHalfTheArenaAreColdToo) {
  RunJob job = VectorJob("RIGHT");
  for (const int64_t arena_bytes : {4 << 20, 6000, 1000}) {
    job.method.arena_bytes = arena_bytes;
    EXPECT_EQ(Measure(job).environment.cold_policy, ColdPolicy::kRotatedArena) << arena_bytes;
  }
}

TEST_F(RunnerExecutorTest, EachWayToFailHasItsKind) {
  ExpectFailure("CRASHES", FailureKind::kCrashed, "signal 11");
  ExpectFailure("HANGS", FailureKind::kRunTimeout, "300ms");
  ExpectFailure("LEAVES", FailureKind::kCrashed, "signal 11");
  ExpectFailure("WRITES_INPUT", FailureKind::kCrashed, "signal 11");
  ExpectFailure("OVERRUNS", FailureKind::kWrongResult, "wrote outside of output 0");
  ExpectFailure("WRONG", FailureKind::kWrongResult, "tensor error");
  ExpectFailure("ALMOST", FailureKind::kWrongResult, "element 501");
  ExpectFailure("UNWRITTEN", FailureKind::kWrongResult, "element 500: got -nan");
  ExpectFailure("DATA_ERROR", FailureKind::kRunError, "out of");
  ExpectFailure("CHANGES", FailureKind::kWrongResult, "two calls");
  ExpectFailure("EXITS", FailureKind::kRunError, "exit code 3");
  // The checker has seen its outputs, and they were right.
  ExpectFailure("CRASHES_LATE", FailureKind::kCrashed, "signal 11");
  // And the bench is whole after all that.
  EXPECT_NE(Measure(VectorJob("REVERSED")).latencies(), nullptr);
}

// Each of them computes what is right, and is stopped where it reaches for more than memory.
TEST_F(RunnerExecutorTest, CandidateThatLeavesItsProcessIsStoppedAndFails) {
  if (!FindSandboxSupport().seccomp) GTEST_SKIP() << "this kernel has no filters";
  const std::string stopped = "made a system call that no kernel may make: signal 31";
  for (const char* kernel : {"CONNECTS", "EXECS", "TRACES"}) {
    ExpectFailure(kernel, FailureKind::kCrashed, stopped);
  }
  if (!FindSandboxSupport().allow_list) GTEST_SKIP() << "a sanitizer opens files and forks itself";
  for (const char* kernel : {"OPENS", "FORKS", "KILLS", "GROWS"}) {
    ExpectFailure(kernel, FailureKind::kCrashed, stopped);
  }
  const Measurement allowed = Measure(VectorJob("MAPS"));
  EXPECT_NE(allowed.latencies(), nullptr) << allowed.failure()->message;
}

// What candidates share, or leave to who runs them, keeps its size and its values.
TEST_F(RunnerExecutorTest, FilesOfARunCannotBeChangedBeyondTheOutputs) {
  ExpectFailure("EXTENDS", FailureKind::kCrashed, "signal 25");
  const Measurement sealed = Measure(VectorJob("SEALS"));
  EXPECT_NE(sealed.latencies(), nullptr) << sealed.failure()->message;
}

// A file whose code would run while it is loaded, before the sandbox: by a resolver of its symbol,
// or by a table that only who loads it finds.
std::string ArtifactWithCodeOnLoad(bool is_split) {
  ElfForTests elf(CodeThatExits(99));
  if (is_split) {
    // At the offset the table ends at once; at the address it names a constructor.
    elf.segments[ElfForTests::kDynamic].p_offset = 0x200;
    elf.dynamic.insert(elf.dynamic.begin(),
                       {.d_tag = DT_INIT, .d_un = {.d_ptr = elf.symbols[1].st_value}});
  } else {
    elf.symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
  }
  const std::string right = VectorArtifact("RIGHT");
  const auto manifest =
      ReadArtifactManifest({reinterpret_cast<const uint8_t*>(right.data()), right.size()});
  return WriteArtifact(*manifest, elf.Bytes());
}

TEST_F(RunnerExecutorTest, NoCodeRunsWhereItIsLoadedAloneOrInAModelOrder) {
  for (const bool is_split : {false, true}) {
    const std::string artifact = ArtifactWithCodeOnLoad(is_split);
    const std::string name = ArtifactSha256(artifact);
    store_[name] = artifact;
    RunJob alone = VectorJob("RIGHT"), network = NetworkJob("RIGHT"), beside = VectorJob("RIGHT");
    alone.candidates[0].artifact_sha256 = name;
    network.candidates[1].artifact_sha256 = name;
    beside.candidates[0].reference_artifact_sha256 = name;
    for (const RunJob& job : {alone, network, beside}) {
      const RunResult result = Run(job);
      // Beside it nothing runs. Its own failure is the second of the network's.
      for (const Measurement& measurement : result.measurements) {
        EXPECT_NE(measurement.failure(), nullptr);
      }
      const Failure* own = result.measurements[job.candidates.size() > 1 ? 1 : 0].failure();
      ASSERT_NE(own, nullptr);
      EXPECT_EQ(own->kind, FailureKind::kRunError);
      EXPECT_THAT(own->message, HasSubstr("refused machine code"));
    }
  }
}

TEST_F(RunnerExecutorTest, WithoutCandidateZeroTheOracleAloneJudges) {
  RunJob job = VectorJob("WRONG");
  job.candidates[0].reference_artifact_sha256 = "";
  const Measurement wrong = Measure(job);
  ASSERT_NE(wrong.failure(), nullptr);
  EXPECT_EQ(wrong.failure()->kind, FailureKind::kWrongResult);
  job = VectorJob("RIGHT");
  job.candidates[0].reference_artifact_sha256 = "";
  EXPECT_NE(Measure(job).latencies(), nullptr);
}

TEST_F(RunnerExecutorTest, WrongCandidateZeroIsNotTheCandidatesWrongResult) {
  RunJob job = VectorJob("RIGHT");
  job.candidates[0].reference_artifact_sha256 = ArtifactSha256(VectorArtifact("WRONG"));
  const Measurement measurement = Measure(job);
  ASSERT_NE(measurement.failure(), nullptr);
  EXPECT_EQ(measurement.failure()->kind, FailureKind::kRunError);
  EXPECT_THAT(measurement.failure()->message, HasSubstr("candidate 0 does not work"));
}

TEST_F(RunnerExecutorTest, BatchGivesOneMeasurementEachInOrder) {
  RunJob job = VectorJob("CRASHES");
  for (const char* kernel : {"REVERSED", "WRONG", "PACKED"}) {
    job.candidates.push_back(VectorJob(kernel).candidates[0]);
    job.candidates.back().candidate_id[0] = kernel[0];
  }
  const RunResult result = Run(job);
  ASSERT_THAT(result.measurements, SizeIs(4));
  EXPECT_NE(result.measurements[0].failure(), nullptr);
  EXPECT_NE(result.measurements[1].latencies(), nullptr);
  EXPECT_EQ(result.measurements[1].candidate_id[0], 'R');
  EXPECT_NE(result.measurements[2].failure(), nullptr);
  EXPECT_NE(result.measurements[3].latencies(), nullptr);
  EXPECT_EQ(result.measurements[3].candidate_id[0], 'P');
}

TEST_F(RunnerExecutorTest, ModelOrderTimesEachCandidateInThePassesThatHaveIt) {
  const RunJob job = NetworkJob("SLOW");
  const RunResult result = Run(job);
  ASSERT_THAT(result.measurements, SizeIs(3));
  std::vector<int64_t> fastest_ns;
  for (size_t i = 0; i < 3; ++i) {
    const Measurement& measurement = result.measurements[i];
    EXPECT_EQ(measurement.candidate_id, job.candidates[i].candidate_id);
    ASSERT_NE(measurement.latencies(), nullptr) << measurement.failure()->message;
    ASSERT_THAT(measurement.latencies()->processes, SizeIs(1));
    const ProcessLatencies& times = measurement.latencies()->processes[0];
    EXPECT_THAT(times.latency_ns, AllOf(SizeIs(i == 1 ? 1 : 2), Each(Gt(0))));
    EXPECT_THAT(times.warm_up_count, Ge(1));
    EXPECT_THAT(times.probe_before_ns, Gt(1000));
    fastest_ns.push_back(*std::min_element(times.latency_ns.begin(), times.latency_ns.end()));
    EXPECT_EQ(measurement.environment.mode, MeasureMode::kInNetwork);
    EXPECT_EQ(measurement.environment.cold_policy, ColdPolicy::kModelOrder);
    EXPECT_EQ(measurement.environment.model_sha256, std::string(32, 'm'));
    EXPECT_EQ(measurement.environment.threads, 1);
    EXPECT_EQ(measurement.environment.method_version, RunnerExecutor::kMethodVersion);
  }
  // Fifty times the work: it was this one that ran there.
  EXPECT_GT(fastest_ns[1], fastest_ns[0]);
  EXPECT_GT(fastest_ns[1], fastest_ns[2]);
}

// Each kernel runs alone first, and is judged there. A time of a wrong one would rank it.
TEST_F(RunnerExecutorTest, NothingOfAModelOrderRunsBesideWhatFailsAlone) {
  const std::pair<const char*, FailureKind> cases[] = {
      {"CRASHES", FailureKind::kCrashed},       {"DATA_ERROR", FailureKind::kRunError},
      {"EXITS", FailureKind::kRunError},        {"WRONG", FailureKind::kWrongResult},
      {"UNWRITTEN", FailureKind::kWrongResult}, {"OVERRUNS", FailureKind::kWrongResult}};
  for (const auto& [kernel, kind] : cases) {
    const RunResult result = Run(NetworkJob(kernel));
    ASSERT_THAT(result.measurements, SizeIs(3)) << kernel;
    for (size_t i = 0; i < 3; ++i) {
      const Measurement& measurement = result.measurements[i];
      ASSERT_NE(measurement.failure(), nullptr) << kernel;
      // The one that failed alone, and the others that never ran.
      EXPECT_EQ(measurement.failure()->kind, i == 1 ? kind : FailureKind::kDeviceError)
          << kernel << ": " << measurement.failure()->message;
      EXPECT_EQ(measurement.environment.mode,
                i == 1 ? MeasureMode::kIsolated : MeasureMode::kInNetwork);
    }
  }
  EXPECT_NE(Measure(VectorJob("RIGHT")).latencies(), nullptr);
}

// What was right by a wide bound is judged again by a narrow one.
TEST_F(RunnerExecutorTest, RoundingThatOneJobAllowsIsWrongInAnother) {
  RunJob wide = VectorJob("ROUNDS");
  wide.candidates[0].numerics = {.kind = NumericsClass::kLowPrecision};
  const Measurement allowed = Measure(wide);
  ASSERT_NE(allowed.latencies(), nullptr) << allowed.failure()->message;
  const RunResult result = Run(NetworkJob("ROUNDS"));
  ASSERT_NE(result.measurements[1].failure(), nullptr);
  EXPECT_EQ(result.measurements[1].failure()->kind, FailureKind::kWrongResult);
}

// Alone it is right: it crashes in its second call.
TEST_F(RunnerExecutorTest, WhatFailsAmongOthersFailsAllOfAModelOrder) {
  const RunResult result = Run(NetworkJob("CRASHES_LATE"));
  ASSERT_THAT(result.measurements, SizeIs(3));
  for (const Measurement& measurement : result.measurements) {
    ASSERT_NE(measurement.failure(), nullptr);
    EXPECT_EQ(measurement.failure()->kind, FailureKind::kCrashed);
    EXPECT_EQ(measurement.environment.mode, MeasureMode::kInNetwork);
  }
}

TEST_F(RunnerExecutorTest, HangInAModelOrderEndsAfterTheJobsTime) {
  RunJob job = NetworkJob("HANGS");
  job.method.timeout = absl::Milliseconds(300);
  const RunResult result = Run(job);
  ASSERT_THAT(result.measurements, SizeIs(3));
  ASSERT_NE(result.measurements[1].failure(), nullptr);
  EXPECT_EQ(result.measurements[1].failure()->kind, FailureKind::kRunTimeout);
}

TEST_F(RunnerExecutorTest, WinnerIsMeasuredInAsManyProcessesAsAsked) {
  RunJob job = VectorJob("RIGHT");
  job.method.process_count = 3;
  const Measurement measurement = Measure(job);
  ASSERT_NE(measurement.latencies(), nullptr);
  EXPECT_THAT(measurement.latencies()->processes, SizeIs(3));
}

TEST_F(RunnerExecutorTest, FarFromTheIncumbentStopsEarlyAndNearItTakesMoreRepeats) {
  RunJob job = VectorJob("SLOW");
  job.method.repeat_count_max = 9;
  job.method.early_stop_ratio = 1.5;
  job.candidates[0].incumbent_ns = 10;
  const Measurement slow = Measure(job);
  ASSERT_NE(slow.latencies(), nullptr);
  EXPECT_THAT(slow.latencies()->processes[0].latency_ns, SizeIs(1));
  EXPECT_TRUE(slow.latencies()->processes[0].stopped_early);
  job.candidates[0].incumbent_ns = 1'000'000'000;
  const Measurement near = Measure(job);
  ASSERT_NE(near.latencies(), nullptr);
  EXPECT_THAT(near.latencies()->processes[0].latency_ns, SizeIs(9));
  EXPECT_FALSE(near.latencies()->processes[0].stopped_early);
}

TEST_F(RunnerExecutorTest, ForgottenArtifactsAreNamedAllAtOnce) {
  RunJob job = VectorJob("RIGHT");
  job.candidates[0].artifact_sha256 = std::string(32, 'a');
  job.candidates[0].reference_artifact_sha256 = std::string(32, 'b');
  const JobOutcome outcome = Start(job).get();
  const ArtifactMissing* const missing = std::get_if<ArtifactMissing>(&outcome);
  ASSERT_NE(missing, nullptr);
  EXPECT_THAT(missing->sha256, ElementsAre(std::string(32, 'a'), std::string(32, 'b')));
}

TEST_F(RunnerExecutorTest, ArtifactOfAnotherSignatureIsARunError) {
  RunJob job = VectorJob("RIGHT");
  job.candidates[0].reference_artifact_sha256 = "";
  job.candidates[0].workload =
      "workload/1\n"
      "input b0: f32[1000]\n"
      "output b1: f32[1000]\n"
      "block b1(i0 in 1000) {\n"
      "  step b1[i0] = b0[i0]\n"
      "}\n";
  const Measurement measurement = Measure(job);
  ASSERT_NE(measurement.failure(), nullptr);
  EXPECT_EQ(measurement.failure()->kind, FailureKind::kRunError);
  EXPECT_THAT(measurement.failure()->message, HasSubstr("1 constants, the workload has 0"));
}

TEST_F(RunnerExecutorTest, BytesThatAreNoArtifactAndWorkloadsThatAreNoneAreRunErrors) {
  const std::string name = ArtifactSha256("not an artifact");
  store_[name] = "not an artifact";
  RunJob job = VectorJob("RIGHT");
  job.candidates[0].artifact_sha256 = name;
  Measurement measurement = Measure(job);
  ASSERT_NE(measurement.failure(), nullptr);
  EXPECT_EQ(measurement.failure()->kind, FailureKind::kRunError);
  job = VectorJob("RIGHT");
  job.candidates[0].workload = "nonsense";
  measurement = Measure(job);
  ASSERT_NE(measurement.failure(), nullptr);
  EXPECT_EQ(measurement.failure()->kind, FailureKind::kRunError);
}

TEST_F(RunnerExecutorTest, OtherBytesThanTheOrderNamesAreNotRun) {
  RunJob job = VectorJob("RIGHT");
  store_[job.candidates[0].artifact_sha256] = VectorArtifact("REVERSED");
  const JobOutcome outcome = Start(job).get();
  ASSERT_TRUE(std::holds_alternative<WorkerFault>(outcome));
  EXPECT_THAT(std::get<WorkerFault>(outcome).message,
              HasSubstr("other bytes than the order names"));
}

TEST_F(RunnerExecutorTest, MoreMemoryThanAllowedIsOutOfMemory) {
  RunJob job = VectorJob("RIGHT");
  job.candidates[0].reference_artifact_sha256 = "";
  job.candidates[0].workload =
      "workload/1\n"
      "input b0: f32[100000000]\n"
      "const b1: f32[1000]\n"
      "output b2: f32[1000]\n"
      "block b2(i0 in 1000) {\n"
      "  step b2[i0] = b0[i0] * b1[i0]\n"
      "}\n";
  const Measurement measurement = Measure(job);
  ASSERT_NE(measurement.failure(), nullptr);
  EXPECT_EQ(measurement.failure()->kind, FailureKind::kOutOfMemory);
}

// Nothing was allocated for them, and nothing ends the worker or counts against it.
TEST_F(RunnerExecutorTest, WhatThisSlotCannotDoIsRefused) {
  const auto expect_refusal = [this](const std::string& text, auto change) {
    RunJob job = VectorJob("RIGHT");
    change(job);
    const JobOutcome outcome = Start(job).get();
    const WorkerFault* const fault = std::get_if<WorkerFault>(&outcome);
    ASSERT_NE(fault, nullptr) << text;
    EXPECT_TRUE(fault->refused) << fault->message;
    EXPECT_THAT(fault->message, HasSubstr(text));
  };
  expect_refusal("measuring method 99", [](RunJob& job) { job.method.version = 99; });
  expect_refusal("need each other",
                 [](RunJob& job) { job.method.cold_policy = ColdPolicy::kModelOrder; });
  expect_refusal("distribution odd", [](RunJob& job) { job.method.distribution = "odd"; });
  expect_refusal("1000 threads",
                 [](RunJob& job) { job.target = "cpu:arch=x86-64-v2,threads=1000"; });
  expect_refusal("target", [](RunJob& job) { job.target = "target of nobody"; });
  expect_refusal("arena_bytes", [](RunJob& job) { job.method.arena_bytes = int64_t{1} << 50; });
  expect_refusal("arena of 1024 MiB",
                 [](RunJob& job) { job.method.arena_bytes = MeasureMethod::kArenaBytesMax; });
  EXPECT_NE(Measure(VectorJob("RIGHT")).latencies(), nullptr);
}

TEST_F(RunnerExecutorTest, CancelEndsAHangingCandidateAndTheNextJobRuns) {
  RunJob job = VectorJob("HANGS");
  job.method.timeout = absl::Minutes(10);
  std::future<JobOutcome> outcome = Start(job);
  executor_->Cancel();
  EXPECT_TRUE(std::holds_alternative<WorkerFault>(outcome.get()));  // Dropped by the agent.
  EXPECT_NE(Measure(VectorJob("RIGHT")).latencies(), nullptr);
}

TEST_F(RunnerExecutorTest, TimedSectionWaitsForTheMeasuringLock) {
  const CpuInfo host = HostCpuInfo();
  const std::vector<int> first_cpu = {CpusFor(*ParseRunDevice("cpu", host), host, 1).cpus[0]};
  auto lock = MeasuringLock::Acquire(MeasuringLockPaths(folder_->path(), first_cpu));
  ASSERT_TRUE(lock.ok());
  std::future<JobOutcome> outcome = Start(VectorJob("RIGHT"));
  EXPECT_EQ(outcome.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  {
    const MeasuringLock given_back = *std::move(lock);
  }
  EXPECT_TRUE(std::holds_alternative<std::string>(outcome.get()));
}

TEST_F(RunnerExecutorTest, LongWaitForTheMeasuringLockIsTold) {
  const CpuInfo host = HostCpuInfo();
  const std::vector<int> first_cpu = {CpusFor(*ParseRunDevice("cpu", host), host, 1).cpus[0]};
  auto lock = MeasuringLock::Acquire(MeasuringLockPaths(folder_->path(), first_cpu));
  ASSERT_TRUE(lock.ok());
  std::future<JobOutcome> outcome = Start(VectorJob("RIGHT"));
  waits_.acquire();
  EXPECT_FALSE(ends_of_waits_.try_acquire());
  {
    const MeasuringLock given_back = *std::move(lock);
  }
  EXPECT_TRUE(std::holds_alternative<std::string>(outcome.get()));
  EXPECT_TRUE(ends_of_waits_.try_acquire());
}

TEST_F(RunnerExecutorTest, RunnerThatSomebodyKillsIsNoFailureOfTheCandidate) {
  const JobOutcome outcome = OutcomeOfKilledRunner(/*oom_kills=*/0);
  ASSERT_TRUE(std::holds_alternative<WorkerFault>(outcome));
  EXPECT_TRUE(std::get<WorkerFault>(outcome).interrupted);
  EXPECT_THAT(std::get<WorkerFault>(outcome).message, HasSubstr("somebody killed the runner"));
}

TEST_F(RunnerExecutorTest, RunnerThatTheKernelKillsForMemoryIsOutOfMemory) {
  const JobOutcome outcome = OutcomeOfKilledRunner(/*oom_kills=*/1);
  ASSERT_TRUE(std::holds_alternative<std::string>(outcome));
  ASSERT_OK_AND_ASSIGN(const RunResult result, DecodeRunResult(std::get<std::string>(outcome)));
  ASSERT_NE(result.measurements[0].failure(), nullptr);
  EXPECT_EQ(result.measurements[0].failure()->kind, FailureKind::kOutOfMemory);
}

TEST_F(RunnerExecutorTest, CheckerThatSomebodyKillsIsNoFailureOfTheCandidate) {
  EXPECT_NE(Measure(VectorJob("RIGHT")).latencies(), nullptr);
  RunJob job = VectorJob("HANGS");
  job.method.timeout = absl::Milliseconds(300);
  KillChild("checker");
  const JobOutcome outcome = Start(job).get();
  ASSERT_TRUE(std::holds_alternative<WorkerFault>(outcome));
  EXPECT_TRUE(std::get<WorkerFault>(outcome).interrupted);
}

TEST_F(RunnerExecutorTest, DestructorEndsWhatRunsAndSaysNothing) {
  RunJob job = VectorJob("HANGS");
  job.method.timeout = absl::Minutes(10);
  bool said = false;
  executor_->Start(ToSpec(job), {}, [&said](JobOutcome) { said = true; });
  executor_.reset();
  EXPECT_FALSE(said);
}

// What the checker process has, as the kernel sees it, once it has judged a candidate.
TEST_F(RunnerExecutorTest, TheCheckerHasNothingButItsWork) {
  ASSERT_NE(Measure(VectorJob("RIGHT")).latencies(), nullptr);
  const pid_t checker = FindChild("checker");
  ASSERT_GT(checker, 0);
  const std::string proc = absl::StrCat("/proc/", checker);
  ASSERT_OK_AND_ASSIGN(const std::string status, ReadFile(proc + "/status", 1 << 20));
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1"));
  if (geteuid() == 0 && MayBecomeOwnUser()) {
    EXPECT_THAT(status, HasSubstr("Uid:\t65534\t65534\t65534\t65534"));
    EXPECT_THAT(status, HasSubstr("Gid:\t65534\t65534\t65534\t65534"));
    EXPECT_THAT(status, HasSubstr("Groups:\t \n"));
  }
  if (FindSandboxSupport().seccomp) EXPECT_THAT(status, HasSubstr("Seccomp:\t2"));
  std::vector<std::string> descriptors;
  for (const auto& entry : std::filesystem::directory_iterator(proc + "/fd")) {
    descriptors.push_back(entry.path().filename());
  }
  EXPECT_THAT(descriptors, ::testing::UnorderedElementsAre("0", "1", "2", "3"));
  if (!kSanitized) EXPECT_THAT(ReadFile(proc + "/environ", 1 << 20), IsOkAndHolds(""));
}

}  // namespace
}  // namespace burnish
