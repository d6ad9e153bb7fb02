// Keeps the threads of a region apart where they are not ours to keep on a CPU each. ADR 24.
#ifndef COMPILER_RUNTIME_TEAM_SPREAD_H_
#define COMPILER_RUNTIME_TEAM_SPREAD_H_

#include <atomic>
#include <deque>

namespace burnish {

// Two threads that wake each other can stay on one CPU while another one is idle: each time one of
// them is woken the other one runs, so that the scheduler finds nobody waiting. A thread that finds
// itself on the CPU of another one of its region leaves it, and may run where it might before.
//
// Where threads are apart it costs each of them two stores and the number of its CPU a region.
class TeamSpread {
 public:
  explicit TeamSpread(int thread_count) : threads_(thread_count) {}

  // Before a region, of other threads maybe.
  void BeginRegion();
  // By each of the region's threads when it begins, with its number and how many they are.
  void Arrive(int number, int count);
  // By thread `self` of the region, which has spun in vain and is about to sleep, or was woken.
  void Look(int self);

 private:
  struct alignas(64) Thread {
    std::atomic<int> cpu{-1};  // Where it was last seen.
    int moves = 0;             // In this region.
  };

  void Leave(int cpu, int number, int count);

  std::deque<Thread> threads_;  // Cannot be moved.
  std::atomic<int> count_{0};
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_TEAM_SPREAD_H_
