#include "tuner/study/result_guard.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/job.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// 1000 ns is the least that the device can take: 834 ns are within its slack, 833 ns are not.
// Only below 417 ns no machine is.
const GuardQuestion kQuestion = {
    .least = [](const std::string&) { return LeastTimes{.of_any_ns = 500, .of_worker_ns = 1000}; },
    .incumbent_ns = 5000};

Measurement Timed(const std::string& worker, int64_t latency_ns) {
  return {.outcome = Latencies{{{.latency_ns = {latency_ns}}}},
          .environment = {.worker = worker},
          .effort = {.run_ns = 10},
          .worker_address = absl::StrCat("address of ", worker)};
}

Measurement Failed(const std::string& worker, FailureKind kind) {
  return {.outcome = Failure{kind, "so"}, .environment = {.worker = worker}};
}

int64_t NsOf(const GuardAnswer& answer) {
  if (!answer.taken.has_value() || answer.taken->latencies() == nullptr) return 0;
  return answer.taken->latencies()->processes[0].latency_ns[0];
}

TEST(ResultGuardTest, OrdinaryResultIsTakenAtOnce) {
  EXPECT_EQ(NsOf(JudgeAttempts({Timed("a", 6000)}, kQuestion)), 6000);
  EXPECT_EQ(NsOf(JudgeAttempts({Timed("a", 5000)}, kQuestion)), 5000);
  // Nothing is known of the device, and nothing to compare with.
  EXPECT_EQ(NsOf(JudgeAttempts({Timed("a", 1)}, {})), 1);
  const GuardAnswer failed = JudgeAttempts({Failed("a", FailureKind::kCrashed)}, kQuestion);
  ASSERT_TRUE(failed.taken.has_value());
  EXPECT_EQ(failed.taken->failure()->kind, FailureKind::kCrashed);
}

TEST(ResultGuardTest, NewBestIsMeasuredOnceMoreAndTheSlowerCounts) {
  const GuardAnswer first = JudgeAttempts({Timed("a", 4999)}, kQuestion);
  EXPECT_FALSE(first.taken.has_value());
  EXPECT_THAT(first.avoid, ElementsAre("a"));
  for (const int64_t second : {4000, 4999, 7000}) {
    const GuardAnswer answer = JudgeAttempts({Timed("a", 4999), Timed("a", second)}, kQuestion);
    EXPECT_EQ(NsOf(answer), std::max<int64_t>(4999, second));
    EXPECT_EQ(answer.taken->effort.run_ns, 20);
    EXPECT_THAT(answer.liars, IsEmpty());
  }
  GuardQuestion hurried = kQuestion;
  hurried.confirms = false;
  EXPECT_EQ(NsOf(JudgeAttempts({Timed("a", 4999)}, hurried)), 4999);
}

TEST(ResultGuardTest, FailureOfTheSecondMeasurementIsTheCandidates) {
  const GuardAnswer answer =
      JudgeAttempts({Timed("a", 4000), Failed("b", FailureKind::kWrongResult)}, kQuestion);
  ASSERT_TRUE(answer.taken.has_value());
  EXPECT_NE(answer.taken->failure(), nullptr);
  EXPECT_THAT(answer.liars, IsEmpty());
}

TEST(ResultGuardTest, FasterThanTheDeviceIsHeldAndContradictedByAnotherWorker) {
  EXPECT_EQ(NsOf(JudgeAttempts({Timed("a", 834), Timed("a", 834)}, kQuestion)), 834);
  const GuardAnswer held = JudgeAttempts({Timed("a", 833)}, kQuestion);
  EXPECT_FALSE(held.taken.has_value());
  EXPECT_THAT(held.avoid, ElementsAre("a"));
  const GuardAnswer contradicted = JudgeAttempts({Timed("a", 1), Timed("b", 6000)}, kQuestion);
  EXPECT_EQ(NsOf(contradicted), 6000);
  EXPECT_THAT(contradicted.liars, ElementsAre("a"));
  // By itself: something went wrong once, and nobody can say what.
  const GuardAnswer alone = JudgeAttempts({Timed("a", 1), Timed("a", 6000)}, kQuestion);
  EXPECT_EQ(NsOf(alone), 6000);
  EXPECT_THAT(alone.liars, IsEmpty());
}

TEST(ResultGuardTest, TwoWorkersThatAgreeKnowTheDeviceBetterThanItsRow) {
  const GuardAnswer agreed = JudgeAttempts({Timed("a", 700), Timed("b", 750)}, kQuestion);
  EXPECT_EQ(NsOf(agreed), 750);
  EXPECT_THAT(agreed.liars, IsEmpty());
  EXPECT_FALSE(JudgeAttempts({Timed("a", 1), Timed("b", 700)}, kQuestion).taken.has_value());
  EXPECT_FALSE(JudgeAttempts({Timed("a", 1), Timed("a", 1)}, kQuestion).taken.has_value());
}

TEST(ResultGuardTest, WhatNoMachineCanDoIsNotBelievedOfTwoEither) {
  EXPECT_EQ(NsOf(JudgeAttempts({Timed("a", 417), Timed("b", 417)}, kQuestion)), 417);
  EXPECT_FALSE(JudgeAttempts({Timed("a", 416), Timed("b", 416)}, kQuestion).taken.has_value());
  const GuardAnswer ended = JudgeAttempts({Timed("a", 1), Timed("b", 1), Timed("a", 1)}, kQuestion);
  ASSERT_TRUE(ended.taken.has_value());
  EXPECT_NE(ended.taken->failure(), nullptr);
}

Measurement At(const std::string& worker, const std::string& address, int64_t latency_ns) {
  Measurement measurement = Timed(worker, latency_ns);
  measurement.worker_address = address;
  // What a worker says of its host counts for nothing.
  measurement.environment.host = absl::StrCat("host of ", worker);
  return measurement;
}

// Names at one address are one witness, however many; so are those of whom nobody knows where.
TEST(ResultGuardTest, AnotherWorkerAtTheSameAddressConfirmsNothing) {
  for (const char* address : {"10.0.0.1", "local", ""}) {
    EXPECT_FALSE(
        JudgeAttempts({At("a", address, 700), At("b", address, 700)}, kQuestion).taken.has_value())
        << address;
  }
  EXPECT_EQ(NsOf(JudgeAttempts({At("a", "local", 700), At("b", "10.0.0.1", 700)}, kQuestion)), 700);
  EXPECT_FALSE(
      JudgeAttempts({At("a", "", 700), At("b", "10.0.0.1", 700)}, kQuestion).taken.has_value());
}

TEST(ResultGuardTest, TimeOfOneAddressAloneIsMarked) {
  const auto is_unconfirmed = [](std::vector<Measurement> attempts) {
    const GuardAnswer answer = JudgeAttempts(attempts, kQuestion);
    CHECK(answer.taken.has_value());
    return answer.taken->unconfirmed;
  };
  // No best: nobody is asked again.
  EXPECT_TRUE(is_unconfirmed({At("a", "10.0.0.1", 6000)}));
  EXPECT_TRUE(is_unconfirmed({At("a", "", 6000)}));
  EXPECT_FALSE(is_unconfirmed({At("a", kOwnAddress, 6000)}));
  // A best: asked again, with nobody there, a neighbour, another machine.
  EXPECT_TRUE(is_unconfirmed({At("a", "10.0.0.1", 4000), At("a", "10.0.0.1", 4100)}));
  EXPECT_TRUE(is_unconfirmed({At("a", "10.0.0.1", 4000), At("b", "10.0.0.1", 4100)}));
  EXPECT_FALSE(is_unconfirmed({At("a", "10.0.0.1", 4000), At("b", "10.0.0.2", 4100)}));
  EXPECT_FALSE(is_unconfirmed({At("a", "10.0.0.1", 4000), At("b", "10.0.0.2", 2000)}));
  // What cannot be confirms nothing.
  EXPECT_TRUE(is_unconfirmed({At("a", "10.0.0.1", 6000), At("b", "10.0.0.2", 40)}));
  // Possible for nobody but by two machines' word.
  EXPECT_FALSE(is_unconfirmed({At("a", "10.0.0.1", 700), At("b", "10.0.0.2", 700)}));
  // A failure is the candidate's, and nobody's time.
  EXPECT_FALSE(is_unconfirmed({Failed("a", FailureKind::kCrashed)}));
}

TEST(ResultGuardTest, NeighboursAreNotAskedForASecondWord) {
  ResultGuard guard;
  const absl::Time now = absl::UnixEpoch();
  for (const char* worker : {"a", "b"}) {
    EXPECT_TRUE(guard.Ask(now, worker, At(worker, "10.0.0.1", 6000), kQuestion).taken.has_value());
  }
  EXPECT_TRUE(guard.Ask(now, "c", At("c", "10.0.0.2", 6000), kQuestion).taken.has_value());
  EXPECT_THAT(guard.Ask(now, "d", At("a", "10.0.0.1", 4000), kQuestion).avoid,
              ElementsAre("a", "b"));
  // However many there are, a job names no more than it may.
  for (int i = 0; i < 40; ++i) {
    guard.Ask(now, absl::StrCat(i), At(absl::StrCat("w", i), "10.0.0.1", 6000), kQuestion);
  }
  const std::vector<std::string> avoid =
      guard.Ask(now, "e", At("b", "10.0.0.1", 4000), kQuestion).avoid;
  EXPECT_THAT(avoid, SizeIs(JobSpec::kAvoidedMax));
  EXPECT_EQ(avoid[0], "b");
}

// Its own row is too low, for another worker says the same of the candidate: nobody lies.
TEST(ResultGuardTest, WorkerThatIsConfirmedIsNoLiar) {
  GuardQuestion question;
  question.least = [](const std::string& worker) {
    return LeastTimes{.of_any_ns = 500, .of_worker_ns = worker == "a" ? 1000 : 500};
  };
  const GuardAnswer answer = JudgeAttempts({Timed("a", 800), Timed("b", 820)}, question);
  EXPECT_EQ(NsOf(answer), 820);
  EXPECT_THAT(answer.liars, IsEmpty());
}

TEST(ResultGuardTest, NobodyToConfirmItEndsAsTheMachinesFailure) {
  const GuardAnswer answer =
      JudgeAttempts({Timed("a", 1), Timed("a", 1), Timed("a", 1)}, kQuestion);
  ASSERT_TRUE(answer.taken.has_value());
  ASSERT_NE(answer.taken->failure(), nullptr);
  EXPECT_EQ(answer.taken->failure()->kind, FailureKind::kDeviceError);
  EXPECT_THAT(answer.taken->failure()->message, HasSubstr("worker a reported 1 ns"));
}

TEST(ResultGuardTest, LiarIsPausedForLongerEachTime) {
  ResultGuard guard;
  absl::Time now = absl::UnixEpoch();
  const auto lie = [&](const std::string& trial) {
    EXPECT_FALSE(guard.Ask(now, trial, Timed("a", 1), kQuestion).taken.has_value());
    EXPECT_TRUE(guard.Ask(now, trial, Timed("b", 6000), kQuestion).taken.has_value());
  };
  lie("1");
  EXPECT_TRUE(guard.IsPaused(now, "a"));
  EXPECT_FALSE(guard.IsPaused(now, "b"));
  EXPECT_THAT(guard.Paused(now), ElementsAre("a"));
  now += absl::Minutes(10);
  EXPECT_FALSE(guard.IsPaused(now, "a"));
  lie("2");
  now += absl::Minutes(19);
  EXPECT_TRUE(guard.IsPaused(now, "a"));
  EXPECT_EQ(guard.counts().held, 2);
  EXPECT_THAT(guard.counts().lies, ElementsAre(::testing::Pair("a", 2)));
  EXPECT_THAT(GuardText(guard.counts()), HasSubstr("worker a was paused 2 times"));
}

TEST(ResultGuardTest, SecondMeasurementThatIsLostLeavesTheFirst) {
  ResultGuard guard;
  const absl::Time now = absl::UnixEpoch();
  EXPECT_FALSE(guard.Ask(now, "1", Timed("a", 4000), kQuestion).taken.has_value());
  const std::optional<Measurement> first = guard.GiveUp("1", kQuestion);
  ASSERT_TRUE(first.has_value());
  EXPECT_NE(first->latencies(), nullptr);
  EXPECT_FALSE(guard.Ask(now, "2", Timed("a", 1), kQuestion).taken.has_value());
  EXPECT_FALSE(guard.GiveUp("2", kQuestion).has_value());
  EXPECT_FALSE(guard.GiveUp("3", kQuestion).has_value());
}

}  // namespace
}  // namespace burnish
