// Flush-to-zero and denormals-are-zero for the current thread, for as long as the object lives.
// Kernels are measured and run under it; the caller's own mode comes back afterwards.
#ifndef COMPILER_RUNTIME_FLOAT_MODE_H_
#define COMPILER_RUNTIME_FLOAT_MODE_H_

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace burnish {

class ScopedKernelFloatMode {
 public:
  ScopedKernelFloatMode() : saved_(Get()) { Set(kKernelMode); }
  ScopedKernelFloatMode(const ScopedKernelFloatMode&) = delete;
  ScopedKernelFloatMode& operator=(const ScopedKernelFloatMode&) = delete;
  ~ScopedKernelFloatMode() { Set(saved_); }

 private:
#if defined(__x86_64__)
  // MXCSR: all exceptions masked (0x1f80), FTZ (bit 15), DAZ (bit 6), round to nearest.
  static constexpr uint64_t kKernelMode = 0x1f80 | 0x8000 | 0x0040;
  static uint64_t Get() { return _mm_getcsr(); }
  static void Set(uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kKernelMode = uint64_t{1} << 24;  // FPCR.FZ, round to nearest.
  static uint64_t Get() {
    uint64_t mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void Set(uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
#endif

  const uint64_t saved_;
};

}  // namespace burnish

#endif  // COMPILER_RUNTIME_FLOAT_MODE_H_
