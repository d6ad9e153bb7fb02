#include "worker/builder/forked_worker.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::VariantWith;

constexpr ForkLimits kNoHurry = {.time_limit = absl::Minutes(2)};

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
  EXPECT_THAT(worker.Call({.time_limit = absl::Milliseconds(50)}, "hang"),
              Fails(FailureKind::kBuildTimeout, "50ms"));
  EXPECT_NE(AnswerOf(worker), second);
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
