// The IR's element types beside the numbers that a device's units take.
#ifndef COMPILER_IR_NUMBER_TYPE_H_
#define COMPILER_IR_NUMBER_TYPE_H_

#include "compiler/ir/dtype.h"
#include "compiler/target/instruction.h"

namespace burnish {

// Whether both are one type. The rooms have an enum each, since the IR stands above the target's;
// names are common.
inline bool IsOf(NumberType type, DType dtype) { return NumberTypeName(type) == DTypeName(dtype); }

}  // namespace burnish

#endif  // COMPILER_IR_NUMBER_TYPE_H_
