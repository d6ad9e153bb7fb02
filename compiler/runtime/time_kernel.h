// Times one kernel on bound buffers: warm-up, then repeats of an inner loop.
#ifndef COMPILER_RUNTIME_TIME_KERNEL_H_
#define COMPILER_RUNTIME_TIME_KERNEL_H_

#include <cstdint>
#include <vector>

#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/kernel_manifest.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/thread_pool.h"

namespace burnish {

struct TimeKernelOptions {
  int64_t warmup_ns = 20'000'000;     // At least; AVX-512 wants 20 ms at its own width.
  int64_t repeat_min_ns = 1'000'000;  // The inner loop is sized to take at least this long.
  int repeat_count = 5;               // >= 1.
  int64_t stop_above_ns = 0;          // Ends after the first repeat above this latency; 0: never.
  int64_t inner_count_max = 1'000'000;
};

struct KernelTiming {
  // One per repeat, in order: the mean of the inner loop, barrier after each call included.
  std::vector<int64_t> latency_ns;
  int64_t inner_count = 0;   // Calls per repeat.
  int64_t warmup_count = 0;  // Calls before the first repeat.
  bool stopped_early = false;
};

// Runs `kernel` on all threads of the pool. `copies`: at least one context; buffers and scratch
// set, barrier and version are filled in here. With more than one, calls go through them in turn,
// so that buffers that together exceed the last-level cache are cold at each call. KernelError when
// a call returns a code.
RuntimeOr<KernelTiming> TimeKernel(ThreadPool& pool, BurnishKernel kernel,
                                   std::vector<BurnishKernelContext> copies,
                                   const TimeKernelOptions& options);

// One call on all threads, as a check run does. `context` as above.
RuntimeStatus RunKernelOnce(ThreadPool& pool, BurnishKernel kernel, BurnishKernelContext context);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_TIME_KERNEL_H_
