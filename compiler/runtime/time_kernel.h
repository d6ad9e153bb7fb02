// Times kernels on bound buffers: one alone (warm-up, then repeats of an inner loop), or one after
// another as a model runs them.
#ifndef COMPILER_RUNTIME_TIME_KERNEL_H_
#define COMPILER_RUNTIME_TIME_KERNEL_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/kernel_manifest.h"
#include "compiler/runtime/runtime_status.h"
#include "compiler/runtime/thread_pool.h"

namespace burnish {

struct TimeKernelOptions {
  // At least, and 5 ms where calls are above `stop_above_ns`; AVX-512 wants 20 ms at its own width.
  int64_t warmup_ns = 20'000'000;
  int64_t repeat_min_ns = 1'000'000;  // The inner loop is sized to take at least this long.
  int repeat_count = 5;               // >= 1.
  int64_t stop_above_ns = 0;          // Ends when IsHopeless; 0: never.
  int64_t inner_count_max = 1'000'000;
  // A mark: a repeat between whose ends it has changed met other work, and is made again. Empty:
  // nobody knows of other work.
  std::function<uint64_t()> mark = nullptr;
};

// Of repeats that met other work, so many more in all than were asked for; then one counts whatever
// it met. A repeat that is longer than any gap in that work is met each time.
inline constexpr int kRepeatsAgainMax = 40;

// Whether so far even the fastest of two or more repeats is above the limit, or a single one more
// than four times: one that is above it may have met somebody else's work, and a second look at
// what is that much slower costs more than it can bring. `latency_ns`: at least one.
bool IsHopeless(std::span<const int64_t> latency_ns, int64_t stop_above_ns);

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

// A kernel and what it is called with; barrier and version are filled in by whom it is given to.
struct KernelCall {
  BurnishKernel kernel = nullptr;
  BurnishKernelContext context = {};
};

// Runs the calls one after another on all threads of the pool, in one parallel region with a
// barrier behind each, as a session runs the steps of a model. call_ns[i]: from the barrier before
// call i to the one behind it, with one reading of the clock (about 25 ns). Sizes are equal.
// KernelError as above.
RuntimeStatus TimeCallsInTurn(ThreadPool& pool, std::span<KernelCall* const> calls,
                              std::span<int64_t> call_ns);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_TIME_KERNEL_H_
