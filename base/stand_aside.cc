#include "base/stand_aside.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/measuring_watch.h"
#include "base/unique_fd.h"
#include "base/usable_cpus.h"

namespace burnish {
namespace {

// Of the process, as are its CPUs.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> all, free;  // Guarded by mutex.
  // 0: nobody watches. Else another number whenever `free` is another.
  std::atomic<uint64_t> generation = 0;
};

Shared& shared() {
  static Shared* const instance = new Shared();
  return *instance;
}

void Publish(std::vector<int> free, uint64_t generation) {
  const std::lock_guard<std::mutex> lock(shared().mutex);
  shared().free = std::move(free);
  shared().generation = generation;
  shared().changed.notify_all();
}

void Watch(MeasuringWatch& watch, int stop) {
  for (uint64_t generation = 2;; ++generation) {
    pollfd fds[2] = {{.fd = stop, .events = POLLIN}, {.fd = watch.descriptor(), .events = POLLIN}};
    (void)poll(fds, 2, watch.timeout_ms());
    if (fds[0].revents != 0) return;
    if (watch.Look()) Publish(watch.free(), generation);
  }
}

}  // namespace

void RunStandingAside(const std::string& folder, absl::FunctionRef<void()> function) {
  CHECK_EQ(shared().generation.load(), uint64_t{0});
  const std::vector<int> all = UsableCpus();
  const std::unique_ptr<MeasuringWatch> watch = MeasuringWatch::Start(folder, all);
  const UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  shared().all = all;
  Publish(watch->free(), 1);
  std::thread watcher([&] { Watch(*watch, stop.get()); });
  // A thread of its own: the CPUs that it may use are taken from it, and others are to keep theirs.
  std::thread([&] { function(); }).join();
  CHECK_EQ(eventfd_write(stop.get(), 1), 0);
  watcher.join();
  Publish(all, 0);
}

void StandAsidePoint() {
  thread_local uint64_t seen = 0;
  Shared& state = shared();
  if (state.generation.load(std::memory_order_relaxed) == seen) return;
  std::unique_lock<std::mutex> lock(state.mutex);
  state.changed.wait_for(lock, kStandStillMax,
                         [&] { return !state.free.empty() || state.generation == 0; });
  // A CPU that has gone away meanwhile is no error: this is for other people's timings.
  (void)MoveToCpus(0, state.free.empty() ? state.all : state.free);
  seen = state.generation;
}

}  // namespace burnish
