#include "base/measuring_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace burnish {

std::string DefaultMeasuringFolder() {
  return access("/run/lock", W_OK) == 0 ? "/run/lock" : "/tmp";
}

std::string MeasuringFile(const std::string& folder, int cpu) {
  return folder + "/burnish-measure-cpu" + std::to_string(cpu) + ".lock";
}

int OpenMeasuringFile(const std::string& path) {
  // In a sticky folder the kernel may refuse O_CREAT for another user's file: without it first.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor >= 0 || errno != ENOENT) return descriptor;
  return open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
}

void AnnounceMeasuring(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    // Opening is what a watcher sees of a file that it may only read, whoever made it.
    const int descriptor = OpenMeasuringFile(path);
    if (descriptor >= 0) close(descriptor);
  }
}

}  // namespace burnish
