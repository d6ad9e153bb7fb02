// A daemon and its client in one process, and a process per study. The studies have no trials: they
// need no farm.
#include "tuner/serve/daemon.h"

#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "base/file.h"
#include "base/secret.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/protocol.h"
#include "proto/rpc.h"
#include "proto/study.pb.h"
#include "proto/tuner.grpc.pb.h"
#include "tuner/app/error.h"
#include "tuner/app/new_study.h"
#include "tuner/app/retry_study.h"
#include "tuner/app/studies.h"
#include "tuner/app/study_spec.h"
#include "tuner/app/tuning.h"
#include "tuner/measure/fake_measurer.h"
#include "tuner/serve/tuner_client.h"
#include "tuner/study/study_runner.h"
#include "tuner/study/study_storage.h"
#include "tuner/study/synthetic_study.h"

namespace burnish {
namespace {

absl::StatusOr<std::string> OwnSecret() { return std::string(32, 'o'); }
absl::StatusOr<std::string> StrangersSecret() { return std::string(32, 's'); }

class DaemonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(TempDir folder, TempDir::Create("daemon_test"));
    folder_.emplace(std::move(folder));
    ASSERT_OK_AND_ASSIGN(database_, OpenDatabase(absl::StrCat(folder_->path(), "/studies.db")));
    crashes_ = absl::StrCat(folder_->path(), "/crashes");
    setenv("BURNISH_TEST_CRASHES", crashes_.c_str(), /*overwrite=*/1);
    ASSERT_OK_AND_ASSIGN(spec_, CompleteStudySpec({.task = "matmul:m=4,n=4,k=4",
                                                   .target = "cpu:arch=znver3,threads=1",
                                                   .scheduler = "default"}));
  }
  void TearDown() override {
    if (daemon_ == nullptr) return;
    daemon_->Stop();
    serving_.join();
    EXPECT_TRUE(served_.ok()) << served_;
  }

  // Nobody answers at its tracker's address.
  absl::Status Serve() {
    ASSIGN_OR_RETURN(daemon_,
                     Daemon::Start({.database = &database_,
                                    .clock = &Clock::Real(),
                                    .listen = absl::StrCat("unix:", folder_->path(), "/daemon"),
                                    .tracker = absl::StrCat("unix:", folder_->path(), "/none"),
                                    .models_folder = folder_->path(),
                                    .program = {.path = "tuner/serve/crashing_study_process"},
                                    .model_bytes_max = 16,
                                    .upload_silence_max = upload_silence_max_}));
    serving_ = std::thread([this] { served_ = daemon_->Serve(); });
    return absl::OkStatus();
  }

  // Crashes of study processes from now on: see crashing_study_process_main.cc.
  void SetCrashes(const std::string& crashes) {
    ASSERT_TRUE(WriteFileAtomically(crashes_, crashes).ok());
  }
  static StudySpec SpecOf(const std::string& task) {
    const absl::StatusOr<StudySpec> spec = CompleteStudySpec(
        {.task = task, .target = "cpu:arch=znver3,threads=1", .scheduler = "default"});
    EXPECT_TRUE(spec.ok()) << spec.status();
    return *spec;
  }

  std::optional<TempDir> folder_;
  std::string crashes_;
  absl::Duration upload_silence_max_ = absl::Minutes(1);
  Database database_;
  StudySpec spec_;
  std::unique_ptr<Daemon> daemon_;
  std::thread serving_;
  absl::Status served_;
};

TEST_F(DaemonTest, AClientsStudyIsRunAndItsEndIsTold) {
  ASSERT_TRUE(Serve().ok());
  TunerClient client(daemon_->address(), &OwnSecret);
  ASSERT_OK_AND_ASSIGN(const std::string id, client.Submit(spec_));
  ASSERT_OK_AND_ASSIGN(const FollowedRun run, client.Follow(id, [](const StudyProgress&) {}));
  EXPECT_EQ(run.reason, StopReason::kTrials);
  EXPECT_TRUE(run.error.ok()) << run.error;
  ASSERT_OK_AND_ASSIGN(const StudyView view, client.Get(id));
  EXPECT_EQ(view.summary.study.state, StudyState::kDone);
  EXPECT_TRUE(view.spec.served);
}

TEST_F(DaemonTest, AStudyThatAnEarlierDaemonLeftIsTakenUp) {
  spec_.served = true;
  ASSERT_OK_AND_ASSIGN(const Tuning tuning, PrepareTuning(spec_));
  ASSERT_OK_AND_ASSIGN(const std::string id,
                       StoreNewStudy(database_, Clock::Real(), tuning, "left"));
  ASSERT_TRUE(Serve().ok());
  TunerClient client(daemon_->address(), &OwnSecret);
  ASSERT_OK_AND_ASSIGN(const FollowedRun run, client.Follow(id, [](const StudyProgress&) {}));
  EXPECT_EQ(run.reason, StopReason::kTrials);
}

TEST_F(DaemonTest, ErrorsCrossTheNetworkWithTheirNumbers) {
  ASSERT_TRUE(Serve().ok());
  TunerClient client(daemon_->address(), &OwnSecret);
  EXPECT_EQ(ErrorCodeOf(client.Get("2001").status()), ErrorCode::kNoStudy);
  spec_.task = "resnet51";
  EXPECT_EQ(ErrorCodeOf(client.Submit(spec_).status()), ErrorCode::kUnknownModel);
  const std::string model = absl::StrCat(folder_->path(), "/model.onnx");
  ASSERT_TRUE(WriteFileAtomically(model, std::string(17, 'x')).ok());
  ASSERT_OK_AND_ASSIGN(const StudySpec large, CompleteStudySpec({.model_path = model}));
  EXPECT_EQ(ErrorCodeOf(client.Submit(large).status()), ErrorCode::kModelTooLarge);
}

// What the client does not check itself: a stranger's would not.
TEST_F(DaemonTest, OddSpecificationsAreRefusedAtTheCall) {
  ASSERT_TRUE(Serve().ok());
  TunerClient client(daemon_->address(), &OwnSecret);
  const auto refusal = [&](auto change) {
    StudySpec odd = spec_;
    change(odd);
    return ErrorCodeOf(client.Submit(odd).status());
  };
  EXPECT_EQ(refusal([](StudySpec& spec) { spec.gain_min = HUGE_VAL; }), ErrorCode::kUsage);
  EXPECT_EQ(refusal([](StudySpec& spec) { spec.strategy = "luck"; }), ErrorCode::kUsage);
  EXPECT_EQ(refusal([](StudySpec& spec) { spec.trials_max = int64_t{1} << 62; }),
            ErrorCode::kUsage);
  ASSERT_OK_AND_ASSIGN(const std::vector<StudySummary> studies,
                       LocalStudies(&database_, &Clock::Real()).List({}));
  EXPECT_TRUE(studies.empty()) << "nothing of them stays";
}

TEST_F(DaemonTest, AStudyThatTakesLongToPrepareHoldsUpNoOther) {
  const std::string slow = "matmul:m=5,n=5,k=5";
  SetCrashes("hold prepare " + slow);
  const std::string pipe = crashes_ + ".pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_TRUE(Serve().ok());
  std::thread submitting([&] {
    TunerClient client(daemon_->address(), &OwnSecret);
    EXPECT_TRUE(client.Submit(SpecOf(slow)).ok());
  });
  std::ofstream release(pipe);  // Returns when its process has come to wait.
  TunerClient client(daemon_->address(), &OwnSecret);
  EXPECT_TRUE(client.Submit(spec_).ok());
  release << "go on\n" << std::flush;
  release.close();
  submitting.join();
}

// Each holds one of two places for models; its silence is over in no time.
TEST_F(DaemonTest, UploadsThatStallMakeRoomForOthers) {
  upload_silence_max_ = absl::Milliseconds(1);
  ASSERT_TRUE(Serve().ok());
  const auto stub = v1::Tuner::NewStub(OpenChannel(daemon_->address(), ThisVersion("tuner")));
  StudySpec model = spec_;
  model.task.clear();
  model.model_path = "model.onnx";
  model.model_sha256 = std::string(32, 'x');
  v1::SubmitStudyRequest part;
  *part.mutable_spec() = ToProto(model);
  v1::SubmitStudyRequest bytes;
  bytes.set_model_bytes("x");
  for (int i = 0; i < 4; ++i) {
    grpc::ClientContext context;
    v1::SubmitStudyResponse response;
    const auto writer = stub->SubmitStudy(&context, &response);
    writer->Write(part);
    writer->Write(bytes);
    // Without an end of what it writes the daemon alone can end it.
    EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED) << i;
  }
}

// The crash of one study is no matter of the others, nor of the daemon.
TEST_F(DaemonTest, AStudyThatCrashesTwiceIsParkedAndTheOthersEndWell) {
  const std::string bad = "matmul:m=5,n=5,k=5";
  SetCrashes("run " + bad);
  ASSERT_TRUE(Serve().ok());
  TunerClient client(daemon_->address(), &OwnSecret);
  ASSERT_OK_AND_ASSIGN(const std::string crashing, client.Submit(SpecOf(bad)));
  ASSERT_OK_AND_ASSIGN(const std::string other, client.Submit(spec_));
  ASSERT_OK_AND_ASSIGN(const FollowedRun parked, client.Follow(crashing, [](const auto&) {}));
  EXPECT_EQ(ErrorCodeOf(parked.error), ErrorCode::kStudyParked);
  EXPECT_EQ(PartsOf(parked.error).where, crashing);
  ASSERT_OK_AND_ASSIGN(const FollowedRun run, client.Follow(other, [](const auto&) {}));
  EXPECT_EQ(run.reason, StopReason::kTrials) << run.error;
  ASSERT_OK_AND_ASSIGN(const StudyView view, client.Get(crashing));
  EXPECT_EQ(view.summary.study.state, StudyState::kParked);
  EXPECT_EQ(view.summary.crash_count, 2);
  EXPECT_THAT(view.summary.study.detail,
              ::testing::AllOf(::testing::HasSubstr("crashed 2 times, the last time by signal 6"),
                               ::testing::HasSubstr("a test asked for it"),
                               ::testing::HasSubstr("`tuner resume " + crashing + "` goes on")));
  // What made it crash is gone.
  SetCrashes("");
  ASSERT_OK_AND_ASSIGN(const std::string resumed, client.Resume(crashing));
  ASSERT_OK_AND_ASSIGN(const FollowedRun again, client.Follow(crashing, [](const auto&) {}));
  EXPECT_EQ(again.reason, StopReason::kTrials) << again.error;
  ASSERT_OK_AND_ASSIGN(const StudyView done, client.Get(crashing));
  EXPECT_EQ(done.summary.study.state, StudyState::kDone);
  EXPECT_EQ(done.summary.lease, StudyLease());
}

TEST_F(DaemonTest, AStudyThatCrashesOnceIsTriedAgain) {
  SetCrashes("once run " + spec_.task);
  ASSERT_TRUE(Serve().ok());
  TunerClient client(daemon_->address(), &OwnSecret);
  ASSERT_OK_AND_ASSIGN(const std::string id, client.Submit(spec_));
  ASSERT_OK_AND_ASSIGN(const FollowedRun run, client.Follow(id, [](const auto&) {}));
  EXPECT_EQ(run.reason, StopReason::kTrials) << run.error;
  ASSERT_OK_AND_ASSIGN(const StudyView view, client.Get(id));
  EXPECT_EQ(view.summary.study.state, StudyState::kDone);
  EXPECT_EQ(view.summary.crash_count, 1);
}

TEST_F(DaemonTest, AStudyThatCrashesAsItIsPreparedIsAnErrorOfItsSubmit) {
  SetCrashes("prepare " + spec_.task);
  ASSERT_TRUE(Serve().ok());
  TunerClient client(daemon_->address(), &OwnSecret);
  const absl::Status error = client.Submit(spec_).status();
  EXPECT_EQ(ErrorCodeOf(error), ErrorCode::kInternal);
  EXPECT_THAT(error.message(), ::testing::HasSubstr("a test asked for it"));
  EXPECT_THAT(client.List({}), IsOkAndHolds(::testing::IsEmpty()));
  SetCrashes("");
  EXPECT_THAT(client.Submit(spec_), IsOk());
}

// Of a parked study the next daemon must not try again what ended the processes of this one.
TEST_F(DaemonTest, AParkedStudyIsNotTakenUp) {
  spec_.served = true;
  ASSERT_OK_AND_ASSIGN(const Tuning tuning, PrepareTuning(spec_));
  ASSERT_OK_AND_ASSIGN(const std::string id,
                       StoreNewStudy(database_, Clock::Real(), tuning, "parked"));
  ASSERT_THAT(database_.studies->SetState(id, StudyState::kParked, "crashed", 1), IsOk());
  ASSERT_TRUE(Serve().ok());
  TunerClient client(daemon_->address(), &OwnSecret);
  ASSERT_OK_AND_ASSIGN(const FollowedRun run, client.Follow(id, [](const auto&) {}));
  EXPECT_EQ(run.reason, StopReason::kNone);
  EXPECT_EQ(database_.studies->Get(id)->study.state, StudyState::kParked);
}

TEST_F(DaemonTest, AStudyIsChangedByTheClientThatSubmittedIt) {
  SetCrashes("run " + spec_.task);  // Then it is parked, and waits.
  ASSERT_TRUE(Serve().ok());
  TunerClient owner(daemon_->address(), &OwnSecret);
  ASSERT_OK_AND_ASSIGN(const std::string id, owner.Submit(spec_));
  ASSERT_THAT(owner.Follow(id, [](const auto&) {}), IsOk());
  TunerClient stranger(daemon_->address(), &StrangersSecret), nobody(daemon_->address());
  TunerClient liar(daemon_->address(), [] { return absl::StatusOr<std::string>("short"); });
  for (TunerClient* const client : {&stranger, &nobody, &liar}) {
    for (const absl::Status& refused : {client->Cancel(id).status(), client->Resume(id).status(),
                                        client->Cancel(id.substr(0, id.size() - 1)).status()}) {
      EXPECT_EQ(ErrorCodeOf(refused), ErrorCode::kStudyOfAnother) << refused;
      EXPECT_EQ(PartsOf(refused).where, id);
    }
    // Anybody may look. Whose it is, nobody is told.
    ASSERT_OK_AND_ASSIGN(const StudyView view, client->Get(id));
    EXPECT_EQ(view.summary.study.state, StudyState::kParked);
    EXPECT_EQ(view.spec.client_sha256, "");
    EXPECT_THAT(client->List({}), IsOkAndHolds(::testing::SizeIs(1)));
  }
  EXPECT_THAT(owner.Cancel(id), IsOkAndHolds(id));
  SetCrashes("");
  EXPECT_THAT(owner.Resume(id), IsOkAndHolds(id));
  ASSERT_OK_AND_ASSIGN(const FollowedRun run, owner.Follow(id, [](const auto&) {}));
  EXPECT_EQ(run.reason, StopReason::kTrials) << run.error;
}

// A done study of which some candidates are poisoned.
TEST_F(DaemonTest, PoisonIsLiftedByTheStudysOwnClient) {
  const SyntheticStudy study(
      {.spec = {.trials_max = 60, .client_sha256 = FingerprintOf(*OwnSecret())}});
  ASSERT_THAT(CreateStudy(*database_.studies, study.New()), IsOk());
  FakeClock clock;
  FakeMeasurerOptions farm = study.Farm();
  farm.failure_share = 0.5;
  farm.clock = &clock;
  FakeMeasurer measurer(farm);
  StudyRunner runner(
      study.Options(database_.records.get(), database_.studies.get(), &measurer, &clock));
  ASSERT_OK_AND_ASSIGN(const StudyResult result, runner.Run());
  const int64_t poisoned = result.progress.failure_counts.at(FailureKind::kPoisoned);
  ASSERT_GT(poisoned, 0);
  ASSERT_TRUE(Serve().ok());
  TunerClient owner(daemon_->address(), &OwnSecret);
  TunerClient stranger(daemon_->address(), &StrangersSecret);
  for (const char* what : {"study", "study/t0/1"}) {
    EXPECT_EQ(ErrorCodeOf(stranger.Retry(what).status()), ErrorCode::kStudyOfAnother);
  }
  EXPECT_EQ(database_.studies->Get("study")->study.state, StudyState::kDone);
  ASSERT_OK_AND_ASSIGN(const RetriedStudy retried, owner.Retry("study"));
  EXPECT_EQ(retried.study_id, "study");
  EXPECT_EQ(retried.lifted_count, poisoned);
  EXPECT_EQ(retried.open_count, poisoned);
  EXPECT_EQ(database_.studies->Get("study")->study.state, StudyState::kQueued);
  EXPECT_EQ(ErrorCodeOf(owner.Retry("nothing").status()), ErrorCode::kNoStudy);
}

// A client says whose its study is by its secret alone.
TEST_F(DaemonTest, AStudyIsNotGivenToAnother) {
  ASSERT_TRUE(Serve().ok());
  TunerClient client(daemon_->address(), &OwnSecret),
      bad(daemon_->address(), [] { return absl::StatusOr<std::string>("short"); });
  spec_.client_sha256 = FingerprintOf(*StrangersSecret());
  ASSERT_OK_AND_ASSIGN(const std::string id, client.Submit(spec_));
  ASSERT_OK_AND_ASSIGN(const StudySpec stored, ParseStudySpec(database_.studies->Get(id)->study));
  EXPECT_EQ(stored.client_sha256, FingerprintOf(*OwnSecret()));
  EXPECT_EQ(ErrorCodeOf(bad.Submit(spec_).status()), ErrorCode::kUsage);
}

// Of an older daemon, or of somebody on its machine.
TEST_F(DaemonTest, AStudyWithoutAClientIsChangedOnTheDaemonsMachine) {
  spec_.served = true;
  ASSERT_OK_AND_ASSIGN(const Tuning tuning, PrepareTuning(spec_));
  ASSERT_OK_AND_ASSIGN(const std::string id,
                       StoreNewStudy(database_, Clock::Real(), tuning, "local"));
  ASSERT_THAT(database_.studies->SetState(id, StudyState::kParked, "crashed", 1), IsOk());
  ASSERT_TRUE(Serve().ok());
  TunerClient client(daemon_->address(), &OwnSecret), nobody(daemon_->address());
  for (TunerClient* const remote : {&client, &nobody}) {
    const absl::Status refused = remote->Cancel(id).status();
    EXPECT_EQ(ErrorCodeOf(refused), ErrorCode::kStudyOfAnother);
    EXPECT_THAT(PartsOf(refused).hint, ::testing::HasSubstr("--db"));
  }
  EXPECT_THAT(LocalStudies(&database_, &Clock::Real()).Cancel(id), IsOkAndHolds(id));
}

TEST_F(DaemonTest, AStudyOfAnotherProcessIsLeftToIt) {
  spec_.served = true;
  spec_.client_sha256 = FingerprintOf(*OwnSecret());
  ASSERT_OK_AND_ASSIGN(const Tuning tuning, PrepareTuning(spec_));
  ASSERT_OK_AND_ASSIGN(const std::string id,
                       StoreNewStudy(database_, Clock::Real(), tuning, "another's"));
  const int64_t now_ns = absl::ToUnixNanos(Clock::Real().WallNow());
  ASSERT_THAT(database_.studies->SetState(id, StudyState::kRunning, "", now_ns), IsOk());
  ASSERT_THAT(
      database_.studies->TakeLease(
          id, {.owner = "process 1 on elsewhere", .expires_ns = now_ns + (int64_t{1} << 40)},
          now_ns, ""),
      IsOk());
  ASSERT_TRUE(Serve().ok());
  TunerClient client(daemon_->address(), &OwnSecret);
  const absl::Status refused = client.Resume(id).status();
  EXPECT_EQ(ErrorCodeOf(refused), ErrorCode::kStudyOwned);
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("process 1 on elsewhere"));
  EXPECT_EQ(database_.studies->Get(id)->study.state, StudyState::kRunning);
}

TEST_F(DaemonTest, AnAddressThatIsNoneIsRefused) {
  const absl::Status status =
      Daemon::Start({.database = &database_,
                     .clock = &Clock::Real(),
                     .listen = "not an address",
                     .tracker = absl::StrCat("unix:", folder_->path(), "/none")})
          .status();
  EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kUsage);
  EXPECT_EQ(PartsOf(status).where, "not an address");
}

}  // namespace
}  // namespace burnish
