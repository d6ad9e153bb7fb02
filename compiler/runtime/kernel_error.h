// Return codes of kernels as errors.
#ifndef COMPILER_RUNTIME_KERNEL_ERROR_H_
#define COMPILER_RUNTIME_KERNEL_ERROR_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "compiler/runtime/runtime_status.h"

namespace burnish {

// `code`: not BURNISH_KERNEL_OK. `where`: "step 3 \"conv\"". kOutOfRange for an index out of
// bounds, kInvalidArgument for other faults of the data, kInternal for what only a wrong kernel
// returns.
RuntimeStatus KernelError(const std::string& where, int32_t code);

// The earliest failed step of a run, collected by all workers. Workers compare after the barrier of
// a step, so that all of them see the same answer for that step, even while a faster one already
// records a failure of the next.
class FirstFailure {
 public:
  void Record(uint32_t step, int32_t code) {
    const uint64_t failure = uint64_t{step} << 32 | static_cast<uint32_t>(code);
    uint64_t known = failure_.load(std::memory_order_relaxed);
    while (failure < known && !failure_.compare_exchange_weak(known, failure)) {
    }
  }
  bool IsAtOrBefore(uint32_t step) const {
    return failure_.load(std::memory_order_relaxed) >> 32 <= step;
  }
  bool any() const { return failure_.load(std::memory_order_relaxed) != kNone; }
  uint32_t step() const { return failure_.load(std::memory_order_relaxed) >> 32; }
  int32_t code() const {
    return static_cast<int32_t>(failure_.load(std::memory_order_relaxed) & 0xffffffff);
  }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  std::atomic<uint64_t> failure_{kNone};
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_KERNEL_ERROR_H_
