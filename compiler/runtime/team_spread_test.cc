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
  std::vector<int> cpus_;
  TeamSpread spread_{2};
};

TEST_F(TeamSpreadTest, WhoMeetsAnotherLeavesAndKeepsItsMask) {
  spread_.BeginRegion();
  OnThread([&] {
    RunOn({cpus_[0]});
    spread_.Arrive(0, 2);
    EXPECT_EQ(sched_getcpu(), cpus_[0]);  // Alone so far.
  });
  OnThread([&] {
    RunOn(cpus_);
    spread_.Arrive(1, 2);
    EXPECT_EQ(sched_getcpu(), cpus_[1]);
    EXPECT_EQ(UsableCpus(), cpus_);
    // Brought back while it slept.
    RunOn(cpus_);
    spread_.Look();
    EXPECT_EQ(sched_getcpu(), cpus_[1]);
  });
}

TEST_F(TeamSpreadTest, WhoMayRunNowhereElseStays) {
  spread_.BeginRegion();
  OnThread([&] {
    RunOn({cpus_[0]});
    spread_.Arrive(0, 2);
  });
  OnThread([&] {
    RunOn({cpus_[0]});
    spread_.Arrive(1, 2);
    EXPECT_EQ(UsableCpus(), std::vector<int>{cpus_[0]});
  });
}

TEST_F(TeamSpreadTest, ThreadsOfEarlierRegionsAreForgotten) {
  spread_.BeginRegion();
  OnThread([&] {
    RunOn({cpus_[0]});
    spread_.Arrive(0, 2);
  });
  spread_.BeginRegion();
  OnThread([&] {
    // Of its two CPUs it would leave the first, which nobody of this region is on.
    RunOn(cpus_);
    const int before = sched_getcpu();
    spread_.Arrive(1, 2);
    EXPECT_EQ(sched_getcpu(), before);
  });
}

TEST_F(TeamSpreadTest, NobodyGoesToAndFroForEver) {
  spread_.BeginRegion();
  OnThread([&] {
    RunOn({cpus_[0]});
    spread_.Arrive(0, 2);
  });
  OnThread([&] {
    int stayed = 0;
    RunOn(cpus_);
    spread_.Arrive(1, 2);
    for (int i = 0; i < 20; ++i) {
      RunOn(cpus_);
      spread_.Look();
      stayed += sched_getcpu() == cpus_[0] ? 1 : 0;
    }
    EXPECT_GE(stayed, 10);
  });
}

}  // namespace
}  // namespace burnish
