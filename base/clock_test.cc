#include "base/clock.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/fake_clock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(ClockTest, SteadyTimeNeverGoesBackAndWallTimeIsTheDate) {
  const Clock& clock = Clock::Real();
  const absl::Time before = absl::Now();
  const absl::Time wall = clock.WallNow();
  EXPECT_LE(before, wall);
  EXPECT_LE(wall, absl::Now());
  absl::Time last = clock.SteadyNow();
  for (int i = 0; i < 1000; ++i) {
    const absl::Time now = clock.SteadyNow();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(FakeClockTest, StandsStillUntilMovedAndTheDateMovesAlone) {
  FakeClock clock(absl::UnixEpoch());
  EXPECT_EQ(clock.SteadyNow(), absl::UnixEpoch());
  clock.Advance(absl::Seconds(5));
  EXPECT_EQ(clock.SteadyNow(), absl::UnixEpoch() + absl::Seconds(5));
  EXPECT_EQ(clock.WallNow(), absl::UnixEpoch() + absl::Seconds(5));
  clock.StepWall(-absl::Hours(1));
  EXPECT_EQ(clock.SteadyNow(), absl::UnixEpoch() + absl::Seconds(5));
  EXPECT_EQ(clock.WallNow(), absl::UnixEpoch() + absl::Seconds(5) - absl::Hours(1));
}

}  // namespace
}  // namespace burnish
