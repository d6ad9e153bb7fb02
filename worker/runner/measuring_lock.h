// The lock that a timed section holds: one file per logical CPU of this host, locked with flock, so
// that two sections exclude each other exactly where they share a CPU, and a holder that dies
// leaves nothing locked. Who keeps CPUs busy (builders, search) may take the same files shared.
// Free of Abseil.
#ifndef WORKER_RUNNER_MEASURING_LOCK_H_
#define WORKER_RUNNER_MEASURING_LOCK_H_

#include <string>
#include <utility>
#include <vector>

#include "compiler/runtime/runtime_status.h"

namespace burnish {

// Of these CPUs, ascending: everybody locks in this order. `folder`: the same for all processes of
// the host that measure.
std::vector<std::string> MeasuringLockPaths(const std::string& folder, std::vector<int> cpus);

// Holds the locks for as long as it lives.
class MeasuringLock {
 public:
  // Takes over files of MeasuringLockPaths that are open, in their order.
  explicit MeasuringLock(std::vector<int> descriptors) : descriptors_(std::move(descriptors)) {}
  // Until all are free.
  RuntimeStatus Wait();
  // Makes and opens the files, and waits. Errors: they cannot be made or opened.
  static RuntimeOr<MeasuringLock> Acquire(const std::vector<std::string>& paths);
  MeasuringLock(MeasuringLock&& other) noexcept : descriptors_(std::move(other.descriptors_)) {
    other.descriptors_.clear();
  }
  MeasuringLock& operator=(MeasuringLock&&) = delete;
  ~MeasuringLock();

 private:
  std::vector<int> descriptors_;
};

}  // namespace burnish

#endif  // WORKER_RUNNER_MEASURING_LOCK_H_
