// Real processes: the tracker is killed in the middle of its work, several times, and a process
// with workers too. Each job's result must come out of the tuner's client exactly once.
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/child.h"
#include "base/file.h"
#include "base/self_path.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/protocol.h"
#include "proto/rpc.h"
#include "proto/tracker.grpc.pb.h"
#include "tracker/tracker_client.h"

namespace burnish {
namespace {

constexpr absl::Duration kLong = absl::Minutes(2);
constexpr int kJobCount = 600;

class RestartTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(TempDir folder, TempDir::Create("restart"));
    folder_ = std::make_unique<TempDir>(std::move(folder));
    address_ = absl::StrCat("unix:", folder_->path(), "/tracker");
    StartTracker();
  }

  std::unique_ptr<Child> Start(const std::string& label, const std::vector<std::string>& args) {
    const absl::StatusOr<std::string> program = FindProgram(label);
    EXPECT_THAT(program, IsOk());
    absl::StatusOr<std::unique_ptr<Child>> child =
        Child::Start({.program = program.value_or(""), .args = args});
    EXPECT_THAT(child, IsOk());
    return child.ok() ? *std::move(child) : nullptr;
  }

  void StartTracker(const std::string& lease_seconds = "2") {
    tracker_ = Start("tracker/tracker", {"--listen", address_, "--lease-seconds", lease_seconds});
    ASSERT_NE(tracker_, nullptr);
    ASSERT_THAT(tracker_->ReadLine(kLong), IsOkAndHolds(address_));
  }

  std::unique_ptr<Child> StartWorkers(const std::string& prefix,
                                      const std::string& execution_ms = "20") {
    return Start("worker/agent/sim_worker",
                 {"--tracker", address_, "--id-prefix", prefix, "--workers", "4", "--slots", "2",
                  "--execution-ms", execution_ms});
  }
  v1::GetStatusResponse GetStatus() {
    grpc::ClientContext context;
    v1::GetStatusResponse response;
    const auto stub = v1::Tracker::NewStub(OpenChannel(address_, ThisVersion("tuner")));
    EXPECT_TRUE(stub->GetStatus(&context, {}, &response).ok());
    return response;
  }

  std::unique_ptr<TempDir> folder_;
  std::string address_;
  std::unique_ptr<Child> tracker_;
};

TEST_F(RestartTest, KilledTrackerAndWorkersLoseNothingAndNothingComesTwice) {
  const std::unique_ptr<Child> steady = StartWorkers("steady");
  std::unique_ptr<Child> doomed = StartWorkers("doomed");
  TrackerClient client({.tracker = address_, .tuner_id = "tuner"});
  std::vector<JobSpec> jobs;
  for (int i = 0; i < kJobCount; ++i) {
    jobs.push_back({.id = absl::StrCat("job", i),
                    .kind = JobKind::kRun,
                    .device_key = "cpu-sim",
                    .study = absl::StrCat("study", i % 3),
                    .payload = absl::StrCat("payload", i)});
  }
  ASSERT_THAT(client.Submit(jobs), IsOk());
  std::map<std::string, int> recorded;
  int kills = 0;
  absl::Duration longest_silence;
  while (recorded.size() < kJobCount) {
    const absl::Time before = absl::Now();
    const std::vector<ResultEntry> results = client.Collect(kLong);
    ASSERT_FALSE(results.empty()) << recorded.size() << " of " << kJobCount;
    if (kills > 0) longest_silence = std::max(longest_silence, absl::Now() - before);
    std::vector<std::string> ids;
    for (const ResultEntry& result : results) {
      EXPECT_EQ(result.outcome,
                JobOutcome(absl::StrCat("result of payload", result.job_id.substr(3))));
      EXPECT_EQ(++recorded[result.job_id], 1) << result.job_id << " came twice";
      ids.push_back(result.job_id);
    }
    // A third of the way, half way (with workers), two thirds: between result and acknowledgement.
    const bool kill_now =
        recorded.size() * 6 > static_cast<size_t>(kJobCount * (kills + 2)) && kills < 3;
    if (kill_now) {
      ++kills;
      tracker_->Kill(SIGKILL);
      if (kills == 2) doomed = StartWorkers("doomed");  // The same ids, and the old ones killed.
      ASSERT_THAT(tracker_->Wait(kLong), IsOk());
      ASSERT_NO_FATAL_FAILURE(StartTracker());
    }
    client.Acknowledge(ids);
  }
  EXPECT_EQ(kills, 3);
  EXPECT_LT(longest_silence, absl::Seconds(20)) << "whole again in seconds";
  RecordProperty("longest_silence_ms", absl::ToInt64Milliseconds(longest_silence));
  EXPECT_THAT(client.Collect(absl::Milliseconds(500)), ::testing::IsEmpty());
}

TEST_F(RestartTest, JobsOfAKilledWorkerAreHandedOnLongBeforeTheirLeasesEnd) {
  tracker_->Kill(SIGKILL);
  ASSERT_THAT(tracker_->Wait(kLong), IsOk());
  ASSERT_NO_FATAL_FAILURE(StartTracker(/*lease_seconds=*/"3600"));
  const std::unique_ptr<Child> doomed = StartWorkers("doomed", /*execution_ms=*/"3600000");
  TrackerClient client({.tracker = address_, .tuner_id = "tuner"});
  ASSERT_THAT(client.Submit({{.id = "job", .kind = JobKind::kRun, .device_key = "cpu-sim"}}),
              IsOk());
  while (GetStatus().leased_count() == 0) std::this_thread::yield();
  const std::unique_ptr<Child> heirs = StartWorkers("heir", /*execution_ms=*/"0");
  while (GetStatus().worker_count() < 8) std::this_thread::yield();
  doomed->Kill(SIGKILL);
  EXPECT_THAT(client.Collect(kLong), ::testing::SizeIs(1));
}

// Its connection stays open, and its lease lasts for an hour.
TEST_F(RestartTest, JobOfAStoppedWorkerIsDoneByAnotherWithinSeconds) {
  tracker_->Kill(SIGKILL);
  ASSERT_THAT(tracker_->Wait(kLong), IsOk());
  ASSERT_NO_FATAL_FAILURE(StartTracker(/*lease_seconds=*/"3600"));
  const std::unique_ptr<Child> stopped = StartWorkers("stopped", /*execution_ms=*/"3600000");
  TrackerClient client({.tracker = address_, .tuner_id = "tuner"});
  ASSERT_THAT(client.Submit({{.id = "job", .kind = JobKind::kRun, .device_key = "cpu-sim"}}),
              IsOk());
  while (GetStatus().leased_count() == 0) std::this_thread::yield();
  stopped->Kill(SIGSTOP);
  const std::unique_ptr<Child> others = StartWorkers("other", /*execution_ms=*/"0");
  EXPECT_THAT(client.Collect(kLong), ::testing::SizeIs(1));
  EXPECT_EQ(GetStatus().counters().at("copies"), 1);
  EXPECT_EQ(GetStatus().counters().at("leases_lost"), 0);
  stopped->Kill(SIGCONT);
}

TEST_F(RestartTest, TermEndsTheTrackerCleanly) {
  const std::unique_ptr<Child> workers = StartWorkers("w");
  tracker_->Kill(SIGTERM);
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, tracker_->Wait(kLong));
  EXPECT_TRUE(exit.ok()) << Describe(exit);
}

TEST_F(RestartTest, AnAddressThatCannotBeHadIsSaidWithItsExitCode) {
  const std::unique_ptr<Child> second = Start("tracker/tracker", {"--listen", "nonsense"});
  ASSERT_OK_AND_ASSIGN(const ExitInfo usage, second->Wait(kLong));
  EXPECT_EQ(usage.exit_code, 64);
  EXPECT_THAT(usage.stderr_bytes, ::testing::HasSubstr("want HOST:PORT"));
  const std::unique_ptr<Child> third =
      Start("tracker/tracker", {"--listen", "unix:/nonexistent/socket"});
  ASSERT_OK_AND_ASSIGN(const ExitInfo unavailable, third->Wait(kLong));
  EXPECT_EQ(unavailable.exit_code, 69);
}

TEST_F(RestartTest, AsksWhoCallsAtAPortOfThisMachineForTheUsersSecret) {
  setenv("XDG_STATE_HOME", folder_->path().c_str(), /*overwrite=*/1);
  tracker_ = Start("tracker/tracker", {"--listen", "localhost:0"});
  ASSERT_OK_AND_ASSIGN(address_, tracker_->ReadLine(kLong));
  EXPECT_EQ(GetStatus().worker_count(), 0);
  TrackerClient own({.tracker = address_, .tuner_id = "tuner"});
  ASSERT_THAT(own.Submit({{.id = "job", .kind = JobKind::kRun, .device_key = "cpu-sim"}}), IsOk());
  // Another user has another file.
  setenv("XDG_STATE_HOME", absl::StrCat(folder_->path(), "/other").c_str(), /*overwrite=*/1);
  TrackerClient stranger({.tracker = address_, .tuner_id = "stranger"});
  while (stranger.state().refused.ok()) std::this_thread::yield();
  EXPECT_THAT(stranger.state().refused, StatusIs(absl::StatusCode::kUnauthenticated,
                                                 ::testing::HasSubstr("of its own, user")));
  setenv("XDG_STATE_HOME", folder_->path().c_str(), /*overwrite=*/1);
  const std::unique_ptr<Child> workers = StartWorkers("w", /*execution_ms=*/"0");
  EXPECT_THAT(own.Collect(kLong), ::testing::SizeIs(1));
  // A file that others can read is no secret.
  ASSERT_EQ(chmod(absl::StrCat(folder_->path(), "/burnish/loopback-secret").c_str(), 0644), 0);
  const std::unique_ptr<Child> open = Start("tracker/tracker", {"--listen", "localhost:0"});
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, open->Wait(kLong));
  EXPECT_EQ(exit.exit_code, 77);
  EXPECT_THAT(exit.stderr_bytes, ::testing::HasSubstr("chmod 600"));
  unsetenv("XDG_STATE_HOME");
}

TEST_F(RestartTest, ListensOnASocketOfItsUserWhereNothingIsSaid) {
  setenv("XDG_RUNTIME_DIR", folder_->path().c_str(), /*overwrite=*/1);
  tracker_ = Start("tracker/tracker", {});
  ASSERT_OK_AND_ASSIGN(address_, tracker_->ReadLine(kLong));
  EXPECT_EQ(address_, absl::StrCat("unix:", folder_->path(), "/burnish/tracker.sock"));
  EXPECT_EQ(GetStatus().worker_count(), 0);
  // A second one does not take the place of the first.
  const std::unique_ptr<Child> second = Start("tracker/tracker", {});
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, second->Wait(kLong));
  EXPECT_EQ(exit.exit_code, 69);
  EXPECT_EQ(GetStatus().worker_count(), 0);
  unsetenv("XDG_RUNTIME_DIR");
}

TEST_F(RestartTest, ListensBeyondThisMachineOnlyWhereItIsWrittenOut) {
  const std::unique_ptr<Child> refused = Start("tracker/tracker", {"--listen", "0.0.0.0:0"});
  ASSERT_OK_AND_ASSIGN(const ExitInfo exit, refused->Wait(kLong));
  EXPECT_EQ(exit.exit_code, 64);
  EXPECT_THAT(exit.stderr_bytes, ::testing::HasSubstr("write --insecure"));
  EXPECT_THAT(exit.stdout_bytes, ::testing::IsEmpty());
  const std::unique_ptr<Child> open =
      Start("tracker/tracker", {"--listen", "0.0.0.0:0", "--insecure"});
  EXPECT_THAT(open->ReadLine(kLong), IsOkAndHolds(::testing::StartsWith("0.0.0.0:")));
}

}  // namespace
}  // namespace burnish
