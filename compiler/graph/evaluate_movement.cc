#include <cstring>
#include <utility>

#include "base/check.h"
#include "compiler/graph/constant_origin.h"
#include "compiler/graph/evaluate_internal.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;
using Result = std::optional<std::vector<ConstantPtr>>;

Result One(ConstantPtr constant) { return std::vector<ConstantPtr>{std::move(constant)}; }

// The innermost dimension is a plain loop; the outer ones count like an odometer.
template <typename T>
void CopyElements(const T* input, T* output, const Shape& shape, const Shape& strides,
                  int64_t offset) {
  const int rank = static_cast<int>(shape.size());
  const int64_t inner = rank == 0 ? 1 : shape[rank - 1];
  const int64_t inner_stride = rank == 0 ? 0 : strides[rank - 1];
  int64_t outer = 1;
  for (int d = 0; d + 1 < rank; ++d) outer *= shape[d];
  Shape index(rank, 0);
  int64_t position = offset;
  for (int64_t o = 0; o < outer; ++o) {
    const T* from = input + position;
    for (int64_t i = 0; i < inner; ++i) *output++ = from[i * inner_stride];
    for (int d = rank - 2; d >= 0; --d) {
      position += strides[d];
      if (++index[d] < shape[d]) break;
      position -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

int64_t Product(const Shape& shape, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t d = begin; d < end; ++d) product *= shape[d];
  return product;
}

Result Concat(absl::Span<const TypedConstant> inputs, const TensorType& output, int64_t axis) {
  const int64_t outer = Product(output.shape, 0, axis);
  const int64_t inner_bytes =
      Product(output.shape, axis + 1, output.shape.size()) * SizeBytes(output.dtype);
  std::vector<uint8_t> bytes(outer * output.shape[axis] * inner_bytes);
  int64_t column = 0;
  for (const TypedConstant& input : inputs) {
    const int64_t width = input.type->shape[axis] * inner_bytes;
    if (width == 0) continue;
    for (int64_t o = 0; o < outer; ++o) {
      std::memcpy(bytes.data() + o * output.shape[axis] * inner_bytes + column,
                  input.data->bytes().data() + o * width, width);
    }
    column += width;
  }
  return One(MakeConstant(std::move(bytes)));
}

Result Split(const TypedConstant& input, absl::Span<const TensorType> outputs, int64_t axis) {
  std::vector<ConstantPtr> results;
  const Shape strides = DenseStrides(input.type->shape);
  int64_t start = 0;
  for (const TensorType& output : outputs) {
    results.push_back(StridedCopy(*input.data, SizeBytes(output.dtype), output.shape, strides,
                                  start * strides[axis]));
    start += output.shape[axis];
  }
  return results;
}

Result Slice(const GraphNode& node, const TypedConstant& input, const TensorType& output) {
  const Shape starts = node.attributes.Ints("starts", {});
  Shape all_axes(starts.size());
  for (size_t i = 0; i < starts.size(); ++i) all_axes[i] = static_cast<int64_t>(i);
  const Shape axes = node.attributes.Ints("axes", all_axes);
  const Shape steps = node.attributes.Ints("steps", Shape(starts.size(), 1));
  Shape strides = DenseStrides(input.type->shape);
  int64_t offset = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t& stride = strides[FromFront(axes[i], strides.size())];
    offset += starts[i] * stride;
    stride *= steps[i];
  }
  return One(StridedCopy(*input.data, SizeBytes(output.dtype), output.shape, strides, offset));
}

Result Gather(const TypedConstant& input, const TypedConstant& indices, int64_t axis) {
  const Shape& shape = input.type->shape;
  const std::vector<int64_t> index = ToInts(*indices.type, *indices.data);
  const int64_t outer = Product(shape, 0, axis);
  const int64_t row_bytes = Product(shape, axis + 1, shape.size()) * SizeBytes(input.type->dtype);
  std::vector<uint8_t> bytes(outer * index.size() * row_bytes);
  uint8_t* to = bytes.data();
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i : index) {
      if (i < 0) i += shape[axis];
      if (i < 0 || i >= shape[axis]) return std::nullopt;
      if (row_bytes == 0) continue;
      std::memcpy(to, input.data->bytes().data() + (o * shape[axis] + i) * row_bytes, row_bytes);
      to += row_bytes;
    }
  }
  return One(MakeConstant(std::move(bytes)));
}

}  // namespace

std::vector<int64_t> DenseStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

std::vector<int64_t> BroadcastStrides(const std::vector<int64_t>& shape,
                                      const std::vector<int64_t>& broadcast_shape) {
  const std::vector<int64_t> dense = DenseStrides(shape);
  std::vector<int64_t> strides(broadcast_shape.size(), 0);
  const size_t skipped = broadcast_shape.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1) strides[skipped + d] = dense[d];
  }
  return strides;
}

ConstantPtr StridedCopy(const ConstantData& input, int64_t element_bytes,
                        const std::vector<int64_t>& output_shape,
                        const std::vector<int64_t>& strides, int64_t offset) {
  const int64_t count = ElementCount(output_shape);
  const auto run = [&](auto zero) -> ConstantPtr {
    using T = decltype(zero);
    std::vector<T> output(count);
    if (count == 0) return MakeConstant(std::move(output));
    if (reinterpret_cast<uintptr_t>(input.bytes().data()) % alignof(T) == 0) {
      CopyElements(reinterpret_cast<const T*>(input.bytes().data()), output.data(), output_shape,
                   strides, offset);
    } else {
      const std::vector<T> aligned = CopyAs<T>(input);
      CopyElements(aligned.data(), output.data(), output_shape, strides, offset);
    }
    return MakeConstant(std::move(output));
  };
  switch (element_bytes) {
    case 1:
      return run(uint8_t{});
    case 2:
      return run(uint16_t{});
    case 4:
      return run(uint32_t{});
    default:
      CHECK_EQ(element_bytes, 8);
      return run(uint64_t{});
  }
}

ConstantPtr TransposeConstant(const TensorType& type, const ConstantData& data,
                              const std::vector<int64_t>& perm) {
  const Shape dense = DenseStrides(type.shape);
  Shape shape, strides;
  for (int64_t p : perm) {
    shape.push_back(type.shape[p]);
    strides.push_back(dense[p]);
  }
  const ConstantPtr turned = StridedCopy(data, SizeBytes(type.dtype), shape, strides, 0);
  if (data.origin() == nullptr) return turned;
  Attributes attributes;
  attributes.Set("perm", perm);
  return WithOrigin(turned, Apply(OpId::kTranspose, {ReshapedOrigin(data.origin(), type.shape)},
                                  std::move(attributes)));
}

bool EvaluatesWithoutCopy(const GraphNode& node) {
  return node.op == OpId::kReshape || node.op == OpId::kIdentity;
}

std::optional<std::vector<ConstantPtr>> EvaluateMovement(
    const GraphNode& node, absl::Span<const TypedConstant> inputs,
    absl::Span<const TensorType> output_types) {
  const TypedConstant& x = inputs[0];
  if (EvaluatesWithoutCopy(node)) return One(x.data);
  const int64_t axis = FromFront(node.attributes.Int("axis", 0), x.type->shape.size());
  if (node.op == OpId::kTranspose) {
    const Shape perm = node.attributes.Ints("perm", {});
    return One(TransposeConstant(*x.type, *x.data, perm));
  }
  if (node.op == OpId::kExpand) {
    return One(StridedCopy(*x.data, SizeBytes(x.type->dtype), output_types[0].shape,
                           BroadcastStrides(x.type->shape, output_types[0].shape), 0));
  }
  if (node.op == OpId::kConcat) return Concat(inputs, output_types[0], axis);
  if (node.op == OpId::kSplit) return Split(x, output_types, axis);
  if (node.op == OpId::kSlice) return Slice(node, x, output_types[0]);
  if (node.op == OpId::kGather && inputs.size() == 2) return Gather(x, inputs[1], axis);
  return std::nullopt;
}

}  // namespace burnish
