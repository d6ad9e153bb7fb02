#include "base/pace_page.h"

#include <cstdlib>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(PacePageTest, WhatIsNoPageIsNotMapped) {
  EXPECT_EQ(MapPacePage(nullptr, false), nullptr);
  EXPECT_EQ(MapPacePage("", false), nullptr);
  EXPECT_EQ(MapPacePage("/no/such/file", false), nullptr);
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("pace"));
  const std::string path = folder.path() + "/short";
  ASSERT_THAT(WriteFileAtomically(path, std::string(sizeof(PacePage) - 1, '\0')), IsOk());
  EXPECT_EQ(MapPacePage(path.c_str(), false), nullptr);
}

TEST(PacePageTest, MarksDifferWhereACallOrAStopCameBetween) {
  PacePage page = {};
  PaceMark mark(&page);
  EXPECT_EQ(mark.Now(), mark.Now());
  const uint64_t quiet = mark.Now();
  page.begun = 1;  // A call that has ended by now.
  EXPECT_NE(mark.Now(), quiet);
  const uint64_t after_call = mark.Now();
  page.stops = 1;
  EXPECT_NE(mark.Now(), after_call);
  page.running = 1;
  EXPECT_NE(mark.Now(), mark.Now());
  EXPECT_EQ(PaceMark(nullptr).Now(), PaceMark(nullptr).Now());
}

// The one test of its program that may ask for the time: the page is mapped at the first question.
TEST(PacedClockTest, StandsStillWhileTheWorkIsStopped) {
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("pace"));
  const std::string path = folder.path() + "/page";
  ASSERT_THAT(WriteFileAtomically(path, std::string(sizeof(PacePage), '\0')), IsOk());
  PacePage* const page = MapPacePage(path.c_str(), true);
  ASSERT_NE(page, nullptr);
  ASSERT_EQ(setenv(kPaceVariable, path.c_str(), 1), 0);
  const absl::Time before = Clock::Real().SteadyNow();
  page->stopped_ns = absl::ToInt64Nanoseconds(absl::Hours(1));
  EXPECT_LE(Clock::Real().SteadyNow(), before - absl::Minutes(30));
}

}  // namespace
}  // namespace burnish
