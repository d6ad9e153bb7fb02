#include "compiler/runtime/tensor_info.h"

#include <string>
#include <utility>

#include "compiler/runtime/kernel_manifest.h"
#include "compiler/runtime/strided_copy.h"

namespace burnish {
namespace {

std::vector<int64_t> DenseStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

}  // namespace

int ElementBytes(ElementType type) {
  switch (type) {
    case ElementType::kI8:
    case ElementType::kU8:
    case ElementType::kBool:
      return 1;
    case ElementType::kF16:
    case ElementType::kBf16:
    case ElementType::kI16:
    case ElementType::kU16:
      return 2;
    case ElementType::kF32:
    case ElementType::kI32:
    case ElementType::kU32:
      return 4;
    case ElementType::kF64:
    case ElementType::kI64:
    case ElementType::kU64:
      return 8;
  }
  return 0;
}

const char* ElementTypeName(ElementType type) {
  static constexpr const char* kNames[] = {"?",   "f32", "f64", "f16", "bf16", "i8",  "u8",
                                           "i16", "u16", "i32", "u32", "i64",  "u64", "bool"};
  return ElementBytes(type) == 0 ? "?" : kNames[static_cast<int>(type)];
}

int64_t TensorInfo::element_count() const {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

bool TensorInfo::IsDense() const {
  int64_t want = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != want) return false;
    want *= shape[axis];
  }
  return offset_bytes == 0;
}

TensorInfo DenseTensor(std::string name, ElementType type, std::vector<int64_t> shape) {
  TensorInfo tensor;
  tensor.name = std::move(name);
  tensor.type = type;
  tensor.strides = DenseStrides(shape);
  tensor.shape = std::move(shape);
  return tensor;
}

RuntimeStatus CheckTensor(const TensorInfo& tensor, uint64_t storage_bytes) {
  const auto invalid = [&tensor](const std::string& text) {
    return RuntimeStatus(RuntimeCode::kInvalidArgument, "tensor \"" + tensor.name + "\": " + text);
  };
  const uint64_t element_bytes = ElementBytes(tensor.type);
  if (element_bytes == 0) return invalid("unknown element type");
  if (tensor.shape.size() > kRankMax || tensor.strides.size() != tensor.shape.size()) {
    return invalid("got rank " + std::to_string(tensor.shape.size()) + " and " +
                   std::to_string(tensor.strides.size()) + " strides");
  }
  uint64_t element_count = 1, last_element = 0;
  bool is_empty = false;
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    if (tensor.shape[axis] < 0 || tensor.strides[axis] < 0) return invalid("negative extent");
    const auto extent = static_cast<uint64_t>(tensor.shape[axis]);
    if (extent == 0) {
      is_empty = true;
      continue;
    }
    // A zero stride repeats elements, so that the count is bounded by itself, not by the storage.
    uint64_t reach = 0;
    if (__builtin_mul_overflow(element_count, extent, &element_count) ||
        element_count > kMemoryBytesMax ||
        __builtin_mul_overflow(extent - 1, static_cast<uint64_t>(tensor.strides[axis]), &reach) ||
        __builtin_add_overflow(last_element, reach, &last_element) ||
        last_element > kMemoryBytesMax) {
      return invalid("too large");
    }
  }
  const uint64_t used_bytes = is_empty ? 0 : (last_element + 1) * element_bytes;
  if (tensor.offset_bytes > storage_bytes || used_bytes > storage_bytes - tensor.offset_bytes) {
    return invalid("it needs " + std::to_string(used_bytes) + " bytes at offset " +
                   std::to_string(tensor.offset_bytes) + " of " + std::to_string(storage_bytes));
  }
  return RuntimeStatus();
}

void CopyIntoStorage(const TensorInfo& tensor, const void* dense, uint8_t* storage) {
  CopyStrided(ElementBytes(tensor.type), tensor.shape, static_cast<const uint8_t*>(dense),
              DenseStrides(tensor.shape).data(), storage + tensor.offset_bytes,
              tensor.strides.data());
}

void CopyFromStorage(const TensorInfo& tensor, const uint8_t* storage, void* dense) {
  CopyStrided(ElementBytes(tensor.type), tensor.shape, storage + tensor.offset_bytes,
              tensor.strides.data(), static_cast<uint8_t*>(dense),
              DenseStrides(tensor.shape).data());
}

}  // namespace burnish
