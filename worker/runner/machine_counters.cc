#include "worker/runner/machine_counters.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace burnish {
namespace {

std::string Slurp(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

int64_t StealTicks(const std::string& proc_stat, const std::vector<int>& cpus) {
  std::istringstream lines(proc_stat);
  std::string line;
  int64_t ticks = 0;
  while (std::getline(lines, line)) {
    if (line.compare(0, 3, "cpu") != 0) continue;
    const bool is_total = line.size() > 3 && line[3] == ' ';
    if (is_total != cpus.empty()) continue;
    const int cpu = std::atoi(line.c_str() + 3);
    if (!is_total && std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) continue;
    // cpuN user nice system idle iowait irq softirq steal ..
    std::istringstream words(line);
    std::string name;
    int64_t value = 0;
    words >> name;
    for (int i = 0; i < 8; ++i) words >> value;
    if (words) ticks += value;
  }
  return ticks;
}

int64_t HugePageBytesOf(const std::string& smaps_rollup) {
  std::istringstream lines(smaps_rollup);
  std::string line;
  int64_t bytes = 0;
  while (std::getline(lines, line)) {
    for (const std::string name : {"AnonHugePages:", "ShmemPmdMapped:"}) {
      if (line.compare(0, name.size(), name) == 0) {
        bytes += std::atoll(line.c_str() + name.size()) * 1024;
      }
    }
  }
  return bytes;
}

int64_t HugePageBytes() { return HugePageBytesOf(Slurp("/proc/self/smaps_rollup")); }

MachineCounters ReadMachineCounters(const std::vector<int>& cpus) {
  MachineCounters counters;
  const int64_t tick_ns = 1'000'000'000 / std::max<int64_t>(sysconf(_SC_CLK_TCK), 1);
  counters.steal_ns = StealTicks(Slurp("/proc/stat"), cpus) * tick_ns;
  for (const int cpu : cpus) {
    const std::string count = Slurp("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                                    "/thermal_throttle/core_throttle_count");
    counters.throttle_count += std::atoll(count.c_str());
  }
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  counters.involuntary_switch_count = usage.ru_nivcsw;
  counters.page_fault_count = usage.ru_minflt + usage.ru_majflt;
  return counters;
}

}  // namespace burnish
