#include "worker/runner/probe_kernel.h"

namespace burnish {

int32_t ProbeKernel(const BurnishKernelContext* context, int32_t worker, int32_t workers) {
  float value = 0.5f;
  for (int i = 0; i < 10'000; ++i) {
    value = value * 0.999f + 0.001f;
    // Keeps the chain: the compiler must assume that the value is another one now.
    asm volatile("" : "+x"(value));
  }
  return value > 2.0f ? BURNISH_KERNEL_UNSUPPORTED_CONTEXT : BURNISH_KERNEL_OK;
}

}  // namespace burnish
