// What else happened on the machine while something was timed. Free of Abseil.
#ifndef WORKER_RUNNER_MACHINE_COUNTERS_H_
#define WORKER_RUNNER_MACHINE_COUNTERS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace burnish {

// Counted since some start: the difference of two says what happened between them. What the system
// does not tell is 0.
struct MachineCounters {
  int64_t steal_ns = 0;                  // Of the given CPUs, by the hypervisor; in ticks of 10 ms.
  int64_t throttle_count = 0;            // Thermal events of their cores.
  int64_t involuntary_switch_count = 0;  // Of this process, all threads.
  int64_t page_fault_count = 0;          // Of this process, minor and major.
};

// The system's files, opened once: whoever reads counters around foreign code can open nothing any
// more by then.
class MachineFiles {
 public:
  // `cpus`: empty for all.
  explicit MachineFiles(const std::vector<int>& cpus);
  MachineFiles(MachineFiles&&) = delete;
  ~MachineFiles();

  MachineCounters Read() const;
  // Of this process's memory, now.
  int64_t HugePageBytes() const;

 private:
  const std::vector<int> cpus_;
  int stat_ = -1, memory_ = -1;  // -1: cannot be read.
  std::vector<int> throttles_;
};

// The parts, for tests: the text of /proc/stat, in ticks; of /proc/self/smaps_rollup.
int64_t StealTicks(const std::string& proc_stat, const std::vector<int>& cpus);
int64_t HugePageBytesOf(const std::string& smaps_rollup);

}  // namespace burnish

#endif  // WORKER_RUNNER_MACHINE_COUNTERS_H_
