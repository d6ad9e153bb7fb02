// Element types of tensors and expressions.
#ifndef COMPILER_IR_DTYPE_H_
#define COMPILER_IR_DTYPE_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace burnish {

// Stored in workload text by name (`f32`); the numbers are not stored anywhere.
enum class DType : uint8_t { kF32, kF64, kI64, kI32, kI8, kU8, kBool };

constexpr bool IsFloat(DType type) { return type == DType::kF32 || type == DType::kF64; }

constexpr int64_t SizeBytes(DType type) {
  switch (type) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

// "f32", "f64", "i64", "i32", "i8", "u8", "bool".
absl::string_view DTypeName(DType type);

// False when `name` is none of the above; `*type` is then untouched.
bool ParseDType(absl::string_view name, DType* type);

}  // namespace burnish

#endif  // COMPILER_IR_DTYPE_H_
