#include "base/event_log.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class EventLogTest : public ::testing::Test {
 protected:
  void Add(const std::string& kind, int count) {
    for (int i = 0; i < count; ++i) {
      log_.Add(now_, LogLevel::kInfo, kind, absl::StrCat(kind, " ", i));
    }
  }

  std::vector<std::string> lines_;
  absl::Time now_ = absl::UnixEpoch();
  EventLog log_{[this](LogLevel, absl::string_view text) { lines_.emplace_back(text); }};
};

TEST_F(EventLogTest, FewLinesAreAllWritten) {
  Add("joined", 2);
  Add("lost", 1);
  log_.Tick(now_ + absl::Hours(1));
  EXPECT_THAT(lines_, ElementsAre("joined 0", "joined 1", "lost 0"));
}

TEST_F(EventLogTest, OfAFloodTenASecondAndHowManyWereLeftOut) {
  constexpr int kSeconds = 20;
  for (int second = 0; second < kSeconds; ++second) {
    Add("joined", 5000);
    now_ += absl::Seconds(1);
  }
  log_.Tick(now_);
  EXPECT_THAT(lines_, SizeIs(kSeconds * (EventLog::kLinesPerSecond + 1)));
  EXPECT_EQ(lines_.back(), "joined: 4990 more were left out");
}

TEST_F(EventLogTest, OneKindLeavesRoomForTheOthers) {
  Add("joined", 5000);
  Add("lost", 1);
  EXPECT_EQ(lines_.back(), "lost 0");
}

TEST_F(EventLogTest, WhatWasLeftOutIsSaidOnceItsSecondIsOver) {
  Add("joined", 11);
  log_.Tick(now_ + absl::Milliseconds(999));
  EXPECT_THAT(lines_, SizeIs(EventLog::kLinesPerSecond));
  log_.Tick(now_ + absl::Seconds(1));
  log_.Tick(now_ + absl::Seconds(2));
  ASSERT_THAT(lines_, SizeIs(EventLog::kLinesPerSecond + 1));
  EXPECT_EQ(lines_.back(), "joined: 1 more were left out");
}

TEST(EventLogEndTest, SaysWhatWasLeftOutAtItsEnd) {
  std::vector<std::string> lines;
  {
    EventLog log([&](LogLevel, absl::string_view text) { lines.emplace_back(text); });
    for (int i = 0; i < 12; ++i) log.Add(absl::UnixEpoch(), LogLevel::kInfo, "joined", "one");
  }
  EXPECT_EQ(lines.back(), "joined: 2 more were left out");
}

TEST(LogPieceTest, IsOneLineThatNoTerminalObeys) {
  EXPECT_EQ(LogPiece("host-1.example: 3 slots"), "host-1.example: 3 slots");
  EXPECT_EQ(LogPiece("a\n2026 I tracker[1] forged\x1b[2J\x7f"),
            "a\\x0a2026 I tracker[1] forged\\x1b[2J\\x7f");
  // CSI as one character of Latin-1, as UTF-8, and bytes that are neither.
  EXPECT_EQ(LogPiece("\x9b\xc2\x9b\xff"), "\\x9b\\xc2\\x9b\\xff");
}

TEST(LogPieceTest, IsCut) {
  EXPECT_EQ(LogPiece(std::string(201, 'x')), std::string(200, 'x') + "...");
  EXPECT_EQ(LogPiece("four", 4), "four");
  EXPECT_EQ(LogPiece(std::string(1, '\0') + "bc", 1), "\\x00...");
}

}  // namespace
}  // namespace burnish
