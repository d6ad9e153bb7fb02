#include "base/cpu_quota.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

namespace burnish {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// The first two words of a file; empty where it is not there.
std::pair<std::string, std::string> TwoWords(const std::string& path) {
  std::ifstream file(path);
  std::pair<std::string, std::string> words;
  file >> words.first >> words.second;
  return words;
}

// Both in microseconds. "max" and -1 are no limit, and so is what is no number.
double Ratio(const std::string& quota_us, const std::string& period_us) {
  std::istringstream quota_text(quota_us), period_text(period_us);
  double quota = 0, period = 0;
  if (!(quota_text >> quota) || !(period_text >> period) || quota <= 0 || period <= 0) return kNone;
  return quota / period;
}

double QuotaOfGroup(const std::string& folder, bool is_version_2) {
  if (is_version_2) {
    const auto [quota, period] = TwoWords(folder + "/cpu.max");
    return Ratio(quota, period);
  }
  return Ratio(TwoWords(folder + "/cpu.cfs_quota_us").first,
               TwoWords(folder + "/cpu.cfs_period_us").first);
}

// A limit of a group holds for all groups inside of it. In a container the path may be that of the
// machine while only the container's part is mounted: then the folders at its end are not there,
// and the mount itself is the group.
double LeastQuota(const std::string& mount, std::string path, bool is_version_2) {
  double least = QuotaOfGroup(mount, is_version_2);
  for (; path.size() > 1; path.resize(path.rfind('/'))) {
    least = std::min(least, QuotaOfGroup(mount + path, is_version_2));
    if (path.rfind('/') == std::string::npos) break;
  }
  return least;
}

}  // namespace

double CpuQuota(const std::string& root) {
  double least = kNone;
  std::ifstream groups(root + "/proc/self/cgroup");
  // "HIERARCHY:CONTROLLERS:PATH"; hierarchy 0 without controllers is version 2.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    const std::string mounts = root + "/sys/fs/cgroup";
    if (controllers == ",,") {
      // Where both versions are mounted, version 2 lies beside the controllers of version 1.
      for (const char* at : {"", "/unified"}) {
        least = std::min(least, LeastQuota(mounts + at, path, /*is_version_2=*/true));
      }
    } else if (controllers.find(",cpu,") != std::string::npos) {
      for (const char* at : {"/cpu", "/cpu,cpuacct"}) {
        least = std::min(least, LeastQuota(mounts + at, path, /*is_version_2=*/false));
      }
    }
  }
  return least;
}

}  // namespace burnish
