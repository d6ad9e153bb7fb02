#include "compiler/runtime/fork_registration.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace burnish {
namespace {

// Whether a thread of this process sleeps, by the kernel.
bool Sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(") ");
  return name_end != std::string::npos && line[name_end + 2] == 'S';
}

// Returns once the thread waits for a mutex. Nothing else in it sleeps for longer than a look
// takes; so several in a row say that it waits.
void AwaitSleep(const std::atomic<pid_t>& thread) {
  for (int looks = 0; looks < 5; looks = thread != 0 && Sleeps(thread) ? looks + 1 : 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST(ForkSafeMutexTest, WhoUnlocksAndLocksAtOnceComesAfterAllThatWait) {
  // More than the bits by which waiters are woken.
  constexpr int kWaiters = 35;
  ForkSafeMutex mutex;
  std::atomic<int> turns{0};
  std::vector<int> turn(kWaiters);
  std::vector<std::atomic<pid_t>> ids(kWaiters);
  std::vector<std::thread> waiters;
  mutex.lock();
  for (int i = 0; i < kWaiters; ++i) {
    waiters.emplace_back([&mutex, &turns, &turn = turn[i], &id = ids[i]] {
      id = static_cast<pid_t>(syscall(SYS_gettid));
      const std::lock_guard<ForkSafeMutex> lock(mutex);
      turn = ++turns;
    });
    AwaitSleep(ids[i]);
  }
  std::this_thread::sleep_for(std::chrono::nanoseconds(ForkSafeMutex::kPatienceNs));
  // None of them is awake yet.
  mutex.unlock();
  mutex.lock();
  EXPECT_EQ(turns, kWaiters);
  mutex.unlock();
  for (std::thread& waiter : waiters) waiter.join();
  for (int i = 0; i < kWaiters; ++i) EXPECT_EQ(turn[i], i + 1);
}

TEST(ForkSafeMutexTest, WhoComesWhileItIsFreeTakesItBeforeThoseThatHaveJustCome) {
  // A thread that waits sleeps, and takes tens of microseconds to come: a short run must not wait
  // for that each time.
  constexpr int kRounds = 5'000;
  ForkSafeMutex mutex;
  std::atomic<bool> ended{false};
  std::thread other([&] {
    while (!ended) const std::lock_guard<ForkSafeMutex> lock(mutex);
  });
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < kRounds; ++round) const std::lock_guard<ForkSafeMutex> lock(mutex);
  const auto took = std::chrono::steady_clock::now() - begin;
  ended = true;
  other.join();
  // By turns it would be two hand-overs a round, 20 to 140 us.
  EXPECT_LT(took / kRounds, std::chrono::microseconds(20));
}

TEST(ForkSafeMutexTest, OneAtATime) {
  constexpr int kThreads = 6, kRounds = 5'000;
  ForkSafeMutex mutex;
  int count = 0;  // Plain memory, so that the thread sanitizer checks the order.
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&mutex, &count] {
      for (int round = 0; round < kRounds; ++round) {
        const std::lock_guard<ForkSafeMutex> lock(mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kRounds);
}

TEST(ForkSafeMutexTest, IsFreeAfterReset) {
  ForkSafeMutex mutex;
  mutex.lock();
  mutex.Reset();
  mutex.lock();
  mutex.unlock();
}

}  // namespace
}  // namespace burnish
