// Values of constant tensors: raw little-endian bytes, row-major, shared between graphs.
#ifndef COMPILER_GRAPH_CONSTANT_H_
#define COMPILER_GRAPH_CONSTANT_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/check.h"
#include "compiler/ir/interpreter.h"
#include "compiler/te/builder.h"

namespace burnish {

struct ConstantOrigin;  // constant_origin.h.
using OriginPtr = std::shared_ptr<const ConstantOrigin>;

// Immutable bytes. `owner` keeps the memory alive: a vector, a mapped file, a parsed message.
class ConstantData {
 public:
  ConstantData(std::shared_ptr<const void> owner, absl::Span<const uint8_t> bytes,
               OriginPtr origin = nullptr)
      : owner_(std::move(owner)), bytes_(bytes), origin_(std::move(origin)) {}
  absl::Span<const uint8_t> bytes() const { return bytes_; }
  // How the bytes were computed from parameters; null: from none that is tracked.
  const OriginPtr& origin() const { return origin_; }

 private:
  std::shared_ptr<const void> owner_;
  absl::Span<const uint8_t> bytes_;
  OriginPtr origin_;
};

using ConstantPtr = std::shared_ptr<const ConstantData>;

// Takes the vector over; no copy.
template <typename T>
ConstantPtr MakeConstant(std::vector<T> values) {
  static_assert(!std::is_same_v<T, bool>, "bools are bytes: use uint8_t");
  auto owner = std::make_shared<std::vector<T>>(std::move(values));
  const absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(owner->data()),
                                        owner->size() * sizeof(T));
  return std::make_shared<ConstantData>(std::move(owner), bytes);
}

// The elements as T. CHECKs that the byte count fits. Alignment is not required of the bytes: where
// they are unaligned for T (an external file may place them anywhere), use CopyAs.
template <typename T>
std::vector<T> CopyAs(const ConstantData& data) {
  CHECK_EQ(data.bytes().size() % sizeof(T), 0u);
  std::vector<T> values(data.bytes().size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), data.bytes().data(), data.bytes().size());
  return values;
}

// Elements of any type, converted: integers and bools exactly, floats truncated by ToInts.
std::vector<int64_t> ToInts(const TensorType& type, const ConstantData& data);
std::vector<double> ToDoubles(const TensorType& type, const ConstantData& data);
// Element 0 of a constant with at least one element.
double FirstAsDouble(const TensorType& type, const ConstantData& data);

// The inverse: `values` converted to type.dtype (f32 rounds; integers wrap; bool is != 0).
ConstantPtr FromDoubles(DType dtype, const std::vector<double>& values);
ConstantPtr FromInts(DType dtype, const std::vector<int64_t>& values);

// To and from the interpreter's values.
TensorValue ToTensorValue(const TensorType& type, const ConstantData& data);
ConstantPtr FromTensorValue(const TensorValue& value);

}  // namespace burnish

#endif  // COMPILER_GRAPH_CONSTANT_H_
