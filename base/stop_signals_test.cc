#include "base/stop_signals.h"

#include <signal.h>
#include <unistd.h>

#include <thread>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

constexpr absl::Duration kLong = absl::Minutes(1);  // Never reached when all is well.

TEST(StopSignalsTest, EachSignalEndsOneWaitAndNotTheProcess) {
  const StopSignals signals;
  EXPECT_EQ(signals.Wait(absl::ZeroDuration()), 0);
  kill(getpid(), SIGTERM);
  EXPECT_EQ(signals.Wait(kLong), SIGTERM);
  kill(getpid(), SIGINT);
  EXPECT_EQ(signals.Wait(absl::InfiniteDuration()), SIGINT);
  EXPECT_EQ(signals.Wait(absl::Milliseconds(1)), 0);
}

TEST(StopSignalsTest, ThreadsThatAreStartedLaterLeaveTheSignalsAlone) {
  const StopSignals signals;
  int got = 0;
  std::thread waiter([&] { got = signals.Wait(kLong); });
  // To this thread or to the other: either blocks it, and the wait has it.
  kill(getpid(), SIGINT);
  waiter.join();
  EXPECT_EQ(got, SIGINT);
}

TEST(StopSignalsDeathTest, AfterwardsTheSignalsAreWhatTheyWere) {
  EXPECT_EXIT(
      {
        {
          const StopSignals signals;
          kill(getpid(), SIGTERM);  // Dropped.
        }
        kill(getpid(), SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace burnish
