#include "base/fma_peak.h"

namespace burnish {

// 12 chains: more than FMA ports times latency on every core since Haswell. Inline assembly, so
// that neither the compiler nor this file's flags have a say.
#define BURNISH_FMA_LOOP(reg)                                                                    \
  asm volatile(                                                                                  \
      "1:\n"                                                                                     \
      "vfmadd231ps %%" reg "15, %%" reg "14, %%" reg                                             \
      "0\n"                                                                                      \
      "vfmadd231ps %%" reg "15, %%" reg "14, %%" reg                                             \
      "1\n"                                                                                      \
      "vfmadd231ps %%" reg "15, %%" reg "14, %%" reg                                             \
      "2\n"                                                                                      \
      "vfmadd231ps %%" reg "15, %%" reg "14, %%" reg                                             \
      "3\n"                                                                                      \
      "vfmadd231ps %%" reg "15, %%" reg "14, %%" reg                                             \
      "4\n"                                                                                      \
      "vfmadd231ps %%" reg "15, %%" reg "14, %%" reg                                             \
      "5\n"                                                                                      \
      "vfmadd231ps %%" reg "15, %%" reg "14, %%" reg                                             \
      "6\n"                                                                                      \
      "vfmadd231ps %%" reg "15, %%" reg "14, %%" reg                                             \
      "7\n"                                                                                      \
      "vfmadd231ps %%" reg "15, %%" reg "14, %%" reg                                             \
      "8\n"                                                                                      \
      "vfmadd231ps %%" reg "15, %%" reg "14, %%" reg                                             \
      "9\n"                                                                                      \
      "vfmadd231ps %%" reg "15, %%" reg "14, %%" reg                                             \
      "10\n"                                                                                     \
      "vfmadd231ps %%" reg "15, %%" reg "14, %%" reg                                             \
      "11\n"                                                                                     \
      "dec %0\n"                                                                                 \
      "jnz 1b\n"                                                                                 \
      "vzeroupper\n"                                                                             \
      : "+r"(count)                                                                              \
      :                                                                                          \
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
        "xmm11", "xmm14", "xmm15", "cc")

int64_t RunFmaLoop(int lanes, int64_t iterations) {
  constexpr int kChains = 12;
  int64_t count = iterations;
  // The chains' values: zeros, so that no denormal or infinity slows or saturates them.
  asm volatile("xorps %%xmm14, %%xmm14\n xorps %%xmm15, %%xmm15" ::: "xmm14", "xmm15");
  if (lanes == 16) {
    BURNISH_FMA_LOOP("zmm");
  } else {
    BURNISH_FMA_LOOP("ymm");
  }
  return iterations * kChains * lanes * 2;
}

}  // namespace burnish
