#include "compiler/runtime/time_kernel.h"

#include <algorithm>
#include <string>

#include "compiler/runtime/kernel_error.h"
#include "compiler/runtime/spin_wait.h"

namespace burnish {
namespace {

// After so much the code and the data of a kernel are where they stay, though not yet the clock.
constexpr int64_t kRoughWarmUpNs = 5'000'000;

// Calls the kernel `call_count` times, starting at copies[first % n]. Returns the nanoseconds from
// the moment when all threads had arrived.
RuntimeOr<int64_t> TimeCalls(ThreadPool& pool, BurnishKernel kernel,
                             const std::vector<BurnishKernelContext>& copies, int64_t first,
                             int64_t call_count) {
  FirstFailure failure;
  int64_t elapsed_ns = 0;
  pool.Run([&](int worker) {
    SpinBarrier& barrier = pool.barrier();
    size_t copy = static_cast<size_t>(first) % copies.size();
    int32_t code = BURNISH_KERNEL_OK;
    barrier.Wait();
    // Behind the barrier: waking the workers takes microseconds, and is none of the kernel's time.
    const int64_t start_ns = MonotonicNs();
    for (int64_t call = 0; call < call_count; ++call) {
      const int32_t returned = kernel(&copies[copy], worker, pool.thread_count());
      // Going on in spite of it: a worker that left the loop would leave the others at a barrier
      // for ever.
      if (returned != BURNISH_KERNEL_OK) code = returned;
      if (++copy == copies.size()) copy = 0;
      barrier.Wait();
    }
    if (worker == 0) elapsed_ns = MonotonicNs() - start_ns;
    if (code != BURNISH_KERNEL_OK) failure.Record(0, code);
  });
  if (failure.any()) return KernelError("timed kernel", failure.code());
  return elapsed_ns;
}

void SetCallbacks(ThreadPool& pool, BurnishKernelContext& context) {
  context.abi_version = BURNISH_KERNEL_ABI_VERSION;
  context.barrier = &SpinBarrier::WaitCallback;
  context.barrier_arg = &pool.barrier();
}

}  // namespace

bool IsHopeless(std::span<const int64_t> latency_ns, int64_t stop_above_ns) {
  const int64_t fastest_ns = *std::min_element(latency_ns.begin(), latency_ns.end());
  // The fastest: other programs make a repeat slower, never faster. Until measuring method 2 a
  // single repeat above the limit ended a candidate that had met somebody else's work. Four is a
  // guess.
  return fastest_ns > (latency_ns.size() == 1 ? 4 : 1) * stop_above_ns;
}

RuntimeOr<KernelTiming> TimeKernel(ThreadPool& pool, BurnishKernel kernel,
                                   std::vector<BurnishKernelContext> copies,
                                   const TimeKernelOptions& options) {
  if (copies.empty() || options.repeat_count < 1 || options.inner_count_max < 1) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument,
                         "got no buffers, no repeats or an empty inner loop");
  }
  for (BurnishKernelContext& copy : copies) SetCallbacks(pool, copy);

  KernelTiming timing;
  int64_t calls_done = 0, batch = 1, warm_ns = 0;
  double call_ns = 0;
  do {  // Doubling, so that the clock and the start of a region cost nothing.
    RUNTIME_ASSIGN_OR_RETURN(const int64_t ns, TimeCalls(pool, kernel, copies, calls_done, batch));
    calls_done += batch;
    warm_ns += ns;
    // Of the last batch alone: the first calls met cold caches and a slow clock.
    call_ns = std::max(1.0, static_cast<double>(ns) / batch);
    // Not past the end: doubling alone warmed up for half as long again on average.
    const auto rest_ns = static_cast<double>(options.warmup_ns - warm_ns);
    const auto rest = static_cast<int64_t>(std::max(0.0, rest_ns) / call_ns) + 1;
    batch = std::min({2 * batch, rest, options.inner_count_max});
    // What is that slow is told apart with cold clocks, too. Where other work made it slow, the
    // repeats show that, and are all made.
    if (warm_ns >= kRoughWarmUpNs && options.stop_above_ns > 0 &&
        call_ns > static_cast<double>(options.stop_above_ns)) {
      break;
    }
  } while (warm_ns < options.warmup_ns);
  timing.warmup_count = calls_done;

  timing.inner_count = std::clamp(static_cast<int64_t>(options.repeat_min_ns / call_ns) + 1,
                                  int64_t{1}, options.inner_count_max);
  int again = 0;
  for (int repeat = 0; repeat < options.repeat_count; ++repeat) {
    const uint64_t mark = options.mark ? options.mark() : 0;
    RUNTIME_ASSIGN_OR_RETURN(int64_t ns,
                             TimeCalls(pool, kernel, copies, calls_done, timing.inner_count));
    calls_done += timing.inner_count;
    if (options.mark && options.mark() != mark && again < kRepeatsAgainMax) {
      ++again;
      --repeat;
      continue;
    }
    // The warm-up may have been slower than what follows: then the first repeats are too short.
    if (ns < options.repeat_min_ns && timing.inner_count < options.inner_count_max &&
        // Only before the first repeat: all repeats have the same number of calls, or their spread
        // would mix two sizes.
        timing.latency_ns.empty()) {
      const double scale = static_cast<double>(options.repeat_min_ns) / std::max<int64_t>(ns, 1);
      timing.inner_count = static_cast<int64_t>(std::min<double>(
          timing.inner_count * scale + 1, static_cast<double>(options.inner_count_max)));
      --repeat;
      continue;
    }
    timing.latency_ns.push_back((ns + timing.inner_count / 2) / timing.inner_count);
    if (options.stop_above_ns > 0 && IsHopeless(timing.latency_ns, options.stop_above_ns)) {
      timing.stopped_early = repeat + 1 < options.repeat_count;
      break;
    }
  }
  return timing;
}

RuntimeStatus TimeCallsInTurn(ThreadPool& pool, std::span<KernelCall* const> calls,
                              std::span<int64_t> call_ns) {
  for (KernelCall* call : calls) SetCallbacks(pool, call->context);
  FirstFailure failure;
  pool.Run([&](int worker) {
    SpinBarrier& barrier = pool.barrier();
    barrier.Wait();
    int64_t before_ns = worker == 0 ? MonotonicNs() : 0;
    for (size_t i = 0; i < calls.size(); ++i) {
      const int32_t code = calls[i]->kernel(&calls[i]->context, worker, pool.thread_count());
      if (code != BURNISH_KERNEL_OK) failure.Record(static_cast<uint32_t>(i), code);
      barrier.Wait();
      if (worker != 0) continue;
      const int64_t now_ns = MonotonicNs();
      call_ns[i] = now_ns - before_ns;
      before_ns = now_ns;
    }
  });
  if (!failure.any()) return RuntimeStatus();
  return KernelError("timed step " + std::to_string(failure.step()), failure.code());
}

RuntimeStatus RunKernelOnce(ThreadPool& pool, BurnishKernel kernel, BurnishKernelContext context) {
  SetCallbacks(pool, context);
  return TimeCalls(pool, kernel, {context}, 0, 1).status();
}

}  // namespace burnish
