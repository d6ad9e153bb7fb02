// All that descends from this process: stopped and continued together, and what it takes of the
// CPUs. Free of Abseil.
#ifndef BASE_PROCESS_TREE_H_
#define BASE_PROCESS_TREE_H_

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace burnish {

// Of a process that is the reaper of its orphans (PR_SET_CHILD_SUBREAPER), so that whoever descends
// from it is found below it. Each child here leads a process group of its own, so that no signal to
// a group reaches all.
class ProcessTree {
 public:
  // Whether this kernel says who a process's children are (CONFIG_PROC_CHILDREN).
  static bool IsSupported();

  // Looks who is there: parents before their children, this process not among them.
  void Scan();
  const std::vector<pid_t>& processes() const { return processes_; }

  // Also those that are started meanwhile. Who is stopped already stays so after Continue: a
  // builder stops its compiling child while somebody measures, and continues it itself.
  void Stop();
  void Continue();
  // Ends everybody, and waits for that.
  void Kill();

  // What this process, all that are there, and all that were waited for have taken; in steps of the
  // kernel's tick (10 ms). Never goes back.
  int64_t CpuNs();

 private:
  std::vector<pid_t> processes_;
  std::vector<pid_t> stopped_;  // By the last Stop.
  int64_t cpu_ns_ = 0;
};

}  // namespace burnish

#endif  // BASE_PROCESS_TREE_H_
