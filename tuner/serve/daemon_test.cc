// A daemon and its client in one process. The studies have no trials: they need no farm.
#include "tuner/serve/daemon.h"

#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gtest/gtest.h"
#include "tuner/app/error.h"
#include "tuner/app/new_study.h"
#include "tuner/app/study_spec.h"
#include "tuner/app/tuning.h"
#include "tuner/serve/tuner_client.h"

namespace burnish {
namespace {

class DaemonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(TempDir folder, TempDir::Create("daemon_test"));
    folder_.emplace(std::move(folder));
    ASSERT_OK_AND_ASSIGN(database_, OpenDatabase("memory:"));
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
                                    .model_bytes_max = 16}));
    serving_ = std::thread([this] { served_ = daemon_->Serve(); });
    return absl::OkStatus();
  }

  std::optional<TempDir> folder_;
  Database database_;
  StudySpec spec_;
  std::unique_ptr<Daemon> daemon_;
  std::thread serving_;
  absl::Status served_;
};

TEST_F(DaemonTest, AClientsStudyIsRunAndItsEndIsTold) {
  ASSERT_TRUE(Serve().ok());
  TunerClient client(daemon_->address());
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
  TunerClient client(daemon_->address());
  ASSERT_OK_AND_ASSIGN(const FollowedRun run, client.Follow(id, [](const StudyProgress&) {}));
  EXPECT_EQ(run.reason, StopReason::kTrials);
}

TEST_F(DaemonTest, ErrorsCrossTheNetworkWithTheirNumbers) {
  ASSERT_TRUE(Serve().ok());
  TunerClient client(daemon_->address());
  EXPECT_EQ(ErrorCodeOf(client.Get("2001").status()), ErrorCode::kNoStudy);
  spec_.task = "resnet51";
  EXPECT_EQ(ErrorCodeOf(client.Submit(spec_).status()), ErrorCode::kUnknownModel);
  const std::string model = absl::StrCat(folder_->path(), "/model.onnx");
  ASSERT_TRUE(WriteFileAtomically(model, std::string(17, 'x')).ok());
  ASSERT_OK_AND_ASSIGN(const StudySpec large, CompleteStudySpec({.model_path = model}));
  EXPECT_EQ(ErrorCodeOf(client.Submit(large).status()), ErrorCode::kModelTooLarge);
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
