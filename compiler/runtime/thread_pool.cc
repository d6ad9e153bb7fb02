#include "compiler/runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>

#include "compiler/runtime/float_mode.h"

namespace burnish {
namespace {

// As in a bundle's manifest: more comes from a damaged number and not from a machine.
constexpr int kThreadCountMax = 1024;

// A mask that holds one CPU. Numbers are checked in Create.
cpu_set_t MaskOf(int cpu) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  return mask;
}

// CPUs that these threads may run on, at the most.
int UsableCpuCount(const std::vector<int>& pinned_cpus) {
  if (!pinned_cpus.empty()) {
    return static_cast<int>(std::set<int>(pinned_cpus.begin(), pinned_cpus.end()).size());
  }
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return 1;
  return CPU_COUNT(&mask);
}

// Pins the current thread for as long as it lives. A CPU that has gone away meanwhile is no error:
// pinning is for speed.
class ScopedPin {
 public:
  explicit ScopedPin(int cpu) {
    const cpu_set_t mask = MaskOf(cpu);
    // A caller that is pinned there already pays one system call instead of three (about 4 µs).
    pinned_ = sched_getaffinity(0, sizeof(saved_), &saved_) == 0 && !CPU_EQUAL(&saved_, &mask) &&
              sched_setaffinity(0, sizeof(mask), &mask) == 0;
  }
  ScopedPin(const ScopedPin&) = delete;
  ScopedPin& operator=(const ScopedPin&) = delete;
  ~ScopedPin() {
    if (pinned_) sched_setaffinity(0, sizeof(saved_), &saved_);
  }

 private:
  cpu_set_t saved_;
  bool pinned_;
};

RuntimeStatus CheckOptions(const ThreadPoolOptions& options) {
  if (options.thread_count < 1 || options.thread_count > kThreadCountMax) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument,
                         "got " + std::to_string(options.thread_count) + " threads, want 1 to " +
                             std::to_string(kThreadCountMax));
  }
  if (!options.cpus.empty() && options.cpus.size() != static_cast<size_t>(options.thread_count)) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument,
                         "got " + std::to_string(options.cpus.size()) + " CPUs for " +
                             std::to_string(options.thread_count) + " threads");
  }
  for (int cpu : options.cpus) {
    if (cpu < 0 || cpu >= CPU_SETSIZE) {
      return RuntimeStatus(
          RuntimeCode::kInvalidArgument,
          "got CPU " + std::to_string(cpu) + ", want 0 to " + std::to_string(CPU_SETSIZE - 1));
    }
  }
  return RuntimeStatus();
}

}  // namespace

RuntimeOr<std::unique_ptr<ThreadPool>> ThreadPool::Create(const ThreadPoolOptions& options) {
  RUNTIME_RETURN_IF_ERROR(CheckOptions(options));
  // With more threads than CPUs a thread that spins keeps off the very one that it waits for, until
  // the scheduler takes its CPU away.
  const bool may_spin = options.thread_count <= UsableCpuCount(options.cpus);
  std::unique_ptr<ThreadPool> pool(new ThreadPool(options, may_spin ? options.barrier_spin_ns : 0,
                                                  may_spin ? options.idle_spin_ns : 0));
  // Worker 0 is the caller's thread: no hand-over at the start of a region.
  for (int worker = 1; worker < options.thread_count; ++worker) {
    try {
      pool->threads_.emplace_back(&ThreadPool::WorkerLoop, pool.get(), worker);
    } catch (const std::system_error& error) {
      return RuntimeStatus(RuntimeCode::kResourceExhausted,
                           "starting thread " + std::to_string(worker) + ": " + error.what());
    }
  }
  return pool;
}

ThreadPool::ThreadPool(const ThreadPoolOptions& options, int64_t barrier_spin_ns,
                       int64_t idle_spin_ns)
    : thread_count_(options.thread_count),
      cpus_(options.cpus),
      idle_spin_ns_(idle_spin_ns),
      barrier_(options.thread_count, barrier_spin_ns) {}

ThreadPool::~ThreadPool() {
  // Null is the word to end, published like any region.
  function_ = nullptr;
  region_number_.Publish(region_number_.Load() + 1);
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::RunErased(RegionFunction function, const void* argument) {
  // One region at a time: several sessions may share a pool.
  const std::lock_guard<std::mutex> lock(run_mutex_);
  std::optional<ScopedPin> pin;
  if (!cpus_.empty()) pin.emplace(cpus_[0]);
  function_ = function;
  // Before Publish, which makes both visible to the workers.
  argument_ = argument;
  region_number_.Publish(region_number_.Load() + 1);
  {
    const ScopedKernelFloatMode float_mode;
    function(argument, 0);
  }
  // The last barrier: nobody still uses `argument`, and each worker waits for the next number.
  barrier_.Wait();
}

void ThreadPool::WorkerLoop(int worker) {
  if (!cpus_.empty()) {
    const cpu_set_t mask = MaskOf(cpus_[worker]);
    sched_setaffinity(0, sizeof(mask), &mask);
  }
  for (uint32_t done = 0;; ++done) {
    // Counted by each worker for itself: every region is run once by everybody, so the numbers
    // agree, and a wrap around of 32 bits does no harm.
    region_number_.WaitWhile(done, idle_spin_ns_);
    if (function_ == nullptr) return;
    {
      const ScopedKernelFloatMode float_mode;
      function_(argument_, worker);
    }
    barrier_.Wait();
  }
}

}  // namespace burnish
