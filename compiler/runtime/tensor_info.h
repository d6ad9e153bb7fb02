// A tensor inside of an allocation: name, element type, shape, and where each element lies.
#ifndef COMPILER_RUNTIME_TENSOR_INFO_H_
#define COMPILER_RUNTIME_TENSOR_INFO_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/runtime/runtime_status.h"

namespace burnish {

// Stored, and equal to the C API's BURNISH_DTYPE_*: never reused.
enum class ElementType : uint8_t {
  kF32 = 1,
  kF64 = 2,
  kF16 = 3,
  kBf16 = 4,
  kI8 = 5,
  kU8 = 6,
  kI16 = 7,
  kU16 = 8,
  kI32 = 9,
  kU32 = 10,
  kI64 = 11,
  kU64 = 12,
  kBool = 13,  // One byte, 0 or 1.
};

// 0 for a value that is none of the above.
int ElementBytes(ElementType type);
const char* ElementTypeName(ElementType type);  // "f32", ...; "?" likewise.

constexpr bool IsFloat(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kF64 || type == ElementType::kF16 ||
         type == ElementType::kBf16;
}

inline constexpr size_t kRankMax = 16;

struct TensorInfo {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<int64_t> shape;    // Empty: a scalar. Extents >= 0.
  std::vector<int64_t> strides;  // In elements, >= 0, one per axis.
  uint64_t offset_bytes = 0;     // Of element 0 from the base of the allocation.

  int64_t element_count() const;
  // Of the dense row-major copy that the API takes and gives.
  uint64_t dense_bytes() const { return element_count() * ElementBytes(type); }
  // Stored as that copy is: such a tensor can be bound without copying.
  bool IsDense() const;

  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

// Row-major strides, offset 0.
TensorInfo DenseTensor(std::string name, ElementType type, std::vector<int64_t> shape);

// kInvalidArgument unless each element lies inside of `storage_bytes` and no product overflows.
RuntimeStatus CheckTensor(const TensorInfo& tensor, uint64_t storage_bytes);

// Between dense row-major bytes (dense_bytes() of them) and a storage. `tensor` was checked.
void CopyIntoStorage(const TensorInfo& tensor, const void* dense, uint8_t* storage);
void CopyFromStorage(const TensorInfo& tensor, const uint8_t* storage, void* dense);

}  // namespace burnish

#endif  // COMPILER_RUNTIME_TENSOR_INFO_H_
