// The rate of fused multiply-adds that this core reaches, measured beside a kernel: what "percent
// of peak" is a percentage of. Free of Abseil.
#ifndef BASE_FMA_PEAK_H_
#define BASE_FMA_PEAK_H_

#include <cstdint>

namespace burnish {

// Runs `iterations` of a loop of independent FMA instructions on registers of 8 (AVX2) or 16
// (AVX-512) floats, and returns how many floating-point operations that was. The CPU must have the
// instructions.
int64_t RunFmaLoop(int lanes, int64_t iterations);

}  // namespace burnish

#endif  // BASE_FMA_PEAK_H_
