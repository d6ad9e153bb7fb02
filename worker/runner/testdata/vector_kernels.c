/* z[i] = x[i] * w[i] + x[0], f32[1000]: right, and wrong in as many ways as a candidate can be. One
 * of them is built by -DKERNEL=name. Written as generated code is: no libc, no globals. */
#include "compiler/runtime/kernel_abi.h"

#define COUNT 1000
#define RIGHT 0
#define REVERSED 1 /* Right, in another order. */
#define PACKED 2   /* Right, with constants that a pack function has turned round. */
#define CRASHES 3  /* Writes to address 8. */
#define HANGS 4
#define LEAVES 5      /* Writes far behind z. */
#define OVERRUNS 6    /* Writes one element behind z. */
#define WRONG 7       /* Wrong in all elements. */
#define ALMOST 8      /* Wrong in one element of a thousand. */
#define UNWRITTEN 9   /* Does not write one element. */
#define DATA_ERROR 10 /* Says that an index was out of bounds. */
#define CHANGES 11    /* Right only as long as its scratch memory is fresh. */
#define WRITES_INPUT 12
#define SLOW 13         /* Right, fifty times over. */
#define EXITS 14        /* Ends the process with code 3. */
#define CRASHES_LATE 15 /* From the third call on. */
/* Right, if the kernel lets them. */
#define OPENS 16
#define CONNECTS 17
#define EXECS 18
#define FORKS 19
#define KILLS 20
#define TRACES 21
#define GROWS 22
#define MAPS 23
#define EXTENDS 24 /* Writes behind the end of the outputs' file. */
#define SEALS 25   /* Right, if the shared arena cannot be written. */
#define ROUNDS 26  /* A hundredth off in all elements. */

/* A system call of x86-64. */
#define Call(number, a, b, c) Call6(number, a, b, c, 0, 0, 0)
__attribute__((unused)) static long Call6(long number, long a, long b, long c, long d, long e,
                                          long f) {
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(number)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return number;
}

static void Compute(const BurnishKernelContext* context, int32_t worker, int32_t workers) {
  const float* x = context->buffers[0];
  const float* w = context->buffers[1];
  float* z = context->buffers[2];
  int32_t begin = (int32_t)((int64_t)COUNT * worker / workers);
  int32_t end = (int32_t)((int64_t)COUNT * (worker + 1) / workers);
#if KERNEL == REVERSED
  for (int32_t i = end - 1; i >= begin; --i) z[i] = x[i] * w[i] + x[0];
#elif KERNEL == PACKED
  for (int32_t i = begin; i < end; ++i) z[i] = x[i] * w[COUNT - 1 - i] + x[0];
#elif KERNEL == UNWRITTEN
  for (int32_t i = begin; i < end; ++i) {
    if (i != 500) z[i] = x[i] * w[i] + x[0];
  }
#elif KERNEL == WRONG
  for (int32_t i = begin; i < end; ++i) z[i] = x[i] * w[i];
#else
  for (int32_t i = begin; i < end; ++i) z[i] = x[i] * w[i] + x[0];
#endif
}

int32_t burnish_kernel_0(const BurnishKernelContext* context, int32_t worker, int32_t workers) {
  volatile float* z = context->buffers[2];
  Compute(context, worker, workers);
  context->barrier(context->barrier_arg);
  if (worker != 0) return BURNISH_KERNEL_OK;
  (void)z;
#if KERNEL == CRASHES
  *(volatile float*)(uintptr_t)8 = 1.0f;
#elif KERNEL == HANGS
  while (z[0] == z[0]) {
  }
#elif KERNEL == LEAVES
  z[COUNT + 1024] = 1.0f;
#elif KERNEL == OVERRUNS
  z[COUNT] = 1.0f;
#elif KERNEL == ALMOST
  z[501] += 0.5f;
#elif KERNEL == ROUNDS
  for (int i = 0; i < COUNT; ++i) z[i] *= 1.01f;
#elif KERNEL == DATA_ERROR
  return BURNISH_KERNEL_INDEX_OUT_OF_BOUNDS;
#elif KERNEL == CHANGES || KERNEL == CRASHES_LATE
  volatile uint32_t* calls = (volatile uint32_t*)context->shared_scratch;
  *calls += 1; /* From -1 in the guarded memory of the check, from 0 in that of the timing. */
#if KERNEL == CHANGES
  if (*calls != 0) z[3] += 1.0f;
#else
  if (*calls == 2) *(volatile float*)(uintptr_t)8 = 1.0f;
#endif
#elif KERNEL == WRITES_INPUT
  ((volatile float*)context->buffers[0])[0] = 0.0f;
#elif KERNEL == SLOW
  for (int32_t again = 0; again < 50; ++again) {
    Compute(context, 0, 1);
    z[0] = z[0]; /* Volatile: the loop stays. */
  }
#elif KERNEL == EXITS
  Call(231, 3, 0, 0);
#elif KERNEL == OPENS
  Call(2, (long)"/etc/hostname", 0, 0);
#elif KERNEL == CONNECTS
  Call(41, 2, 1, 0); /* socket(AF_INET, SOCK_STREAM): what a connection begins with. */
#elif KERNEL == EXECS
  Call(59, (long)"/bin/true", 0, 0);
#elif KERNEL == FORKS
  Call(57, 0, 0, 0);
#elif KERNEL == KILLS
  Call(62, Call(110, 0, 0, 0), 0, 0); /* kill(getppid(), 0): whether it might. */
#elif KERNEL == TRACES
  Call(101, 0, 0, 0);
#elif KERNEL == GROWS
  Call(77, 1, 1 << 20, 0); /* ftruncate of another descriptor than the outputs'. */
#elif KERNEL == MAPS
  /* What is allowed: memory, the clock, a number of its own. */
  if (Call6(9, 0, 4096, 3, 0x22, -1, 0) < 0 || Call(39, 0, 0, 0) <= 0) z[0] = 0.0f;
#elif KERNEL == EXTENDS
  Call(8, 3, 0, 2); /* lseek to its end. */
  Call(1, 3, (long)z, 4);
#elif KERNEL == SEALS
  Call(8, 4, 0, 0); /* lseek to its beginning. */
  if (Call6(9, 0, 4096, 3, 1, 4, 0) >= 0 || Call(1, 4, (long)z, 4) >= 0) z[0] = 0.0f;
#endif
  return BURNISH_KERNEL_OK;
}

#if KERNEL == PACKED
int32_t burnish_pack_0(const BurnishKernelContext* context, int32_t worker, int32_t workers) {
  const float* w = context->buffers[0];
  float* packed = context->buffers[1];
  for (int32_t i = worker; i < COUNT; i += workers) packed[COUNT - 1 - i] = w[i];
  return BURNISH_KERNEL_OK;
}
#endif
