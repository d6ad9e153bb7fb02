/* Kernels for the tests of the Python package, as generated ones are: no libc, no globals. */
#include "compiler/runtime/kernel_abi.h"

/* Buffers: x, one uint64_t n, y. Copies n bytes from x to y. */
int32_t burnish_kernel_0(const BurnishKernelContext* context, int32_t worker, int32_t workers) {
  const uint8_t* x = context->buffers[0];
  const uint64_t* n = context->buffers[1];
  uint8_t* y = context->buffers[2];
  (void)workers;
  for (uint64_t i = 0; worker == 0 && i < *n; ++i) y[i] = x[i];
  return BURNISH_KERNEL_OK;
}

/* The same with n the polls before it gives up: waits until the float x[0] is not 0, which can only
 * happen when x is the caller's own memory and another thread of the caller's runs meanwhile. */
int32_t burnish_kernel_1(const BurnishKernelContext* context, int32_t worker, int32_t workers) {
  const volatile float* x = context->buffers[0];
  const uint64_t* n = context->buffers[1];
  float* y = context->buffers[2];
  (void)workers;
  if (worker != 0) return BURNISH_KERNEL_OK;
  for (uint64_t i = 0; x[0] == 0.0f && i < *n; ++i) {
  }
  y[0] = x[0];
  return BURNISH_KERNEL_OK;
}
