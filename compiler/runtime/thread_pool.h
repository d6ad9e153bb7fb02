// The threads that run kernels: one parallel region at a time, in which all of them take part.
#ifndef COMPILER_RUNTIME_THREAD_POOL_H_
#define COMPILER_RUNTIME_THREAD_POOL_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/spin_barrier.h"
#include "compiler/runtime/spin_wait.h"

namespace burnish {

struct ThreadPoolOptions {
  int thread_count = 1;  // The caller's thread is one of them: thread_count - 1 are started.
  // Empty: threads run where the system puts them. Else thread i is pinned to cpus[i]; the caller's
  // thread, number 0, is pinned during a region only and then gets its own mask back.
  std::vector<int> cpus = {};
  int64_t barrier_spin_ns = 50'000;  // At a barrier, before sleeping.
  int64_t idle_spin_ns = 50'000;     // Between regions, before sleeping.
};

// May be shared by any number of sessions and threads: regions are run one after another. A region
// must not start another on the same pool.
class ThreadPool {
 public:
  // kInvalidArgument: thread_count outside of [1, 1024] or not one CPU for each thread;
  // kResourceExhausted: the system gives no more threads. Where there are more threads than CPUs to
  // run them, spinning would only keep the others from working, so nothing spins.
  static RuntimeOr<std::unique_ptr<ThreadPool>> Create(const ThreadPoolOptions& options);
  ~ThreadPool();

  int thread_count() const { return thread_count_; }

  // For the threads of a running region.
  SpinBarrier& barrier() { return barrier_; }

  // Calls region(worker) once on each thread, worker = 0 on the caller's, with the kernels'
  // floating point mode set. Returns when all have returned. `region` must not throw.
  template <typename Region>
  void Run(const Region& region) {
    RunErased(
        [](const void* argument, int worker) { (*static_cast<const Region*>(argument))(worker); },
        &region);
  }

 private:
  using RegionFunction = void (*)(const void* argument, int worker);

  ThreadPool(const ThreadPoolOptions& options, int64_t barrier_spin_ns, int64_t idle_spin_ns);
  void RunErased(RegionFunction function, const void* argument);
  void WorkerLoop(int worker);

  const int thread_count_;
  const std::vector<int> cpus_;
  const int64_t idle_spin_ns_;
  SpinBarrier barrier_;
  std::mutex run_mutex_;  // Held by the caller during a region.

  // The region to run, written before `region_number_` is advanced. A null function ends the
  // workers.
  RegionFunction function_ = nullptr;
  const void* argument_ = nullptr;
  alignas(64) WaitableWord region_number_;
  std::vector<std::thread> threads_;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_THREAD_POOL_H_
