// Copies of tensors between two strided memories.
#ifndef COMPILER_RUNTIME_STRIDED_COPY_H_
#define COMPILER_RUNTIME_STRIDED_COPY_H_

#include <cstdint>
#include <span>

namespace burnish {

// Strides in elements, one per axis of `shape`, any sign; the pointers are at element 0 of each.
// `element_bytes`: 1, 2, 4 or 8. Elements of the two sides must not share memory.
void CopyStrided(int element_bytes, std::span<const int64_t> shape, const uint8_t* from,
                 const int64_t* from_strides, uint8_t* to, const int64_t* to_strides);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_STRIDED_COPY_H_
