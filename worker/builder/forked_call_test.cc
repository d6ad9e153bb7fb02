#include "worker/builder/forked_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <vector>

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

TEST(ForkedCallTest, ResultComesBackWhateverItsSize) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{5} << 20}) {
    EXPECT_THAT(CallInFork(kNoHurry, [&] { return std::string(size, 'x'); }),
                VariantWith<std::string>(std::string(size, 'x')));
  }
}

TEST(ForkedCallTest, WhatTheChildChangesIsNotSeenHere) {
  int value = 1;
  CallInFork(kNoHurry, [&] {
    value = 2;
    return std::string();
  });
  EXPECT_EQ(value, 1);
}

TEST(ForkedCallTest, CrashIsAFailureWithTheLastWords) {
  EXPECT_THAT(CallInFork(kNoHurry,
                         []() -> std::string {
                           fprintf(stderr, "cannot select: t7");
                           abort();
                         }),
              Fails(FailureKind::kCrashed, "(Aborted): cannot select: t7"));
  EXPECT_THAT(CallInFork(kNoHurry, []() -> std::string { _exit(3); }),
              Fails(FailureKind::kCrashed, "exit code 3"));
}

TEST(ForkedCallTest, TalkOnStdoutIsNoResult) {
  EXPECT_THAT(CallInFork(kNoHurry,
                         [] {
                           // More than a pipe holds, so that it must be read.
                           for (int i = 0; i < 100'000; ++i) printf("a remark\n");
                           fflush(stdout);
                           return std::string("result");
                         }),
              VariantWith<std::string>("result"));
}

TEST(ForkedCallTest, HangingChildIsKilledAtTheLimit) {
  EXPECT_THAT(CallInFork({.time_limit = absl::Milliseconds(50)},
                         []() -> std::string {
                           while (true) pause();
                         }),
              Fails(FailureKind::kBuildTimeout, "50ms"));
}

TEST(ForkedCallTest, ChildThatWantsMoreMemoryThanAllowedIsOutOfMemory) {
  EXPECT_THAT(CallInFork({.time_limit = absl::Minutes(2), .memory_limit_bytes = 64 << 20},
                         [] {
                           std::vector<std::vector<char>> hoard;
                           while (true) hoard.emplace_back(1 << 20);
                           return std::string();
                         }),
              Fails(FailureKind::kOutOfMemory, ""));
}

}  // namespace
}  // namespace burnish
