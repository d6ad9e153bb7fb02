#include "compiler/runtime/thread_pool.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/usable_cpus.h"
#include "compiler/runtime/float_mode.h"
#include "compiler/runtime/spin_wait.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

std::unique_ptr<ThreadPool> MakePool(const ThreadPoolOptions& options) {
  auto pool = ThreadPool::Create(options);
  EXPECT_TRUE(pool.ok()) << pool.status().message();
  return *std::move(pool);
}

TEST(ThreadPoolTest, EachWorkerRunsOnceOnItsOwnThread) {
  for (int thread_count : {1, 2, 3, 8}) {
    SCOPED_TRACE(thread_count);
    const std::unique_ptr<ThreadPool> pool = MakePool({.thread_count = thread_count});
    for (int round = 0; round < 100; ++round) {
      std::vector<int> calls(thread_count);
      std::vector<std::thread::id> ids(thread_count);
      pool->Run([&](int worker) {
        ++calls[worker];
        ids[worker] = std::this_thread::get_id();
      });
      EXPECT_EQ(calls, std::vector<int>(thread_count, 1));
      EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(),
                static_cast<size_t>(thread_count));
      EXPECT_EQ(ids[0], std::this_thread::get_id());
    }
  }
}

// Spinning, sleeping at once, and more threads than CPUs: plain memory, so TSan checks the order.
TEST(ThreadPoolTest, BarrierShowsEveryWorkerWhatAllWroteBefore) {
  for (int thread_count : {2, 3, 5, 17}) {
    for (int64_t spin_ns : {int64_t{0}, int64_t{1'000'000}}) {
      SCOPED_TRACE(testing::Message() << thread_count << " threads, spin " << spin_ns);
      const std::unique_ptr<ThreadPool> pool = MakePool(
          {.thread_count = thread_count, .barrier_spin_ns = spin_ns, .idle_spin_ns = spin_ns});
      std::vector<int> values(thread_count);
      std::atomic<int> wrong_count{0};
      pool->Run([&](int worker) {
        for (int round = 1; round <= 500; ++round) {
          values[worker] = round;
          pool->barrier().Wait();
          for (int value : values) wrong_count += value != round;
          pool->barrier().Wait();
        }
      });
      EXPECT_EQ(wrong_count, 0);
    }
  }
}

TEST(ThreadPoolTest, RegionsOfSeveralCallersTakeTurns) {
  const std::unique_ptr<ThreadPool> pool = MakePool({.thread_count = 2});
  int64_t total = 0;  // Not atomic: only one region runs at a time.
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        pool->Run([&](int worker) {
          if (worker == 1) ++total;
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 800);
}

// The smallest normal number, halved: 0 with FTZ, else denormal. Volatile: not at compile time.
bool FlushesToZero() {
  volatile float smallest = std::numeric_limits<float>::min();
  return smallest * 0.5f == 0.0f;
}

TEST(ThreadPoolTest, KernelsFlushDenormalsAndTheCallerKeepsItsMode) {
  const std::unique_ptr<ThreadPool> pool = MakePool({.thread_count = 2});
  ASSERT_FALSE(FlushesToZero());
  bool flushes[2] = {false, false};
  pool->Run([&](int worker) { flushes[worker] = FlushesToZero(); });
  EXPECT_TRUE(flushes[0]);
  EXPECT_TRUE(flushes[1]);
  EXPECT_FALSE(FlushesToZero());
}

TEST(ThreadPoolTest, PinnedThreadsRunWhereToldAndTheCallerIsFreeAgain) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  const std::unique_ptr<ThreadPool> pool = MakePool({.thread_count = 2, .cpus = {cpu, cpu}});
  int ran_on[2] = {-1, -1};
  pool->Run([&](int worker) { ran_on[worker] = sched_getcpu(); });
  EXPECT_EQ(ran_on[0], cpu);
  EXPECT_EQ(ran_on[1], cpu);
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

// --- Threads that do not run. To the others a thread that sleeps looks like one without a CPU.

// Threads that took part in a region of `pool`.
int TeamOf(ThreadPool& pool) {
  std::atomic<int> team{0};
  EXPECT_TRUE(pool.RunOnThoseThatCome([&](int, int workers) {
                    team = workers;
                    pool.barrier().Wait();
                  })
                  .ok());
  return team;
}

// Regions in which the last thread does not run for a long time, until they go on without it.
void StallUntilItIsOut(ThreadPool& pool, int thread_count) {
  for (int round = 0; round < 100; ++round) {
    bool is_out = false;
    ASSERT_TRUE(pool.RunOnThoseThatCome([&](int worker, int workers) {
                      if (worker == 0) is_out = workers < thread_count;
                      if (worker == thread_count - 1) usleep(20'000);
                      pool.barrier().Wait();
                    })
                    .ok());
    if (is_out) return;
  }
  FAIL() << "regions never went on without the thread that does not run";
}

TEST(StallTest, RegionsGoOnWithoutAThreadThatDoesNotRunAndItComesBack) {
  if (UsableCpuCount() < 2) GTEST_SKIP() << "with one CPU nothing spins, so that nothing looks";
  for (int thread_count : {2, 3}) {
    if (UsableCpuCount() < thread_count) continue;
    const std::unique_ptr<ThreadPool> pool = MakePool({.thread_count = thread_count});
    StallUntilItIsOut(*pool, thread_count);
    const int64_t deadline_ns = MonotonicNs() + 60'000'000'000;
    while (TeamOf(*pool) != thread_count) {
      ASSERT_LT(MonotonicNs(), deadline_ns) << "it does not come back";
      usleep(1'000);
    }
  }
}

TEST(StallTest, WhatMeasuresHasAllThreads) {
  if (UsableCpuCount() < 2) GTEST_SKIP();
  const std::unique_ptr<ThreadPool> pool = MakePool({.thread_count = 2});
  StallUntilItIsOut(*pool, 2);
  std::atomic<int> count{0};
  pool->Run([&](int) { ++count; });
  EXPECT_EQ(count, 2);
}

// A thread that is pinned beside a busy neighbour and goes on until it runs elsewhere, which the
// scheduler would never let it: first the caller, whose CPU is then another thread's.
TEST(StallTest, AThreadWithoutItsCpuGetsThatOfOneThatWaitsForIt) {
  if (UsableCpuCount() < 2) GTEST_SKIP() << "with one CPU nothing spins, so that nothing looks";
  const std::vector<int> cpus = UsableCpus();
  const int busy = cpus[1];
  std::atomic<bool> stop{false};
  std::thread neighbour([&] {
    MoveToCpus(0, {busy});
    while (!stop) {
    }
  });
  const std::unique_ptr<ThreadPool> pool = MakePool({.thread_count = 2, .cpus = {busy, cpus[0]}});
  const int64_t deadline_ns = MonotonicNs() + 60'000'000'000;
  std::atomic<bool> got_another[2] = {false, false};
  while (!(got_another[0] && got_another[1]) && MonotonicNs() < deadline_ns) {
    ASSERT_TRUE(pool->RunOnThoseThatCome([&](int worker, int workers) {
                      if (workers == 2 && UsableCpus() == std::vector<int>{busy}) {
                        while (sched_getcpu() == busy && MonotonicNs() < deadline_ns) {
                        }
                        got_another[worker] = sched_getcpu() != busy;
                      }
                      pool->barrier().Wait();
                    })
                    .ok());
    EXPECT_EQ(UsableCpus(), cpus);
  }
  stop = true;
  neighbour.join();
  EXPECT_TRUE(got_another[0]);
  EXPECT_TRUE(got_another[1]);
}

// The neighbour leaves as soon as the loan is made: a region may go on for long after it.
TEST(StallTest, AThreadHasItsCpuAgainBeforeTheRegionEnds) {
  if (UsableCpuCount() < 2) GTEST_SKIP() << "with one CPU nothing spins, so that nothing looks";
  const std::vector<int> cpus = UsableCpus();
  const std::vector<int> own = {cpus[1]};
  std::atomic<bool> stop{false};
  std::thread neighbour([&] {
    MoveToCpus(0, own);
    while (!stop) {
    }
  });
  const std::unique_ptr<ThreadPool> pool = MakePool({.thread_count = 2, .cpus = {cpus[0], own[0]}});
  const int64_t deadline_ns = MonotonicNs() + 60'000'000'000;
  bool has_got_another = false, has_its_own_again = false, goes_on = true;
  ASSERT_TRUE(pool->RunOnThoseThatCome([&](int worker, int) {
                    while (goes_on) {
                      pool->barrier().Wait();  // Both have read it.
                      if (worker == 1) {
                        const bool is_home = UsableCpus() == own;
                        has_got_another = has_got_another || !is_home;
                        stop = has_got_another;
                        has_its_own_again = has_got_another && is_home;
                        goes_on = !has_its_own_again && MonotonicNs() < deadline_ns;
                        const int64_t step_end_ns = MonotonicNs() + 300'000;
                        while (MonotonicNs() < step_end_ns) {
                        }
                      }
                      pool->barrier().Wait();
                    }
                  })
                  .ok());
  stop = true;
  neighbour.join();
  EXPECT_TRUE(has_its_own_again);
}

// Ten calls a second.
TEST(ThreadPoolTest, IdleThreadsCostAPercentOfACpuAtMost) {
  const std::unique_ptr<ThreadPool> pool = MakePool({.thread_count = 2});
  const auto cpu_ns = [] {
    timespec now;
    EXPECT_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  };
  constexpr int kCalls = 6;
  const int64_t before_ns = cpu_ns(), began_ns = MonotonicNs();
  for (int call = 0; call < kCalls; ++call) {
    usleep(100'000);
    ASSERT_TRUE(pool->RunOnThoseThatCome([](int, int) {}).ok());
  }
  EXPECT_LT(cpu_ns() - before_ns, (MonotonicNs() - began_ns) / 100);
}

// From now on moving threads fails with EPERM in this process, as in some containers.
bool RefuseToMoveThreads() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{.len = std::size(code), .filter = code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(StallTest, RegionsGoOnWhereTheSystemRefusesToMoveThreads) {
  if (UsableCpuCount() < 2) GTEST_SKIP() << "with one CPU nothing spins, so that nothing looks";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!RefuseToMoveThreads()) _exit(2);
    StallUntilItIsOut(*MakePool({.thread_count = 2}), 2);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "no filters of system calls here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ThreadPoolTest, WrongOptionsAreRefused) {
  EXPECT_EQ(ThreadPool::Create({.thread_count = 0}).status().message(),
            "got 0 threads, want 1 to 1024");
  EXPECT_EQ(ThreadPool::Create({.thread_count = 2, .cpus = {0}}).status().message(),
            "got 1 CPUs for 2 threads");
  EXPECT_EQ(ThreadPool::Create({.thread_count = 1, .cpus = {-1}}).status().message(),
            "got CPU -1, want 0 to 1023");
  int missing = 0;
  const std::vector<int> usable = ProcessCpus();
  while (std::find(usable.begin(), usable.end(), missing) != usable.end()) ++missing;
  EXPECT_EQ(ThreadPool::Create({.thread_count = 1, .cpus = {missing}}).status().message(),
            "got CPU " + std::to_string(missing) + ", which this process may not use: it has " +
                FormatCpuList(usable));
}

}  // namespace
}  // namespace burnish
