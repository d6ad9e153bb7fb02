#include "base/control_groups.h"

#include <algorithm>
#include <fstream>
#include <limits>

namespace burnish {
namespace {

// In a container the path may be that of the machine while only the container's part is mounted:
// then the folders at its end are not there, and the mount itself is the group.
double LeastOfPath(const std::string& mount, std::string path, bool is_version_2,
                   const ReadGroup& read_group) {
  double least = read_group(mount, is_version_2);
  for (; path.size() > 1; path.resize(path.rfind('/'))) {
    least = std::min(least, read_group(mount + path, is_version_2));
    if (path.rfind('/') == std::string::npos) break;
  }
  return least;
}

}  // namespace

double LeastOfGroups(const std::string& root, const std::string& controller,
                     const ReadGroup& read_group) {
  double least = std::numeric_limits<double>::infinity();
  std::ifstream groups(root + "/proc/self/cgroup");
  // "HIERARCHY:CONTROLLERS:PATH"; hierarchy 0 without controllers is version 2.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    const std::string mounts = root + "/sys/fs/cgroup";
    if (controllers.empty()) {
      // Where both versions are mounted, version 2 lies beside the controllers of version 1.
      for (const char* at : {"", "/unified"}) {
        least = std::min(least, LeastOfPath(mounts + at, path, /*is_version_2=*/true, read_group));
      }
    } else if (("," + controllers + ",").find("," + controller + ",") != std::string::npos) {
      // Mounted by its name, or together with others by all of theirs.
      for (const std::string& at : {controller, controllers}) {
        least = std::min(least,
                         LeastOfPath(mounts + "/" + at, path, /*is_version_2=*/false, read_group));
      }
    }
  }
  return least;
}

std::pair<std::string, std::string> TwoWords(const std::string& path) {
  std::ifstream file(path);
  std::pair<std::string, std::string> words;
  file >> words.first >> words.second;
  return words;
}

}  // namespace burnish
