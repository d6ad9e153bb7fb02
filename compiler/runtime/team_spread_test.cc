#include "compiler/runtime/team_spread.h"

#include <sched.h>

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace burnish {
namespace {

std::vector<int> UsableCpus() {
  cpu_set_t mask;
  EXPECT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
  }
  return cpus;
}

// Lets this thread run on these, beginning on the first.
void RunOn(const std::vector<int>& cpus) {
  for (const size_t count : {size_t{1}, cpus.size()}) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (size_t i = 0; i < count; ++i) CPU_SET(cpus[i], &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof(mask), &mask), 0);
  }
}

// The scheduler may move a thread at any time, most of all beside other tests: what must be seen is
// seen in one of so many tries.
constexpr int kTries = 50;

class TeamSpreadTest : public testing::Test {
 protected:
  void SetUp() override {
    cpus_ = UsableCpus();
    if (cpus_.size() < 2) GTEST_SKIP() << "needs two CPUs";
    cpus_.resize(2);
  }

  // On a thread of its own, which is gone afterwards.
  template <typename Work>
  void OnThread(const Work& work) {
    std::thread thread(work);
    thread.join();
  }

  // A region whose thread 0 is on the first CPU.
  void BeginWithOne() {
    spread_.BeginRegion();
    OnThread([&] {
      RunOn({cpus_[0]});
      spread_.Arrive(0, 2);
      EXPECT_EQ(sched_getcpu(), cpus_[0]);  // Alone so far.
    });
  }

  // Whether a thread that may run on both CPUs was on the first before `step`, and after it is on
  // `cpu`.
  template <typename Step>
  bool Goes(int cpu, const Step& step) {
    RunOn(cpus_);
    const int before = sched_getcpu();
    step();
    return before == cpus_[0] && sched_getcpu() == cpu;
  }

  std::vector<int> cpus_;
  TeamSpread spread_{2};
};

TEST_F(TeamSpreadTest, WhoMeetsAnotherLeavesAndKeepsItsMask) {
  int left = 0, left_again = 0;
  for (int i = 0; i < kTries && (left == 0 || left_again == 0); ++i) {
    BeginWithOne();
    OnThread([&] {
      left += Goes(cpus_[1], [&] { spread_.Arrive(1, 2); });
      EXPECT_EQ(UsableCpus(), cpus_);
      // Brought back while it slept.
      left_again += Goes(cpus_[1], [&] { spread_.Look(1); });
      EXPECT_EQ(UsableCpus(), cpus_);
    });
  }
  EXPECT_GT(left, 0);
  EXPECT_GT(left_again, 0);
}

TEST_F(TeamSpreadTest, WhoMayRunNowhereElseStays) {
  BeginWithOne();
  OnThread([&] {
    RunOn({cpus_[0]});
    spread_.Arrive(1, 2);
    EXPECT_EQ(UsableCpus(), std::vector<int>{cpus_[0]});
  });
}

TEST_F(TeamSpreadTest, ThreadsOfEarlierRegionsAreForgotten) {
  int stayed = 0;
  for (int i = 0; i < kTries && stayed == 0; ++i) {
    BeginWithOne();
    spread_.BeginRegion();
    OnThread([&] { stayed += Goes(cpus_[0], [&] { spread_.Arrive(1, 2); }); });
  }
  EXPECT_GT(stayed, 0);
}

TEST_F(TeamSpreadTest, NobodyGoesToAndFroForEver) {
  BeginWithOne();
  int stayed = 0;
  OnThread([&] {
    for (int i = 0; i < 20; ++i) stayed += Goes(cpus_[0], [&] { spread_.Arrive(1, 2); });
    for (int i = 0; i < kTries && stayed < 5; ++i) {
      stayed += Goes(cpus_[0], [&] { spread_.Look(1); });
    }
  });
  EXPECT_GE(stayed, 5);
}

}  // namespace
}  // namespace burnish
