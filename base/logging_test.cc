#include "base/logging.h"

#include <string>

#include "absl/status/status.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

std::string Captured(const LoggingOptions& options, LogLevel level, const std::string& text) {
  ::testing::internal::CaptureStderr();
  SetUpLogging(options);
  Log(level, text);
  return ::testing::internal::GetCapturedStderr();
}

TEST(LoggingTest, LineHasTimeLevelProgramAndText) {
  EXPECT_THAT(Captured({.program = "worker"}, LogLevel::kWarning, "lost 3 leases\n"),
              MatchesRegex("[0-9]+-[0-9]+-[0-9]+ [0-9:.]+ W worker\\[[0-9]+\\] lost 3 leases\n"));
}

TEST(LoggingTest, WhatIsBelowTheLevelIsDropped) {
  EXPECT_EQ(Captured({.level = LogLevel::kWarning}, LogLevel::kInfo, "x"), "");
  EXPECT_FALSE(LogEnabled(LogLevel::kInfo));
  EXPECT_TRUE(LogEnabled(LogLevel::kError));
  EXPECT_EQ(Captured({.level = LogLevel::kOff}, LogLevel::kError, "x"), "");
}

TEST(LoggingTest, TextOfAnotherProcessStaysOneLineAndIsNoFormat) {
  EXPECT_THAT(Captured({}, LogLevel::kError, "a {} b\nc"), HasSubstr("a {} b | c\n"));
  EXPECT_THAT(Captured({}, LogLevel::kError, "a\x1b[2J\rb\x7f"),
              HasSubstr("a\\x1b[2J\\x0db\\x7f\n"));
}

TEST(LoggingTest, ColorIsOnlyWhatTheOptionSays) {
  EXPECT_THAT(Captured({.color = false}, LogLevel::kError, "x"), Not(HasSubstr("\x1b[")));
  EXPECT_THAT(Captured({.color = true}, LogLevel::kError, "x"), HasSubstr("\x1b["));
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(StderrTakesColor(nullptr));  // Captured: a file, not a terminal.
  ::testing::internal::GetCapturedStderr();
}

TEST(LoggingTest, LevelsAreParsedByName) {
  EXPECT_THAT(ParseLogLevel("error"), IsOkAndHolds(LogLevel::kError));
  EXPECT_THAT(ParseLogLevel("loud"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("loud")));
}

}  // namespace
}  // namespace burnish
