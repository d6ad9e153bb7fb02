#include "worker/builder/builder_executor.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/build_job.h"
#include "proto/synchronize.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::VariantWith;

// Answers by the trace: artifact, failure or a status. "wait" waits to be cancelled.
class FakeBuilder : public Builder {
 public:
  absl::StatusOr<CompileReply> Build(const CompileRequest& request) override {
    const CompileItem& item = request.items[0];
    CompileReply reply;
    CompileResult& result = reply.results.emplace_back();
    if (item.trace == "wait") {
      started_.Notify();
      cancelled_.WaitForNotification();
      return absl::CancelledError("cancelled");
    }
    if (item.trace == "bad") {
      result.outcome = Failure{.kind = FailureKind::kCrashed, .message = "signal 6"};
      return reply;
    }
    if (item.trace == "killed") {
      result.outcome = Failure{.kind = FailureKind::kWorkerLost, .message = "killed"};
      return reply;
    }
    if (item.trace == "epoch") return absl::FailedPreconditionError("epoch 2");
    if (item.trace == "target") return absl::InvalidArgumentError("no such target");
    CompiledKernel kernel{.numerics = {.kind = NumericsClass::kExact}};
    kernel.artifact = item.trace;
    kernel.contract = "bordered";
    kernel.build.artifact_sha256 = std::string(32, 'a');
    result.outcome = kernel;
    return reply;
  }
  void Cancel() override {
    if (!cancelled_.HasBeenNotified()) cancelled_.Notify();
  }
  void WaitUntilStarted() { started_.WaitForNotification(); }

 private:
  absl::Notification started_, cancelled_;
};

JobSpec JobWith(const std::string& trace) {
  return {.id = "job",
          .payload = Encode(BuildJob{.candidate_id = std::string(32, 'c'), .trace = trace})};
}

constexpr int64_t kEpoch = 42;

absl::StatusOr<std::string> Store(absl::string_view artifact, const Lease& lease) {
  EXPECT_EQ(lease, (Lease{.job_id = "job", .epoch = kEpoch}));
  if (artifact == "huge") return absl::InvalidArgumentError("larger than 1 MiB");
  if (artifact == "lost") return absl::UnavailableError("no tracker");
  return std::string(32, 'a');
}

JobOutcome OutcomeOf(const JobSpec& job) {
  BuilderExecutor executor(std::make_unique<FakeBuilder>(), &Store);
  JobOutcome outcome;
  absl::Notification done;
  executor.Start(job, {.job_id = job.id, .epoch = kEpoch}, [&](JobOutcome result) {
    outcome = std::move(result);
    done.Notify();
  });
  done.WaitForNotification();
  return outcome;
}

BuildResult ResultOf(const std::string& trace) {
  const JobOutcome outcome = OutcomeOf(JobWith(trace));
  const auto* payload = std::get_if<std::string>(&outcome);
  EXPECT_NE(payload, nullptr);
  if (payload == nullptr) return {};
  const absl::StatusOr<BuildResult> result = DecodeBuildResult(*payload);
  EXPECT_THAT(result, IsOk());
  return result.value_or(BuildResult());
}

TEST(BuilderExecutorTest, BuiltCandidateIsAResultWithItsArtifactInTheStore) {
  const BuildResult result = ResultOf("good");
  EXPECT_EQ(result.candidate_id, std::string(32, 'c'));
  const auto* built = std::get_if<BuiltArtifact>(&result.outcome);
  ASSERT_NE(built, nullptr);
  EXPECT_EQ(built->build.artifact_sha256, std::string(32, 'a'));
  EXPECT_EQ(built->numerics.kind, NumericsClass::kExact);
  EXPECT_EQ(built->contract, "bordered");
}

TEST(BuilderExecutorTest, CandidatesThatFailAreResults) {
  const auto fails = [](FailureKind kind, const char* message) {
    return VariantWith<Failure>(
        AllOf(Field(&Failure::kind, kind), Field(&Failure::message, HasSubstr(message))));
  };
  EXPECT_THAT(ResultOf("bad").outcome, fails(FailureKind::kCrashed, "signal 6"));
  EXPECT_THAT(ResultOf("target").outcome, fails(FailureKind::kBuildError, "no such target"));
  EXPECT_THAT(ResultOf("huge").outcome, fails(FailureKind::kBuildError, "1 MiB"));
}

TEST(BuilderExecutorTest, WhatIsNotTheCandidatesFaultIsTheWorkers) {
  const auto fault = [](const char* message, bool refused) {
    return VariantWith<WorkerFault>(AllOf(Field(&WorkerFault::message, HasSubstr(message)),
                                          Field(&WorkerFault::refused, refused)));
  };
  EXPECT_THAT(OutcomeOf(JobWith("epoch")), fault("epoch 2", true));
  EXPECT_THAT(OutcomeOf(JobWith("lost")), fault("no tracker", false));
  EXPECT_THAT(OutcomeOf({.id = "job", .payload = "\xff"}), fault("no build job", true));
  EXPECT_THAT(OutcomeOf(JobWith("killed")), fault("killed", false));
}

TEST(BuilderExecutorTest, CancelledBuildEndsSoonAndStillSaysSo) {
  auto builder = std::make_unique<FakeBuilder>();
  FakeBuilder& fake = *builder;
  BuilderExecutor executor(std::move(builder), &Store);
  absl::Notification done;
  executor.Start(JobWith("wait"), {}, [&](JobOutcome) { done.Notify(); });
  fake.WaitUntilStarted();
  executor.Cancel();
  done.WaitForNotification();
}

TEST(BuilderExecutorTest, DestructionEndsABuildWithoutAWord) {
  bool said = false;
  {
    auto builder = std::make_unique<FakeBuilder>();
    FakeBuilder& fake = *builder;
    BuilderExecutor executor(std::move(builder), &Store);
    executor.Start(JobWith("wait"), {}, [&](JobOutcome) { said = true; });
    fake.WaitUntilStarted();
  }
  EXPECT_FALSE(said);
}

}  // namespace
}  // namespace burnish
