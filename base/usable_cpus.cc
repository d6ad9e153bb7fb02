#include "base/usable_cpus.h"

#include <sched.h>

#include <algorithm>
#include <cstddef>

#include "base/cpu_quota.h"

namespace burnish {

std::vector<int> UsableCpus() {
  cpu_set_t mask;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
  }
  return cpus;
}

int WholeCpus(int cpus, double quota) {
  if (quota < cpus) cpus = static_cast<int>(quota);
  return std::max(1, cpus);
}

int UsableCpuCount() { return WholeCpus(static_cast<int>(UsableCpus().size()), CpuQuota()); }

bool MoveToCpus(pid_t thread, const std::vector<int>& cpus) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  // CPU_SET leaves out what a mask has no room for.
  for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &mask);
  return sched_setaffinity(thread, sizeof(mask), &mask) == 0;
}

}  // namespace burnish
