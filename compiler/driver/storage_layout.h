// Storage of the tensor program IR in the runtime's terms.
#ifndef COMPILER_DRIVER_STORAGE_LAYOUT_H_
#define COMPILER_DRIVER_STORAGE_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/runtime/bundle_manifest.h"
#include "compiler/runtime/tensor_info.h"
#include "compiler/te/host_operator.h"

namespace burnish {

TensorInfo TensorInfoOf(std::string name, DType dtype, const std::vector<int64_t>& shape,
                        const Storage& storage);

// Bytes from the start of the allocation to the last one that may be touched.
int64_t StorageBytesOf(DType dtype, const std::vector<int64_t>& shape, const Storage& storage);

// The bits of an element with this value, in the low bytes.
uint64_t ElementBits(DType dtype, double value);

// Gives `size_bytes` from `place` on the border's value; what lies inside is overwritten later.
Fill FillOf(const Place& place, int64_t size_bytes, DType dtype, double value);

}  // namespace burnish

#endif  // COMPILER_DRIVER_STORAGE_LAYOUT_H_
