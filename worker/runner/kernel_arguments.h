// How a kernel's buffers and scratch memory are laid out, wherever the runner calls one.
#ifndef WORKER_RUNNER_KERNEL_ARGUMENTS_H_
#define WORKER_RUNNER_KERNEL_ARGUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/kernel_manifest.h"
#include "worker/runner/runner_wire.h"

namespace burnish {

inline uint64_t RoundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// Bytes from one worker's scratch memory to the next one's.
inline uint64_t ScratchStride(const FunctionInfo& function) {
  return RoundUp(function.scratch_bytes_per_worker, BURNISH_SCRATCH_ALIGNMENT);
}

// Index of the n-th parameter with `role`; their number: there are fewer.
inline size_t NthOf(const std::vector<TensorSpec>& parameters, ArgumentRole role, size_t n) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].role == role && n-- == 0) return i;
  }
  return parameters.size();
}

}  // namespace burnish

#endif  // WORKER_RUNNER_KERNEL_ARGUMENTS_H_
