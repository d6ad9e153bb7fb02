// The threads that run kernels: one parallel region at a time, in which all of them take part.
#ifndef COMPILER_RUNTIME_THREAD_POOL_H_
#define COMPILER_RUNTIME_THREAD_POOL_H_

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/runtime/fork_registration.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/spin_barrier.h"
#include "compiler/runtime/spin_wait.h"
#include "compiler/runtime/stall_watch.h"
#include "compiler/runtime/team_policy.h"
#include "compiler/runtime/team_spread.h"
#include "compiler/runtime/wait_policy.h"

namespace burnish {

// The threads of somebody else, as one function: calls work(work_arg, worker, workers) for worker =
// 0 to below `workers` on as many threads at the same time, and returns when all have returned.
// `workers` is its choice from 1 to workers_max, the same in all calls.
struct ForeignThreads {
  using Work = void (*)(void* work_arg, int32_t worker, int32_t workers);
  using Parallel = void (*)(void* parallel_arg, Work work, void* work_arg, int32_t workers_max);

  Parallel parallel = nullptr;
  void* parallel_arg = nullptr;
  // A forked child must not call it, and its pool starts threads of its own.
  bool ends_at_fork = false;
};

// As long as it takes to sleep and be woken, so that a wait costs at most twice what it had to
// (Karlin, Li, Manasse and Owicki, "Empirical studies of competitive spinning for a shared-memory
// multiprocessor", SOSP 1991). The last to arrive wakes all others, one after another: on 16
// virtual CPUs of a Xeon a region of threads that sleep takes 32 us with two of them, 46 with eight
// and 65 to 91 with 16, and in that time most of them have slept once more. ResNet-50 on all 16
// took 11.5 ms with 50 us, and 10.2 with 200.
constexpr int64_t UsualBarrierSpinNs(int thread_count) {
  return std::max<int64_t>(50'000, int64_t{12'500} * thread_count);
}

struct ThreadPoolOptions {
  int thread_count = 1;  // The caller's thread is one of them: thread_count - 1 are started.
  // Empty: threads run where the system puts them. Else thread i is pinned to cpus[i]; the caller's
  // thread, number 0, is pinned during a region only and then gets its own mask back.
  std::vector<int> cpus = {};
  // At a barrier, before sleeping; without a value UsualBarrierSpinNs.
  std::optional<int64_t> barrier_spin_ns = std::nullopt;
  int64_t idle_spin_ns = 50'000;  // Between regions, before sleeping.
  // With a function: no thread is started, at most thread_count of these take part.
  ForeignThreads foreign = {};
};

// May be shared by any number of sessions and threads: regions are run one after another. A region
// must not start another on the same pool.
//
// Where a thread is found to wait for a CPU that somebody else uses, it gets that of a thread which
// only waits for it, for some milliseconds. Where that does not help, regions run without it for a
// while from the second one on (ADR 14). Results do not depend on who takes part.
//
// In a forked child the pool starts threads again when it needs them, fewer where the system gives
// no more.
class ThreadPool {
 public:
  // kInvalidArgument: thread_count outside of [1, 1024], not one CPU for each thread, or CPUs for
  // foreign threads; kResourceExhausted: the system gives no more threads. Where there are more
  // threads than CPUs to run them, spinning would only keep the others from working, so nothing
  // spins.
  static RuntimeOr<std::unique_ptr<ThreadPool>> Create(const ThreadPoolOptions& options);
  ~ThreadPool();

  // The most that take part in a region.
  int thread_count() const { return thread_count_; }

  // Where the threads are pinned, the caller's first; a caller that runs there already saves two
  // calls of the system a region. Empty: nowhere. Not while a region runs.
  const std::vector<int>& cpus() const { return cpus_; }

  // For the threads of a running region.
  SpinBarrier& barrier() { return barrier_; }

  // Calls region(worker, workers) once on each of `workers` threads, with the kernels' floating
  // point mode set. Returns when all have returned. `region` must not throw. kInvalidArgument: the
  // foreign threads did not do what ForeignThreads says.
  template <typename Region>
  RuntimeStatus RunOnThoseThatCome(const Region& region) {
    return RunErased([](const void* argument, int worker,
                        int workers) { (*static_cast<const Region*>(argument))(worker, workers); },
                     &region, /*all_come=*/false);
  }

  // Calls region(worker) on all thread_count() threads, worker = 0 on the caller's, wherever they
  // run. For what measures: with threads of its own, in a process that is no forked child of
  // theirs.
  template <typename Region>
  void Run(const Region& region) {
    CheckAllCome();
    const RuntimeStatus status =
        RunErased([](const void* argument, int worker,
                     int) { (*static_cast<const Region*>(argument))(worker); },
                  &region, /*all_come=*/true);
    static_cast<void>(status);  // Threads of our own come.
  }

 private:
  using RegionFunction = void (*)(const void* argument, int worker, int workers);
  // A thread of the pool's own.
  struct alignas(64) Worker {
    ThreadPool* pool;
    int thread;      // Its number in the pool, 1 and more.
    int number = 0;  // In the region that it is called for.
    pthread_t handle = {};
    WaitableWord calls;  // How often it was called.
  };

  ThreadPool(const ThreadPoolOptions& options, int64_t barrier_spin_ns, int64_t idle_spin_ns);
  RuntimeStatus StartWorkers();
  void CheckAllCome();
  RuntimeStatus RunErased(RegionFunction function, const void* argument, bool all_come);
  RuntimeStatus RunOnForeignThreads(RegionFunction function, const void* argument);
  bool IsWatched() const { return barrier_spin_ns_ > 0; }
  void WatchThreads();
  void ChooseTeam(bool all_come);
  void EndStalls(const RegionLoans& loans);
  void AfterForkInChild();
  void WorkerLoop(Worker& worker);

  const int thread_count_;
  std::vector<int> cpus_;   // Of the threads; a region may exchange two.
  ForeignThreads foreign_;  // Changes in a forked child alone.
  const int64_t barrier_spin_ns_, idle_spin_ns_;
  SpinBarrier barrier_;
  StallWatch watch_;
  TeamSpread spread_;        // Of foreign threads.
  ForkSafeMutex run_mutex_;  // Held by the caller during a region; guards all below.

  // The region to run, written before its workers are called. A null function ends them.
  RegionFunction function_ = nullptr;
  const void* argument_ = nullptr;
  uint32_t region_ = 0;    // Counts them.
  int team_count_ = 0;     // Threads of the region, the caller's included.
  int running_count_ = 0;  // Of the pool. 0: none started yet.
  bool team_is_all_ = false;
  std::deque<Worker> workers_;  // Cannot be moved: their threads know them by address.
  TeamPolicy policy_;
  std::optional<ForkRegistration> fork_registration_;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_THREAD_POOL_H_
