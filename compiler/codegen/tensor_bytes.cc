#include "compiler/codegen/tensor_bytes.h"

#include <cstring>
#include <functional>

namespace burnish {
namespace {

void WriteElement(DType type, double number, int64_t integer, uint8_t* at) {
  const auto put = [&](auto value) { std::memcpy(at, &value, sizeof(value)); };
  switch (type) {
    case DType::kF32:
      return put(static_cast<float>(number));
    case DType::kF64:
      return put(number);
    case DType::kBf16:
      return put(Bfloat16(static_cast<float>(number)));
    case DType::kF16:
      return put(Float16(static_cast<float>(number)));
    // Of both kinds: the low bits are the same.
    case DType::kI64:
    case DType::kU64:
      return put(integer);
    case DType::kI32:
    case DType::kU32:
      return put(static_cast<int32_t>(integer));
    case DType::kI16:
    case DType::kU16:
      return put(static_cast<int16_t>(integer));
    case DType::kI8:
    case DType::kU8:
      return put(static_cast<int8_t>(integer));
    case DType::kBool:
      return put(static_cast<uint8_t>(integer != 0));
  }
}

template <typename T>
T Get(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

void ReadElement(DType type, const uint8_t* at, TensorValue& tensor) {
  switch (type) {
    case DType::kF32:
      return tensor.floats.push_back(static_cast<double>(Get<float>(at)));
    case DType::kF64:
      return tensor.floats.push_back(Get<double>(at));
    case DType::kBf16:
      return tensor.floats.push_back(static_cast<double>(Get<Bfloat16>(at)));
    case DType::kF16:
      return tensor.floats.push_back(static_cast<double>(Get<Float16>(at)));
    case DType::kI64:
    case DType::kU64:  // Its bits.
      return tensor.integers.push_back(Get<int64_t>(at));
    case DType::kI32:
      return tensor.integers.push_back(Get<int32_t>(at));
    case DType::kU32:
      return tensor.integers.push_back(Get<uint32_t>(at));
    case DType::kI16:
      return tensor.integers.push_back(Get<int16_t>(at));
    case DType::kU16:
      return tensor.integers.push_back(Get<uint16_t>(at));
    case DType::kI8:
      return tensor.integers.push_back(Get<int8_t>(at));
    case DType::kU8:
    case DType::kBool:
      return tensor.integers.push_back(Get<uint8_t>(at));
  }
}

// Calls visit(position in row-major order, byte offset in the allocation) for each element.
void ForEachElement(const Buffer& buffer, const std::function<void(int64_t, int64_t)>& visit) {
  const int64_t count = ElementCount(buffer.shape);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, offset = buffer.storage.offset;
    for (int d = static_cast<int>(buffer.shape.size()) - 1; d >= 0; --d) {
      offset += rest % buffer.shape[d] * buffer.storage.strides[d];
      rest /= buffer.shape[d];
    }
    visit(i, offset * SizeBytes(buffer.dtype));
  }
}

}  // namespace

void FillTensor(const Buffer& buffer, const TensorValue& value, uint8_t* bytes) {
  const int64_t elements = StorageElementCount(buffer);
  if (!buffer.storage.border.empty()) {
    for (int64_t i = 0; i < elements; ++i) {
      WriteElement(buffer.dtype, buffer.storage.border_value,
                   static_cast<int64_t>(buffer.storage.border_value),
                   bytes + i * SizeBytes(buffer.dtype));
    }
  }
  ForEachElement(buffer, [&](int64_t i, int64_t offset) {
    WriteElement(buffer.dtype, IsFloat(buffer.dtype) ? value.floats[i] : 0,
                 IsFloat(buffer.dtype) ? 0 : value.integers[i], bytes + offset);
  });
}

TensorValue ReadTensor(const Buffer& buffer, const uint8_t* bytes) {
  TensorValue value{.dtype = buffer.dtype, .shape = buffer.shape};
  ForEachElement(
      buffer, [&](int64_t, int64_t offset) { ReadElement(buffer.dtype, bytes + offset, value); });
  return value;
}

}  // namespace burnish
