// Element types of tensors and expressions.
#ifndef COMPILER_IR_DTYPE_H_
#define COMPILER_IR_DTYPE_H_

#include <cstdint>
#include <limits>

#include "absl/strings/string_view.h"
#include "base/small_float.h"

namespace burnish {

// Stored in workload text by name (`f32`); the numbers are not stored anywhere.
enum class DType : uint8_t {
  kF32,
  kF64,
  kBf16,
  kF16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool
};

// How tensors lie in memory, and nothing else: values of these types are loaded, stored, selected
// and cast to and from f32 (round to nearest even), never computed with. Machines that multiply
// them sum in f32, and sums in 8 bits of fraction are worthless.
constexpr bool IsStorageFloat(DType type) { return type == DType::kBf16 || type == DType::kF16; }

constexpr bool IsFloat(DType type) {
  return type == DType::kF32 || type == DType::kF64 || IsStorageFloat(type);
}

// What elements of `type` are computed in.
constexpr DType ComputeType(DType type) { return IsStorageFloat(type) ? DType::kF32 : type; }

// `value` as a storage type holds it: by way of f32, as casts go. Other types: as it is.
constexpr double RoundToStorage(DType type, double value) {
  if (type == DType::kBf16) return Bfloat16(static_cast<float>(value));
  if (type == DType::kF16) return Float16(static_cast<float>(value));
  return value;
}

constexpr int64_t SizeBytes(DType type) {
  switch (type) {
    case DType::kF64:
    case DType::kI64:
    case DType::kU64:
      return 8;
    case DType::kF32:
    case DType::kI32:
    case DType::kU32:
      return 4;
    case DType::kBf16:
    case DType::kF16:
    case DType::kI16:
    case DType::kU16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

// Of an integer type; bool counts as one of a single bit.
constexpr bool IsUnsigned(DType type) {
  return type == DType::kU64 || type == DType::kU32 || type == DType::kU16 || type == DType::kU8 ||
         type == DType::kBool;
}

constexpr int IntBits(DType type) {
  return type == DType::kBool ? 1 : static_cast<int>(SizeBytes(type)) * 8;
}

// Integers are computed in int64_t. A u64 is its bits there: its upper half is negative, and as
// numbers of the slot its limits are those of i64.
struct IntLimits {
  int64_t least;
  int64_t greatest;
};
constexpr IntLimits LimitsOf(DType type) {
  const int64_t greatest = std::numeric_limits<int64_t>::max();
  if (SizeBytes(type) == 8) return {-1 - greatest, greatest};
  if (IsUnsigned(type)) return {0, (int64_t{1} << IntBits(type)) - 1};
  return {-1 - (greatest >> (64 - IntBits(type))), greatest >> (64 - IntBits(type))};
}

// What a variable of the type holds of `value`: the low bits; of bool, whether it is not 0.
constexpr int64_t WrapInt(DType type, int64_t value) {
  if (type == DType::kBool) return value != 0;
  if (SizeBytes(type) == 8) return value;
  const int unused = 64 - IntBits(type);
  const auto high = static_cast<int64_t>(static_cast<uint64_t>(value) << unused);
  return IsUnsigned(type) ? static_cast<int64_t>(static_cast<uint64_t>(high) >> unused)
                          : high >> unused;
}

// "f32", "f64", "bf16", "f16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "bool".
absl::string_view DTypeName(DType type);

// False when `name` is none of the above; `*type` is then untouched.
bool ParseDType(absl::string_view name, DType* type);

}  // namespace burnish

#endif  // COMPILER_IR_DTYPE_H_
