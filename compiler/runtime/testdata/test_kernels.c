/* Kernels for the runtime's tests, written by hand as generated ones are: no libc, no globals. */
#include "compiler/runtime/kernel_abi.h"

#define COUNT 1000

/* This worker's share [*begin, *end) of `count` iterations. */
static void Share(int32_t count, int32_t worker, int32_t workers, int32_t* begin, int32_t* end) {
  *begin = (int32_t)((int64_t)count * worker / workers);
  *end = (int32_t)((int64_t)count * (worker + 1) / workers);
}

/* z[i] = x[i] + y[i]; f32[1000] each. z may be x. */
int32_t burnish_kernel_0(const BurnishKernelContext* context, int32_t worker, int32_t workers) {
  const float* x = context->buffers[0];
  const float* y = context->buffers[1];
  float* z = context->buffers[2];
  int32_t begin, end;
  Share(COUNT, worker, workers, &begin, &end);
  for (int32_t i = begin; i < end; ++i) z[i] = x[i] + y[i];
  return BURNISH_KERNEL_OK;
}

/* z[i] = x[999 - i], in two phases over shared scratch (f32[1000]), through the worker's own
 * scratch (f32[1]): wrong unless the barrier holds all workers back. */
int32_t burnish_kernel_1(const BurnishKernelContext* context, int32_t worker, int32_t workers) {
  const float* x = context->buffers[0];
  float* z = context->buffers[1];
  float* shared = (float*)context->shared_scratch;
  float* own = (float*)(context->scratch + worker * context->scratch_bytes_per_worker);
  int32_t begin, end;
  Share(COUNT, worker, workers, &begin, &end);
  for (int32_t i = begin; i < end; ++i) {
    *own = x[i];
    shared[COUNT - 1 - i] = *own;
  }
  context->barrier(context->barrier_arg);
  for (int32_t i = begin; i < end; ++i) z[i] = shared[i];
  context->barrier(context->barrier_arg);
  for (int32_t i = begin; i < end; ++i) shared[i] = -1.0f; /* The next call starts from nothing. */
  return BURNISH_KERNEL_OK;
}

/* z[k] = x[index[k]], k < 4; x f32[1000], index i32[4]. */
int32_t burnish_kernel_2(const BurnishKernelContext* context, int32_t worker, int32_t workers) {
  const float* x = context->buffers[0];
  const int32_t* index = context->buffers[1];
  float* z = context->buffers[2];
  int32_t begin, end, code = BURNISH_KERNEL_OK;
  Share(4, worker, workers, &begin, &end);
  for (int32_t k = begin; k < end; ++k) {
    int32_t i = index[k];
    if (i < 0 || i >= COUNT) {
      code = BURNISH_KERNEL_INDEX_OUT_OF_BOUNDS;
      i = 0;
    }
    z[k] = x[i];
  }
  return code;
}

/* z[i] = x[i] * w[999 - i]: its pack function has turned the weights round. */
int32_t burnish_kernel_3(const BurnishKernelContext* context, int32_t worker, int32_t workers) {
  const float* x = context->buffers[0];
  const float* packed = context->buffers[1];
  float* z = context->buffers[2];
  int32_t begin, end;
  Share(COUNT, worker, workers, &begin, &end);
  for (int32_t i = begin; i < end; ++i) z[i] = x[i] * packed[COUNT - 1 - i];
  return BURNISH_KERNEL_OK;
}

int32_t burnish_pack_3(const BurnishKernelContext* context, int32_t worker, int32_t workers) {
  const float* weights = context->buffers[0];
  float* packed = context->buffers[1];
  int32_t begin, end;
  Share(COUNT, worker, workers, &begin, &end);
  for (int32_t i = begin; i < end; ++i) packed[COUNT - 1 - i] = weights[i];
  return BURNISH_KERNEL_OK;
}

/* z[0] = sum of the 25 elements of x, border included. */
int32_t burnish_kernel_4(const BurnishKernelContext* context, int32_t worker, int32_t workers) {
  const float* x = context->buffers[0];
  float* z = context->buffers[1];
  (void)workers;
  if (worker != 0) return BURNISH_KERNEL_OK;
  float sum = 0.0f;
  for (int32_t i = 0; i < 25; ++i) sum += x[i];
  z[0] = sum;
  return BURNISH_KERNEL_OK;
}

/* Writes to address 0 when x[0] is 1, and one element behind z (f32[1]) when it is 2. */
int32_t burnish_kernel_5(const BurnishKernelContext* context, int32_t worker, int32_t workers) {
  const float* x = context->buffers[0];
  volatile float* z = context->buffers[1];
  (void)workers;
  if (worker != 0) return BURNISH_KERNEL_OK;
  if (x[0] == 1.0f) *(volatile float*)(uintptr_t)8 = 1.0f;
  if (x[0] == 2.0f) z[1] = 1.0f;
  z[0] = x[0];
  return BURNISH_KERNEL_OK;
}

/* z[worker] = x[0] * 0.5 for up to 16 workers: 0 when x[0] is denormal and DAZ or FTZ is set. */
int32_t burnish_kernel_6(const BurnishKernelContext* context, int32_t worker, int32_t workers) {
  const volatile float* x = context->buffers[0];
  float* z = context->buffers[1];
  (void)workers;
  if (worker < 16) z[worker] = x[0] * 0.5f;
  return BURNISH_KERNEL_OK;
}
