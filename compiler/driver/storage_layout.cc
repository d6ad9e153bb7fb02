#include "compiler/driver/storage_layout.h"

#include <cstring>
#include <utility>

namespace burnish {
namespace {

template <typename T>
uint64_t BitsOf(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

}  // namespace

TensorInfo TensorInfoOf(std::string name, DType dtype, const std::vector<int64_t>& shape,
                        const Storage& storage) {
  return {.name = std::move(name),
          .type = ElementTypeOf(dtype),
          .shape = shape,
          .strides = storage.strides,
          .offset_bytes = static_cast<uint64_t>(storage.offset * SizeBytes(dtype))};
}

int64_t StorageBytesOf(DType dtype, const std::vector<int64_t>& shape, const Storage& storage) {
  return StorageElementCount({.dtype = dtype, .shape = shape, .storage = storage}) *
         SizeBytes(dtype);
}

uint64_t ElementBits(DType dtype, double value) {
  switch (dtype) {
    case DType::kF32:
      return BitsOf(static_cast<float>(value));
    case DType::kF64:
      return BitsOf(value);
    case DType::kBf16:
      return Bfloat16(static_cast<float>(value)).bits;
    case DType::kF16:
      return Float16(static_cast<float>(value)).bits;
    case DType::kBool:
      return value != 0;
    default: {
      // The low bytes, of whatever integer type; x86 stores them first.
      const auto bits = static_cast<uint64_t>(WrapInt(dtype, static_cast<int64_t>(value)));
      return SizeBytes(dtype) == 8 ? bits : bits & ((uint64_t{1} << IntBits(dtype)) - 1);
    }
  }
}

Fill FillOf(const Place& place, int64_t size_bytes, DType dtype, double value) {
  return {.place = place,
          .size_bytes = static_cast<uint64_t>(size_bytes),
          .element_bytes = static_cast<uint8_t>(SizeBytes(dtype)),
          .element_bits = ElementBits(dtype, value)};
}

}  // namespace burnish
