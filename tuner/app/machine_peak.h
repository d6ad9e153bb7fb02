// What this machine could do at most, measured now and in this process: the 100 % of a profile.
#ifndef TUNER_APP_MACHINE_PEAK_H_
#define TUNER_APP_MACHINE_PEAK_H_

#include <cstdint>

#include "compiler/runtime/thread_pool.h"

namespace burnish {

struct MachinePeak {
  double flops_per_second = 0;  // Float multiply-adds, all threads; 0: the CPU has none.
  double bytes_per_second = 0;  // Reading from memory, all threads.
};

// About 0.2 s on the pool's threads.
MachinePeak MeasureMachinePeak(ThreadPool& pool);

// Float multiply-adds a second of `threads` threads, in 5 ms; 0: the CPU has none, or no threads
// could be started.
double QuickFlopPeak(int threads);

// The least time that the work takes on such a machine, in nanoseconds, and which of the two
// binds it.
struct RooflineBound {
  double ns = 0;
  bool by_memory = false;
};
RooflineBound Roofline(const MachinePeak& peak, uint64_t flop_count, uint64_t moved_bytes);

}  // namespace burnish

#endif  // TUNER_APP_MACHINE_PEAK_H_
