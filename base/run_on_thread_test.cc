#include "base/run_on_thread.h"

#include <sched.h>

#include <thread>

#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(RunOnThreadTest, IdleThreadAndThoseThatItStartsAreIdleAndTheCallersIsNot) {
  const int before = sched_getscheduler(0);
  int inside = -1, started = -1;
  RunOnThread(ThreadClass::kIdle, [&] {
    inside = sched_getscheduler(0);
    std::thread([&] { started = sched_getscheduler(0); }).join();
  });
  EXPECT_EQ(inside, SCHED_IDLE);
  EXPECT_EQ(started, SCHED_IDLE);
  EXPECT_EQ(sched_getscheduler(0), before);
}

TEST(RunOnThreadTest, NormalThreadIsOfTheCallersClass) {
  int inside = -1;
  RunOnThread(ThreadClass::kNormal, [&] { inside = sched_getscheduler(0); });
  EXPECT_EQ(inside, sched_getscheduler(0));
}

}  // namespace
}  // namespace burnish
