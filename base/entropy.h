// Bits that nobody can foretell, from the kernel: for names that must differ between processes.
// What must replay uses base/rng.h.
#ifndef BASE_ENTROPY_H_
#define BASE_ENTROPY_H_

#include <cstdint>
#include <string>

namespace burnish {

std::string EntropyBytes(int count);
// 1 to 2^61 - 1: leaves a counter that starts there room for ever.
int64_t EntropyNumber();

}  // namespace burnish

#endif  // BASE_ENTROPY_H_
