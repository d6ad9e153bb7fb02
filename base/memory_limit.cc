#include "base/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "base/control_groups.h"

namespace burnish {
namespace {

double LimitOfGroup(const std::string& folder, bool is_version_2) {
  std::istringstream text(
      TwoWords(folder + (is_version_2 ? "/memory.max" : "/memory.limit_in_bytes")).first);
  double bytes = 0;
  // "max" is no limit. Version 1 says so by a number that no machine has.
  return text >> bytes && bytes > 0 ? bytes : std::numeric_limits<double>::infinity();
}

}  // namespace

double MemoryLimit(const std::string& root) { return LeastOfGroups(root, "memory", LimitOfGroup); }

int64_t UsableMemoryBytes() {
  const double machine = static_cast<double>(std::max(sysconf(_SC_PHYS_PAGES), 1L)) *
                         static_cast<double>(std::max(sysconf(_SC_PAGESIZE), 1L));
  return static_cast<int64_t>(std::min(machine, MemoryLimit()));
}

}  // namespace burnish
