/* The binary interface between generated kernels and the runtime (ABI version 1).
 *
 * A kernel is a C function in an ELF shared object. Artifacts and bundles export
 *   burnish_kernel_<n>   n = 0, 1, 2 ...: computes one task (a step of a model);
 *   burnish_pack_<n>     optional: packs the constants of kernel <n>, run once at build time;
 * both of type BurnishKernel. Everything else about them (buffer sizes, scratch sizes, CPU
 * features) travels outside the ELF, in the manifest (artifact.h, bundle_manifest.h).
 *
 * The ELF has no undefined symbols (no libm, no memcpy or memset of libc), no TLS, no writable
 * globals, no constructors and no DT_NEEDED: it depends on nothing but its arguments.
 */
#ifndef COMPILER_RUNTIME_KERNEL_ABI_H_
#define COMPILER_RUNTIME_KERNEL_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when the layout or the meaning of BurnishKernelContext changes. */
#define BURNISH_KERNEL_ABI_VERSION 1

/* Exported name = prefix + decimal index without leading zeros. */
#define BURNISH_KERNEL_PREFIX "burnish_kernel_"
#define BURNISH_PACK_PREFIX "burnish_pack_"

/* Alignment in bytes of `scratch`, of each worker's part of it, and of `shared_scratch`. */
#define BURNISH_SCRATCH_ALIGNMENT 64

/* The same object is passed to all workers of a call. Offsets are for 64-bit targets. */
typedef struct BurnishKernelContext {
  uint32_t abi_version;  /* offset 0: BURNISH_KERNEL_ABI_VERSION of the caller. */
  uint32_t buffer_count; /* offset 4: number of entries of `buffers`. */
  /* offset 8: base addresses, in the order of the kernel's parameters in the manifest. Each is
   * aligned to that parameter's `alignment_bytes` of the manifest; buffers may overlap only where
   * the manifest's in-place list says so. */
  void* const* buffers;
  /* offset 16: per-worker scratch. Worker w owns the bytes
   *   [scratch + w * scratch_bytes_per_worker, scratch + (w + 1) * scratch_bytes_per_worker).
   * Contents are undefined on entry. NULL when the manifest asks for none. */
  uint8_t* scratch;
  /* offset 24: at least what the manifest asks for, a multiple of BURNISH_SCRATCH_ALIGNMENT. It may
   * be more: a kernel must use this field as its stride, not a constant of its own. */
  uint64_t scratch_bytes_per_worker;
  /* offset 32: one area for all workers, for temporaries that live across phases; undefined on
   * entry, at least the manifest's `shared_scratch_bytes`. NULL when the manifest asks for none. */
  uint8_t* shared_scratch;
  /* offset 40: waits until all `workers` of this call have called it as often as the caller has.
   * Writes before it are visible to all workers after it. Never NULL, also with one worker. */
  void (*barrier)(void* barrier_arg);
  void* barrier_arg;    /* offset 48: the argument of `barrier`. */
} BurnishKernelContext; /* 56 bytes */

/* Called once by each of `workers` threads with worker = 0 .. workers - 1, workers >= 1. It must be
 * right for any `workers`, also more than there are iterations to share out, and must give the same
 * result as with one worker wherever the order of a reduction does not depend on `workers`.
 *
 * FTZ and DAZ are set by the caller, rounding is to nearest.
 *
 * Returns BURNISH_KERNEL_OK or the code of a data error that this worker met. All workers must call
 * `barrier` equally often even when one of them meets an error: the code is kept and returned at
 * the end (an index out of bounds is replaced by 0 and the work goes on). After an error the
 * outputs are unspecified, but nothing outside of the buffers was read or written. The caller puts
 * a barrier after each call, so a kernel does not end with one. */
typedef int32_t (*BurnishKernel)(const BurnishKernelContext* context, int32_t worker,
                                 int32_t workers);

/* Return codes; stored in measurements: never reused. Negative codes belong to the runtime. */
enum {
  BURNISH_KERNEL_OK = 0,
  BURNISH_KERNEL_INDEX_OUT_OF_BOUNDS = 1, /* An index input (i32, i64) outside of its axis. */
  BURNISH_KERNEL_DIVISION_BY_ZERO = 2,    /* Integer division or modulo by zero. */
  BURNISH_KERNEL_UNSUPPORTED_CONTEXT = 3  /* abi_version or buffer_count is not what it was
                                             compiled for. Checking is optional. */
};

#ifdef __cplusplus
} /* extern "C" */

#include <cstddef>
static_assert(offsetof(BurnishKernelContext, buffer_count) == 4);
static_assert(offsetof(BurnishKernelContext, buffers) == 8);
static_assert(offsetof(BurnishKernelContext, scratch) == 16);
static_assert(offsetof(BurnishKernelContext, scratch_bytes_per_worker) == 24);
static_assert(offsetof(BurnishKernelContext, shared_scratch) == 32);
static_assert(offsetof(BurnishKernelContext, barrier) == 40);
static_assert(offsetof(BurnishKernelContext, barrier_arg) == 48);
static_assert(sizeof(BurnishKernelContext) == 56, "the layout is part of the ABI");
#endif

#endif /* COMPILER_RUNTIME_KERNEL_ABI_H_ */
