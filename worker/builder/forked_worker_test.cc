#include "worker/builder/forked_worker.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/measuring_testing.h"
#include "base/measuring_watch.h"
#include "base/status_matchers.h"
#include "base/unique_fd.h"
#include "base/usable_cpus.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::VariantWith;

constexpr ForkLimits kNoHurry = {.time_limit = absl::Minutes(2), .wall_limit = absl::Minutes(4)};

auto Fails(FailureKind kind, const char* message) {
  return VariantWith<Failure>(
      AllOf(Field(&Failure::kind, kind), Field(&Failure::message, HasSubstr(message))));
}

std::variant<std::string, Failure> CallOnce(const ForkLimits& limits, ForkedWorker::Work work) {
  return ForkedWorker(std::move(work)).Call(limits, "");
}

// Says who answers, or ends as it is asked to.
std::string PidOrCrash(const std::string& request) {
  if (request == "crash") abort();
  if (request == "hang") {
    while (true) pause();
  }
  if (request == "spin") {
    for (volatile int turns = 0;; turns = turns + 1) {
    }
  }
  return std::to_string(getpid());
}

std::string AnswerOf(ForkedWorker& worker, absl::string_view request = "") {
  const auto answer = worker.Call(kNoHurry, request);
  return std::holds_alternative<std::string>(answer) ? std::get<std::string>(answer) : "a failure";
}

TEST(ForkedWorkerTest, RequestAndResultHaveAnySize) {
  ForkedWorker worker([](const std::string& request) { return request + request; });
  for (const size_t size : {size_t{0}, size_t{1}, size_t{5} << 20}) {
    EXPECT_THAT(worker.Call(kNoHurry, std::string(size, 'x')),
                VariantWith<std::string>(std::string(2 * size, 'x')));
  }
}

TEST(ForkedWorkerTest, ChildHasNoDescriptorsButItsOwnAndNoEnvironment) {
  const int open_here = open("/dev/null", O_RDONLY);
  ASSERT_GE(open_here, 0);
  setenv("BURNISH_SECRET", "token", 1);
  ForkedWorker worker([](const std::string&) {
    std::string found = environ == nullptr || *environ == nullptr ? "" : *environ;
    for (int fd = 0; fd < 1024; ++fd) {
      if (fcntl(fd, F_GETFD) >= 0) found += " " + std::to_string(fd);
    }
    return found;
  });
  // Input, output, errors, and the socket of requests.
  EXPECT_EQ(AnswerOf(worker), " 0 1 2 3");
  unsetenv("BURNISH_SECRET");
  close(open_here);
}

TEST(ForkedWorkerTest, WhatTheChildChangesIsNotSeenHere) {
  int value = 1;
  CallOnce(kNoHurry, [&](const std::string&) {
    value = 2;
    return std::string();
  });
  EXPECT_EQ(value, 1);
}

TEST(ForkedWorkerTest, OneChildServesUntilItHasServedEnough) {
  ForkedWorker worker(PidOrCrash, /*calls_max=*/3);
  const std::string first = AnswerOf(worker);
  EXPECT_EQ(AnswerOf(worker), first);
  EXPECT_EQ(AnswerOf(worker), first);
  EXPECT_NE(AnswerOf(worker), first);
}

TEST(ForkedWorkerTest, AfterAChildThatEndedTheNextCallHasAFreshOne) {
  ForkedWorker worker(PidOrCrash);
  const std::string first = AnswerOf(worker);
  EXPECT_THAT(worker.Call(kNoHurry, "crash"), Fails(FailureKind::kCrashed, "Aborted"));
  const std::string second = AnswerOf(worker);
  EXPECT_NE(second, first);
  EXPECT_THAT(worker.Call({.time_limit = absl::Milliseconds(50)}, "spin"),
              Fails(FailureKind::kBuildTimeout, "50ms"));
  EXPECT_NE(AnswerOf(worker), second);
}

// On a busy host a child gets little of a CPU. That says nothing of the candidate.
TEST(ForkedWorkerTest, ChildThatGetsNoCpuIsALossAndNoCandidatesFailure) {
  ForkedWorker worker(PidOrCrash);
  EXPECT_THAT(
      worker.Call({.time_limit = absl::Seconds(10), .wall_limit = absl::Milliseconds(100)}, "hang"),
      Fails(FailureKind::kWorkerLost, "of a CPU in 100ms"));
}

// What earlier calls of the same child took is not the next one's.
TEST(ForkedWorkerTest, CpuTimeIsOfOneCall) {
  ForkedWorker worker([](const std::string&) {
    const clock_t end = clock() + CLOCKS_PER_SEC / 5;
    while (clock() < end) {
    }
    return "done";
  });
  for (int call = 0; call < 4; ++call) {
    EXPECT_THAT(worker.Call({.time_limit = absl::Milliseconds(500)}, ""),
                VariantWith<std::string>("done"));
  }
}

class MeasuredHostTest : public testing::Test {
 protected:
  std::vector<UniqueFd> Measure(const std::vector<int>& cpus) {
    return MeasureOn(folder_.path(), cpus);
  }
  ForkedWorker Worker(ForkedWorker::Work work) {
    return ForkedWorker(std::move(work), /*calls_max=*/64,
                        MeasuringWatch::Start(folder_.path(), all_));
  }

  const TempDir folder_ = *TempDir::Create("measured-host-test");
  const std::vector<int> all_ = UsableCpus();
};

TEST_F(MeasuredHostTest, ChildStandsStillWhileAllCpusAreMeasured) {
  std::vector<UniqueFd> files = Measure(all_);
  ForkedWorker worker = Worker([](const std::string&) { return "done"; });
  absl::Time freed;
  std::thread measurer([&] {
    absl::SleepFor(absl::Milliseconds(200));
    freed = absl::Now();
    files.clear();
  });
  EXPECT_THAT(worker.Call(kNoHurry, ""), VariantWith<std::string>("done"));
  const absl::Time done = absl::Now();
  measurer.join();
  EXPECT_GE(done, freed);
}

TEST_F(MeasuredHostTest, ChildStopsWhenAMeasurementBeginsAndGoesOnAfterIt) {
  // Says how long it has not come to its turn, at most.
  ForkedWorker worker = Worker([](const std::string&) {
    absl::Duration longest;
    const absl::Time end = absl::Now() + absl::Milliseconds(700);
    for (absl::Time last = absl::Now(), now = last; now < end; last = now) {
      now = absl::Now();
      longest = std::max(longest, now - last);
    }
    return std::to_string(absl::ToInt64Milliseconds(longest));
  });
  std::thread measurer([&] {
    absl::SleepFor(absl::Milliseconds(100));
    const std::vector<UniqueFd> files = Measure(all_);
    absl::SleepFor(absl::Milliseconds(300));
  });
  const auto answer = worker.Call(kNoHurry, "");
  measurer.join();
  ASSERT_TRUE(std::holds_alternative<std::string>(answer));
  EXPECT_GE(std::stoi(std::get<std::string>(answer)), 200);
}

TEST_F(MeasuredHostTest, ChildKeepsToTheOtherCpus) {
  if (all_.size() < 2) GTEST_SKIP() << "one CPU";
  ForkedWorker worker = Worker([](const std::string&) {
    std::string cpus;
    for (const int cpu : UsableCpus()) cpus += std::to_string(cpu) + " ";
    return cpus;
  });
  std::string others, all;
  for (const int cpu : all_) {
    all += std::to_string(cpu) + " ";
    if (cpu != all_[0]) others += std::to_string(cpu) + " ";
  }
  std::vector<UniqueFd> files = Measure({all_[0]});
  // The child of the first call is forked with all of them, and moved when the call begins.
  (void)worker.Call(kNoHurry, "");
  EXPECT_THAT(worker.Call(kNoHurry, ""), VariantWith<std::string>(others));
  files.clear();
  EXPECT_THAT(worker.Call(kNoHurry, ""), VariantWith<std::string>(all));
}

TEST(ForkedWorkerTest, ChildThatIsKilledBetweenCallsIsReplaced) {
  ForkedWorker worker(PidOrCrash);
  const std::string first = AnswerOf(worker);
  ASSERT_EQ(kill(std::stoi(first), SIGKILL), 0);
  EXPECT_NE(AnswerOf(worker), first);
}

TEST(ForkedWorkerTest, ChildThatSomebodyKillsIsTriedAgain) {
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("forked"));
  const std::string mark = folder.path() + "/killed";
  EXPECT_THAT(CallOnce(kNoHurry,
                       [mark](const std::string&) {
                         if (access(mark.c_str(), F_OK) == 0) return std::string("result");
                         close(open(mark.c_str(), O_CREAT | O_WRONLY, 0600));
                         kill(getpid(), SIGKILL);
                         return std::string();
                       }),
              VariantWith<std::string>("result"));
}

TEST(ForkedWorkerTest, ChildThatIsKilledAgainAndAgainIsALossAndNoCandidatesFailure) {
  EXPECT_THAT(CallOnce(kNoHurry,
                       [](const std::string&) {
                         kill(getpid(), SIGKILL);
                         return std::string();
                       }),
              Fails(FailureKind::kWorkerLost, "somebody killed the compiler"));
}

TEST(ForkedWorkerTest, CrashThatOnlyAUsedChildHasIsNoFailure) {
  ForkedWorker worker([calls = 0](const std::string&) mutable {
    if (++calls == 2) abort();
    return std::string("result");
  });
  EXPECT_EQ(AnswerOf(worker), "result");
  EXPECT_EQ(AnswerOf(worker), "result");
}

TEST(ForkedWorkerTest, CrashIsAFailureWithTheLastWords) {
  EXPECT_THAT(CallOnce(kNoHurry,
                       [](const std::string&) -> std::string {
                         fprintf(stderr, "cannot select: t7");
                         abort();
                       }),
              Fails(FailureKind::kCrashed, "(Aborted): cannot select: t7"));
  EXPECT_THAT(CallOnce(kNoHurry, [](const std::string&) -> std::string { _exit(3); }),
              Fails(FailureKind::kCrashed, "exit code 3"));
}

TEST(ForkedWorkerTest, WordsOfAnEarlierCallAreNotThoseOfACrash) {
  ForkedWorker worker([](const std::string& request) {
    fprintf(stderr, "words of %s", request.c_str());
    if (request == "crash") abort();
    return std::string();
  });
  EXPECT_EQ(AnswerOf(worker, "before"), "");
  const auto answer = worker.Call(kNoHurry, "crash");
  EXPECT_THAT(answer, Fails(FailureKind::kCrashed, ": words of crash"));
}

TEST(ForkedWorkerTest, TalkOnStdoutIsNoResult) {
  EXPECT_THAT(CallOnce(kNoHurry,
                       [](const std::string&) {
                         // More than a pipe holds, so that it must be read.
                         for (int i = 0; i < 100'000; ++i) printf("a remark\n");
                         fflush(stdout);
                         return std::string("result");
                       }),
              VariantWith<std::string>("result"));
}

TEST(ForkedWorkerTest, ChildThatWantsMoreMemoryThanAllowedIsOutOfMemory) {
  EXPECT_THAT(CallOnce({.time_limit = absl::Minutes(2), .memory_limit_bytes = 64 << 20},
                       [](const std::string&) {
                         std::vector<std::vector<char>> hoard;
                         while (true) hoard.emplace_back(1 << 20);
                         return std::string();
                       }),
              Fails(FailureKind::kOutOfMemory, ""));
}

TEST(ForkedWorkerTest, MemoryLimitIsOfOneCall) {
  ForkedWorker worker([](const std::string& request) {
    const std::vector<char> wanted(static_cast<size_t>(std::stoi(request)) << 20, 'x');
    return std::to_string(getpid());
  });
  const auto small =
      worker.Call({.time_limit = absl::Minutes(2), .memory_limit_bytes = 64 << 20}, "1");
  ASSERT_TRUE(std::holds_alternative<std::string>(small));
  EXPECT_EQ(AnswerOf(worker, "100"), std::get<std::string>(small));
}

}  // namespace
}  // namespace burnish
