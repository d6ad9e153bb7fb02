// Tensors as the bytes that a buffer's storage says, for runners of compiled code in tests.
#ifndef COMPILER_CODEGEN_TENSOR_BYTES_H_
#define COMPILER_CODEGEN_TENSOR_BYTES_H_

#include <cstdint>

#include "compiler/ir/interpreter.h"
#include "compiler/ir/program.h"

namespace burnish {

// `bytes`: the buffer's allocation, border included, which is filled, too.
void FillTensor(const Buffer& buffer, const TensorValue& value, uint8_t* bytes);
TensorValue ReadTensor(const Buffer& buffer, const uint8_t* bytes);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_TENSOR_BYTES_H_
