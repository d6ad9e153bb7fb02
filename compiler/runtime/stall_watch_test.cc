#include "compiler/runtime/stall_watch.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(NextWaitTest, SpinsWhereAllOthersRunAndForABoundedTimeAlone) {
  for (const int64_t waited_ns : {int64_t{0}, int64_t{100'000}, NextWait::kSpinOnNs - 1}) {
    const NextWait next = NextWaitOf({.waited_ns = waited_ns, .others_run = true});
    EXPECT_TRUE(next.spins) << waited_ns;
    EXPECT_EQ(next.ns, NextWait::kLookAgainNs);
  }
  EXPECT_FALSE(NextWaitOf({.waited_ns = NextWait::kSpinOnNs, .others_run = true}).spins);
}

TEST(NextWaitTest, LeavesACpuThatSomebodyElseNeeds) {
  // A thread of the region, by a loan; then whoever keeps this thread or another from running.
  EXPECT_FALSE(NextWaitOf({.others_run = true, .shares_cpu = true}).spins);
  EXPECT_FALSE(NextWaitOf({.others_run = false}).spins);
}

TEST(NextWaitTest, SleepsToTheEndOfALoan) {
  const auto sleep_ns = [](int64_t loan_left_ns) {
    return NextWaitOf({.shares_cpu = true, .loan_left_ns = loan_left_ns}).ns;
  };
  EXPECT_EQ(sleep_ns(500'000), 500'000);
  EXPECT_EQ(sleep_ns(1), NextWait::kFirstNapNs);
  EXPECT_EQ(sleep_ns(-3'000'000'000), NextWait::kFirstNapNs);  // It is over.
}

// Nobody may sleep past the end of a wait for long, nor so shortly that a wait of minutes is work.
TEST(NextWaitTest, NapsDoubleUpToTheLongest) {
  int64_t before_ns = NextWait::kFirstNapNs / 2;
  for (int nap_count = 0; nap_count < 100; ++nap_count) {
    const NextWait next =
        NextWaitOf({.waited_ns = int64_t{1} << 40, .others_run = true, .nap_count = nap_count});
    EXPECT_FALSE(next.spins);
    EXPECT_EQ(next.ns, std::min(2 * before_ns, NextWait::kLongestNapNs)) << nap_count;
    before_ns = next.ns;
  }
}

}  // namespace
}  // namespace burnish
