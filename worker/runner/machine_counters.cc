#include "worker/runner/machine_counters.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>

namespace burnish {
namespace {

int Open(const std::string& path) { return open(path.c_str(), O_RDONLY | O_CLOEXEC); }

// From its beginning: these files say what is now each time that they are read there.
std::string Slurp(int descriptor) {
  std::string text;
  char part[4096];
  while (true) {
    const ssize_t count = pread(descriptor, part, sizeof(part), static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(part, static_cast<size_t>(count));
  }
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

MachineFiles::MachineFiles(const std::vector<int>& cpus)
    : cpus_(cpus), stat_(Open("/proc/stat")), memory_(Open("/proc/self/smaps_rollup")) {
  for (const int cpu : cpus) {
    throttles_.push_back(Open("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                              "/thermal_throttle/core_throttle_count"));
  }
}

MachineFiles::~MachineFiles() {
  throttles_.insert(throttles_.end(), {stat_, memory_});
  for (const int descriptor : throttles_) {
    if (descriptor >= 0) close(descriptor);
  }
}

int64_t MachineFiles::HugePageBytes() const { return HugePageBytesOf(Slurp(memory_)); }

MachineCounters MachineFiles::Read() const {
  MachineCounters counters;
  const int64_t tick_ns = 1'000'000'000 / std::max<int64_t>(sysconf(_SC_CLK_TCK), 1);
  counters.steal_ns = StealTicks(Slurp(stat_), cpus_) * tick_ns;
  for (const int descriptor : throttles_) {
    counters.throttle_count += std::atoll(Slurp(descriptor).c_str());
  }
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  counters.involuntary_switch_count = usage.ru_nivcsw;
  counters.page_fault_count = usage.ru_minflt + usage.ru_majflt;
  return counters;
}

}  // namespace burnish
