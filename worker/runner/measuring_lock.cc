#include "worker/runner/measuring_lock.h"

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/measuring_files.h"

namespace burnish {

std::vector<std::string> MeasuringLockPaths(const std::string& folder, std::vector<int> cpus) {
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  std::vector<std::string> paths;
  for (const int cpu : cpus) {
    paths.push_back(MeasuringFile(folder, cpu));
  }
  return paths;
}

RuntimeStatus MeasuringLock::Wait() {
  // In the order of the paths, which is everybody's.
  for (const int descriptor : descriptors_) {
    while (flock(descriptor, LOCK_EX) != 0) {
      if (errno != EINTR) return ErrnoStatus("measuring lock", errno);
    }
  }
  return RuntimeStatus();
}

RuntimeOr<MeasuringLock> MeasuringLock::Acquire(const std::vector<std::string>& paths) {
  MeasuringLock lock({});
  for (const std::string& path : paths) {
    const int descriptor = OpenMeasuringFile(path);
    if (descriptor < 0) return ErrnoStatus("measuring lock " + path, errno);
    lock.descriptors_.push_back(descriptor);
  }
  RUNTIME_RETURN_IF_ERROR(lock.Wait());
  return lock;
}

MeasuringLock::~MeasuringLock() {
  for (const int descriptor : descriptors_) close(descriptor);
}

}  // namespace burnish
