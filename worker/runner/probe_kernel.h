// A kernel that never changes, timed around candidates: when it gets slower, the machine did.
#ifndef WORKER_RUNNER_PROBE_KERNEL_H_
#define WORKER_RUNNER_PROBE_KERNEL_H_

#include <cstdint>

#include "compiler/runtime/kernel_abi.h"

namespace burnish {

// Each worker: a chain of 10,000 dependent multiply-adds in registers (about 25 us at 3.2 GHz), no
// memory. Touches no buffer, always succeeds.
int32_t ProbeKernel(const BurnishKernelContext* context, int32_t worker, int32_t workers);

}  // namespace burnish

#endif  // WORKER_RUNNER_PROBE_KERNEL_H_
