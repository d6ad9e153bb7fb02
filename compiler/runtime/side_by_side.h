// Threads for sessions that run at the same time.
#ifndef COMPILER_RUNTIME_SIDE_BY_SIDE_H_
#define COMPILER_RUNTIME_SIDE_BY_SIDE_H_

#include <vector>

#include "compiler/runtime/thread_pool.h"

namespace burnish {

struct SideBySide {
  int pool_count = 1;
  int thread_count = 0;   // Of each. 0: as many as the CPUs give each of them, one at least.
  std::vector<int> cpus;  // Of the process.
  bool may_pin = true;  // False where others share these CPUs, so that the scheduler has to choose.
};

// `options` for each pool. Where there are enough CPUs, each pool has some for itself, in the order
// of `cpus`: neighbours share caches. Where there are not, threads are not pinned, and spin no
// longer, because what a thread waits for may wait for its CPU.
std::vector<ThreadPoolOptions> ShareOut(const SideBySide& wanted, const ThreadPoolOptions& options);

// For this process; its CPUs are shared where its control groups give it less time than it has
// CPUs.
SideBySide SideBySideHere(int pool_count, int thread_count);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_SIDE_BY_SIDE_H_
