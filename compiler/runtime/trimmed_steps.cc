#include "compiler/runtime/trimmed_steps.h"

namespace burnish {

void TrimmedSteps::Trim(std::span<const int64_t> extents) {
  for (const LiveTable& table : manifest_.live) {
    FillLiveTable(table, extents, {memory_.Address(table.place), table.size_bytes});
  }
  if (manifest_.trims.empty()) return;
  trimmed_.resize(manifest_.steps.size());
  for (const StepTrim& trim : manifest_.trims) {
    Trimmed& step = trimmed_[trim.step];
    step.iterations = trim.iterations;
    step.needed = NeededIterations(trim, extents);
    step.is_less = step.needed.size() < trim.iterations;
  }
}

// Of a kernel with one parallel loop, worker p of as many as there are parts does part p: so single
// ones can be chosen, with each thread's own scratch.
int32_t TrimmedSteps::Run(size_t step, const PlannedStep& planned, int worker,
                          int worker_count) const {
  if (trimmed_.empty() || !trimmed_[step].is_less) {
    return planned.kernel(&planned.context, worker, worker_count);
  }
  const Trimmed& trimmed = trimmed_[step];
  BurnishKernelContext context = planned.context;
  // Workers that are none do not wait for each other.
  context.barrier = [](void*) {};
  const size_t count = trimmed.needed.size();
  const size_t first = count * static_cast<size_t>(worker) / static_cast<size_t>(worker_count);
  const size_t end = count * static_cast<size_t>(worker + 1) / static_cast<size_t>(worker_count);
  std::span<const uint32_t> needed(trimmed.needed.data() + first, end - first);
  int32_t code = BURNISH_KERNEL_OK;
  while (!needed.empty()) {
    const TrimCall call = FirstCall(needed, trimmed.iterations);
    needed = needed.subspan(call.count);
    if (planned.context.scratch != nullptr) {
      // The kernel adds its worker's share: that of this thread comes out.
      const auto shift = static_cast<uint64_t>(int64_t{worker} - int64_t{call.worker}) *
                         planned.context.scratch_bytes_per_worker;
      context.scratch = reinterpret_cast<uint8_t*>(
          reinterpret_cast<uintptr_t>(planned.context.scratch) + static_cast<uintptr_t>(shift));
    }
    const int32_t got = planned.kernel(&context, static_cast<int32_t>(call.worker),
                                       static_cast<int32_t>(call.workers));
    if (code == BURNISH_KERNEL_OK) code = got;
  }
  return code;
}

}  // namespace burnish
