#include "compiler/runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/check.h"
#include "base/usable_cpus.h"
#include "compiler/runtime/float_mode.h"
#include "compiler/runtime/region_thread.h"

namespace burnish {
namespace {

// As in a bundle's manifest: more comes from a damaged number and not from a machine.
constexpr int kThreadCountMax = 1024;

// CPUs that these threads may run on, at the most.
int CpuCountFor(const std::vector<int>& pinned_cpus) {
  if (!pinned_cpus.empty()) {
    return static_cast<int>(std::set<int>(pinned_cpus.begin(), pinned_cpus.end()).size());
  }
  return UsableCpuCount();
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
  if (options.foreign.parallel != nullptr && !options.cpus.empty()) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument,
                         "got CPUs to pin threads to, which belong to the caller: pin them there");
  }
  const std::vector<int> usable = options.cpus.empty() ? options.cpus : ProcessCpus();
  for (int cpu : options.cpus) {
    if (cpu < 0 || cpu >= CPU_SETSIZE) {
      return RuntimeStatus(
          RuntimeCode::kInvalidArgument,
          "got CPU " + std::to_string(cpu) + ", want 0 to " + std::to_string(CPU_SETSIZE - 1));
    }
    if (!usable.empty() && !std::binary_search(usable.begin(), usable.end(), cpu)) {
      return RuntimeStatus(RuntimeCode::kInvalidArgument,
                           "got CPU " + std::to_string(cpu) +
                               ", which this process may not use: it has " + FormatCpuList(usable));
    }
  }
  return RuntimeStatus();
}

}  // namespace

RuntimeOr<std::unique_ptr<ThreadPool>> ThreadPool::Create(const ThreadPoolOptions& options) {
  RUNTIME_RETURN_IF_ERROR(CheckOptions(options));
  // With more threads than CPUs a thread that spins keeps off the very one that it waits for, until
  // the scheduler takes its CPU away.
  const bool may_spin = options.thread_count <= CpuCountFor(options.cpus);
  const int64_t barrier_spin_ns =
      options.barrier_spin_ns.value_or(UsualBarrierSpinNs(options.thread_count));
  std::unique_ptr<ThreadPool> pool(
      new ThreadPool(options, may_spin ? barrier_spin_ns : 0, may_spin ? options.idle_spin_ns : 0));
  if (options.foreign.parallel == nullptr) RUNTIME_RETURN_IF_ERROR(pool->StartWorkers());
  pool->fork_registration_.emplace(
      [](void* object) { static_cast<ThreadPool*>(object)->AfterForkInChild(); }, pool.get());
  return pool;
}

ThreadPool::ThreadPool(const ThreadPoolOptions& options, int64_t barrier_spin_ns,
                       int64_t idle_spin_ns)
    : thread_count_(options.thread_count),
      cpus_(options.cpus),
      foreign_(options.foreign),
      barrier_spin_ns_(barrier_spin_ns),
      idle_spin_ns_(idle_spin_ns),
      barrier_(options.thread_count, barrier_spin_ns),
      watch_(options.thread_count),
      spread_(options.thread_count),
      policy_(options.thread_count) {
  WatchThreads();
}

// Foreign threads are not this pool's to lend CPUs to. Where nothing spins there are more threads
// than CPUs, and each waits for one now and then.
void ThreadPool::WatchThreads() {
  const bool is_foreign = foreign_.parallel != nullptr;
  barrier_.SetWatch(!is_foreign && IsWatched() ? &watch_ : nullptr);
  barrier_.SetSpread(is_foreign && IsWatched() ? &spread_ : nullptr);
}

ThreadPool::~ThreadPool() {
  fork_registration_.reset();
  // Null is the word to end, published like any region.
  function_ = nullptr;
  for (Worker& worker : workers_) worker.calls.Publish(worker.calls.Load() + 1);
  for (const Worker& worker : workers_) pthread_join(worker.handle, nullptr);
}

// Thread 0 is the caller's: no hand-over at the start of a region.
RuntimeStatus ThreadPool::StartWorkers() {
  int error = 0;
  for (int thread = 1; thread < thread_count_ && error == 0; ++thread) {
    Worker& worker = workers_.emplace_back();
    worker.pool = this;
    worker.thread = thread;
    error = pthread_create(
        &worker.handle, nullptr,
        [](void* argument) -> void* {
          auto& self = *static_cast<Worker*>(argument);
          self.pool->WorkerLoop(self);
          return nullptr;
        },
        &worker);
    if (error != 0) {
      workers_.pop_back();
    } else if (!cpus_.empty()) {
      const cpu_set_t mask = MaskOf(cpus_[thread]);
      pthread_setaffinity_np(worker.handle, sizeof(mask), &mask);
    }
  }
  running_count_ = static_cast<int>(workers_.size()) + 1;
  team_is_all_ = false;
  if (error == 0) return RuntimeStatus();
  return ErrnoStatus("starting thread " + std::to_string(running_count_), error);
}

void ThreadPool::AfterForkInChild() {
  // The threads stayed in the parent, maybe in the middle of a region.
  workers_.clear();
  running_count_ = 0;
  barrier_.Reset();
  barrier_.SetSpin(barrier_spin_ns_);
  watch_.Reset();
  policy_ = TeamPolicy(thread_count_);
  if (foreign_.ends_at_fork) foreign_ = {};
  WatchThreads();
  run_mutex_.Reset();
}

void ThreadPool::CheckAllCome() { CHECK_EQ(running_count_, thread_count_); }

// Numbers the threads of the next region.
void ThreadPool::ChooseTeam(bool all_come) {
  if (policy_.out_count() > 0) policy_.BringBack(MonotonicNs(), region_);
  const bool is_all = all_come || policy_.out_count() == 0;
  if (is_all && team_is_all_) return;
  team_is_all_ = is_all;
  team_count_ = 1;
  for (Worker& worker : workers_) {
    const bool comes = is_all || !policy_.IsOut(worker.thread);
    worker.number = comes ? team_count_++ : 0;
    clockid_t clock = 0;
    if (comes && pthread_getcpuclockid(worker.handle, &clock) == 0) {
      watch_.SetThread(worker.number, clock);
    }
  }
  barrier_.SetThreadCount(team_count_);
}

RuntimeStatus ThreadPool::RunErased(RegionFunction function, const void* argument, bool all_come) {
  // One region at a time: several sessions may share a pool.
  const std::lock_guard<ForkSafeMutex> lock(run_mutex_);
  if (foreign_.parallel != nullptr) return RunOnForeignThreads(function, argument);
  // In a forked child for the first time. With fewer threads than were asked for a region is right
  // as well, and later.
  if (running_count_ == 0) static_cast<void>(StartWorkers());
  std::optional<ScopedPin> pin;
  if (!cpus_.empty()) pin.emplace(cpus_[0]);
  ChooseTeam(all_come);
  function_ = function;
  // Before Publish, which makes all of it visible to the workers.
  argument_ = argument;
  watch_.BeginRegion(++region_, all_come ? 0 : team_count_);
  watch_.SetThread(0, ThreadClock());
  region_thread = 0;
  watch_.Arrive(0, region_);
  for (Worker& worker : workers_) {
    if (worker.number != 0) worker.calls.Publish(worker.calls.Load() + 1);
  }
  {
    const ScopedKernelFloatMode float_mode;
    function(argument, 0, team_count_);
  }
  // The last barrier: nobody still uses `argument`, and each worker waits for the next call.
  barrier_.Wait();
  if (const RegionLoans& loans = watch_.EndRegion(); !loans.is_clear()) EndStalls(loans);
  return RuntimeStatus();
}

// All CPUs go back to whom they belong.
void ThreadPool::EndStalls(const RegionLoans& loans) {
  const int64_t now_ns = MonotonicNs();
  const auto thread_of = [this](int number) {
    for (const Worker& worker : workers_) {
      if (worker.number == number && number != 0) return worker.thread;
    }
    return 0;
  };
  // The caller cannot stay out. Instead its helper does, and the caller has the helper's CPU; where
  // threads are pinned, from now on.
  for (const RegionLoans::Loan& loan : loans.loans()) {
    const int helper = thread_of(loan.helper);
    if (thread_of(loan.victim) == 0 && !cpus_.empty()) {
      std::swap(cpus_[0], cpus_[helper]);
      watch_.MoveTo(loan.victim, MaskOf(cpus_[0]));
      watch_.MoveTo(loan.helper, MaskOf(cpus_[helper]));
    } else {
      watch_.MoveBack(loan);
    }
  }
  for (const RegionLoans::Loan& stall : loans.helpless()) {
    const int victim = thread_of(stall.victim);
    policy_.OnStall(victim == 0 ? thread_of(stall.helper) : victim, now_ns, region_);
  }
  team_is_all_ = false;
  barrier_.SetSpin(barrier_spin_ns_);
}

RuntimeStatus ThreadPool::RunOnForeignThreads(RegionFunction function, const void* argument) {
  struct Region {
    ThreadPool* pool;
    RegionFunction function;
    const void* argument;
    std::atomic<int32_t> came_count{0};    // Calls of work.
    std::atomic<int32_t> worker_count{0};  // What they said, or -1 where that cannot be.
  } region{.pool = this, .function = function, .argument = argument};
  barrier_.Reset();  // A region whose workers were not all there has left it in its middle.
  if (IsWatched()) spread_.BeginRegion();
  foreign_.parallel(
      foreign_.parallel_arg,
      [](void* work_arg, int32_t worker, int32_t workers) {
        auto& region = *static_cast<Region*>(work_arg);
        region.came_count.fetch_add(1, std::memory_order_relaxed);
        if (workers < 1 || workers > region.pool->thread_count_ || worker < 0 ||
            worker >= workers) {
          region.worker_count.store(-1, std::memory_order_relaxed);
          return;
        }
        int32_t nobody = 0;
        region.worker_count.compare_exchange_strong(nobody, workers, std::memory_order_relaxed);
        region_thread = worker;
        region.pool->barrier_.SetThreadCount(workers);
        if (region.pool->IsWatched()) region.pool->spread_.Arrive(worker, workers);
        const ScopedKernelFloatMode float_mode;
        region.function(region.argument, worker, workers);
      },
      &region, thread_count_);
  const int32_t came = region.came_count, said = region.worker_count;
  if (came >= 1 && came == said) return RuntimeStatus();
  return RuntimeStatus(RuntimeCode::kInvalidArgument,
                       "the caller's parallel() ran " + std::to_string(came) +
                           " workers that were told there are " + std::to_string(said) +
                           "; want as many as it says, 1 to " + std::to_string(thread_count_));
}

void ThreadPool::WorkerLoop(Worker& worker) {
  int64_t idle_spin_ns = idle_spin_ns_;
  for (uint32_t done = 0;; ++done) {
    // Counted by each worker for itself, once a call; a wrap around of 32 bits does no harm.
    worker.calls.WaitWhile(done, idle_spin_ns);
    if (function_ == nullptr) return;
    region_thread = worker.number;
    watch_.Arrive(worker.number, region_);
    {
      const ScopedKernelFloatMode float_mode;
      function_(argument_, worker.number, team_count_);
    }
    // On a CPU that two threads of this region share, the caller cannot return before this thread
    // sleeps.
    idle_spin_ns = watch_.SharesCpu(worker.number) ? 0 : idle_spin_ns_;
    barrier_.Wait();
  }
}

}  // namespace burnish
