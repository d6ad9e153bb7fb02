#include "compiler/runtime/wait_policy.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace burnish {
namespace {

using Do = Wait::Do;
constexpr int64_t kMs = 1'000'000;

// What thread 0 of two does after a look at which the threads' clocks went on so far.
Wait::Action AfterLook(Wait& wait, int64_t now_ns, const std::vector<int64_t>& ran_ns) {
  const Wait::Action look = wait.Next({.now_ns = now_ns, .has_turn = true});
  EXPECT_EQ(look.what, Do::kLook);
  return wait.Next(
      {.now_ns = now_ns + look.ns, .has_turn = true, .looked_ns = look.ns, .ran_ns = ran_ns});
}

TEST(WaitTest, SpinsWhereAllOthersRunAndForABoundedTimeAlone) {
  Wait wait(0, 0);
  for (const int64_t now_ns : {int64_t{0}, kMs, Wait::kSpinOnNs - Wait::kLookNs - 1}) {
    const Wait::Action next = AfterLook(wait, now_ns, {25'000, 25'000});
    EXPECT_EQ(next.what, Do::kSpin) << now_ns;
    EXPECT_EQ(next.ns, Wait::kLookAgainNs);
  }
  EXPECT_EQ(AfterLook(wait, Wait::kSpinOnNs, {25'000, 25'000}).what, Do::kSleep);
}

TEST(WaitTest, LendsToAThreadWhoseClockStandsStill) {
  Wait wait(0, 0);
  const Wait::Action next = AfterLook(wait, 0, {25'000, 25'000, 1'000});
  EXPECT_EQ(next.what, Do::kLend);
  EXPECT_EQ(next.victim, 2);
  const Wait::Action then =
      wait.Next({.now_ns = 30'000, .has_turn = true, .shares_cpu = true, .until_ns = 530'000});
  EXPECT_EQ(then.what, Do::kSleep);
  EXPECT_EQ(then.ns, 500'000);
  // It sleeps until the loan is over, and somewhat longer where it comes too early for that.
  const Wait::Action early =
      wait.Next({.now_ns = 529'999, .has_turn = true, .shares_cpu = true, .until_ns = 530'000});
  EXPECT_EQ(early.ns, Wait::kFirstNapNs);
  const Wait::Action end =
      wait.Next({.now_ns = 700'000, .has_turn = true, .shares_cpu = true, .until_ns = 530'000});
  EXPECT_EQ(end.what, Do::kTakeBack);
}

TEST(WaitTest, LooksForTheNextOneWhereTheSystemRefuses) {
  Wait wait(0, 0);
  const std::vector<int64_t> ran_ns = {25'000, 0, 25'000, 0};
  EXPECT_EQ(AfterLook(wait, 0, ran_ns).victim, 1);
  const Wait::Evidence refused{
      .now_ns = 30'000, .has_turn = true, .looked_ns = 25'000, .ran_ns = ran_ns};
  EXPECT_EQ(wait.Next(refused).victim, 3);
  EXPECT_EQ(wait.Next(refused).what, Do::kSleep);
}

TEST(WaitTest, LeavesACpuThatSomebodyElseUses) {
  Wait wait(0, 0);
  EXPECT_EQ(AfterLook(wait, 0, {12'000, 0}).what, Do::kSleep);
}

TEST(WaitTest, SpinsShortlyWithoutEvidence) {
  Wait wait(0, 0);
  for (const int64_t own_ns : {int64_t{0}, int64_t{-1}}) {
    EXPECT_EQ(AfterLook(wait, 0, {own_ns, 0}).what, Do::kSpin);
    EXPECT_EQ(AfterLook(wait, Wait::kSpinBlindNs, {own_ns, 0}).what, Do::kSleep);
  }
}

// Nobody may sleep past the end of a wait for long, nor so shortly that a wait of minutes is work.
TEST(WaitTest, NapsDoubleUpToTheLongest) {
  Wait wait(0, 0);
  int64_t before_ns = Wait::kFirstNapNs / 2;
  for (int nap = 0; nap < 100; ++nap) {
    const Wait::Action next = AfterLook(wait, int64_t{1} << 40, {25'000, 25'000});
    EXPECT_EQ(next.what, Do::kSleep);
    EXPECT_EQ(next.ns, std::min(2 * before_ns, Wait::kLongestNapNs)) << nap;
    before_ns = next.ns;
  }
}

TEST(RegionLoansTest, WhoSleepsInThisPhaseLacksNothing) {
  RegionLoans loans(2);
  loans.BeginRegion(1);
  loans.Arrive(1, 1);
  EXPECT_TRUE(loans.MayLackCpu(1, 7, 0, 0));
  loans.SetAsleep(1, 7);
  EXPECT_FALSE(loans.MayLackCpu(1, 7, 0, kMs));
  // Woken since, and then it may take a while to wake up.
  EXPECT_FALSE(loans.MayLackCpu(1, 8, 0, RegionLoans::kWakingNs - 1));
  EXPECT_TRUE(loans.MayLackCpu(1, 8, 0, RegionLoans::kWakingNs));
}

TEST(RegionLoansTest, HelplessAreThoseWhoDoNotRunOnALentCpu) {
  RegionLoans loans(2);
  loans.BeginRegion(1);
  loans.Lend(1, 0, 10 * kMs);
  EXPECT_TRUE(loans.SharesCpu(0));
  EXPECT_EQ(loans.LoanOf(0).victim, 1);
  loans.TakeBack(1, 11 * kMs, /*has_run=*/true);
  EXPECT_FALSE(loans.SharesCpu(1));
  EXPECT_FALSE(loans.is_clear());
  EXPECT_TRUE(loans.helpless().empty());
  for (int64_t loan = 0; loan < 2; ++loan) {
    loans.Lend(1, 0, (13 + 2 * loan) * kMs);
    loans.TakeBack(0, (14 + 2 * loan) * kMs, /*has_run=*/false);
    EXPECT_EQ(loans.helpless().size(), 1U);
  }
  loans.BeginRegion(2);
  EXPECT_TRUE(loans.is_clear());
  EXPECT_TRUE(loans.helpless().empty());
  loans.Lend(1, 0, 21 * kMs);
  loans.Refuse(1, 21 * kMs);
  EXPECT_FALSE(loans.SharesCpu(1));
  EXPECT_EQ(loans.helpless().size(), 1U);
  EXPECT_TRUE(loans.loans().empty());
}

}  // namespace
}  // namespace burnish
