#include "base/usable_cpus.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "base/cpu_quota.h"

namespace burnish {

namespace {

std::vector<int> CpusOf(pid_t thread) {
  cpu_set_t mask;
  std::vector<int> cpus;
  if (sched_getaffinity(thread, sizeof(mask), &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

std::vector<int> UsableCpus() { return CpusOf(0); }

std::vector<int> ProcessCpus() {
  const std::vector<int> own = CpusOf(0), first = CpusOf(getpid());
  std::vector<int> cpus;
  std::set_union(own.begin(), own.end(), first.begin(), first.end(), std::back_inserter(cpus));
  return cpus;
}

std::string FormatCpuList(const std::vector<int>& cpus) {
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cpus[i]);
    if (last > i) text += "-" + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
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
