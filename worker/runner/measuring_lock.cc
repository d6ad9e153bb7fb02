#include "worker/runner/measuring_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace burnish {

std::string DefaultMeasuringLockFolder() {
  return access("/run/lock", W_OK) == 0 ? "/run/lock" : "/tmp";
}

std::vector<std::string> MeasuringLockPaths(const std::string& folder, std::vector<int> cpus) {
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  std::vector<std::string> paths;
  for (const int cpu : cpus) {
    paths.push_back(folder + "/burnish-measure-cpu" + std::to_string(cpu) + ".lock");
  }
  return paths;
}

RuntimeOr<MeasuringLock> MeasuringLock::Open(const std::vector<std::string>& paths) {
  MeasuringLock lock;
  for (const std::string& path : paths) {
    // In a sticky folder the kernel may refuse O_CREAT for another user's file: without it first.
    int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0 && errno == ENOENT) {
      descriptor = open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    }
    if (descriptor < 0) return ErrnoStatus("measuring lock " + path, errno);
    lock.descriptors_.push_back(descriptor);
  }
  return lock;
}

RuntimeStatus MeasuringLock::Wait(Mode mode) {
  // In the order of the paths, which is everybody's.
  for (const int descriptor : descriptors_) {
    while (flock(descriptor, mode == Mode::kExclusive ? LOCK_EX : LOCK_SH) != 0) {
      if (errno != EINTR) return ErrnoStatus("measuring lock", errno);
    }
  }
  return RuntimeStatus();
}

RuntimeOr<MeasuringLock> MeasuringLock::Acquire(const std::vector<std::string>& paths, Mode mode) {
  RUNTIME_ASSIGN_OR_RETURN(MeasuringLock lock, Open(paths));
  RUNTIME_RETURN_IF_ERROR(lock.Wait(mode));
  return lock;
}

MeasuringLock::~MeasuringLock() {
  for (const int descriptor : descriptors_) close(descriptor);
}

}  // namespace burnish
