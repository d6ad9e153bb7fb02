#include "compiler/frontend/onnx_compose.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace burnish {

Shape Composer::ShapeOf(ValueId id) const {
  return id < 0 ? Shape(kImportRankMax, 1) : node_->TypeOf(id).shape;
}

DType Composer::DTypeOf(ValueId id) const { return id < 0 ? DType::kF32 : node_->TypeOf(id).dtype; }

bool Composer::IsConstant(ValueId id) const {
  return id >= 0 && node_->context().graph.IsConstant(id);
}

ValueId Composer::Kept(absl::StatusOr<ValueId> id) {
  if (id.ok()) return *id;
  Fail(id.status());
  return -1;
}

ValueId Composer::In(int i) {
  if (!status_.ok()) return -1;
  return Kept(node_->Input(i));
}

ValueId Composer::Op(absl::string_view op, std::vector<ValueId> inputs, Attributes attributes) {
  if (!status_.ok()) return -1;
  return Kept(node_->Emit(op, std::move(inputs), std::move(attributes)));
}

ValueId Composer::Number(DType dtype, double value) {
  if (!status_.ok()) return -1;
  return Kept(node_->EmitScalar(dtype, value));
}

ValueId Composer::Constant(DType dtype, Shape shape, const std::vector<double>& values) {
  if (!status_.ok()) return -1;
  return Kept(node_->EmitConstant({dtype, std::move(shape)}, FromDoubles(dtype, values)));
}

ValueId Composer::Ints(Shape shape, const std::vector<int64_t>& values) {
  if (!status_.ok()) return -1;
  return Kept(node_->EmitConstant({DType::kI64, std::move(shape)}, FromInts(DType::kI64, values)));
}

bool Composer::MayMake(const Shape& shape) {
  if (status_.ok()) {
    Fail(CheckedElementCount(shape, kMadeElementsMax,
                             absl::StrCat(node_->Label(), ": a constant that it needs"))
             .status());
  }
  return status_.ok();
}

ValueId Composer::Iota(int64_t first, int64_t count) {
  if (!MayMake({count})) return -1;
  std::vector<int64_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return Ints({count}, values);
}

ValueId Composer::Cast(ValueId x, DType to) {
  if (!status_.ok() || DTypeOf(x) == to) return x;
  Attributes attributes;
  attributes.Set("to", std::string(DTypeName(to)));
  return Op("cast", {x}, std::move(attributes));
}

ValueId Composer::Reshape(ValueId x, Shape shape) {
  if (!status_.ok()) return -1;
  return Kept(node_->EmitReshape(x, std::move(shape)));
}

ValueId Composer::Transpose(ValueId x, Shape perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return x;
  Attributes attributes;
  attributes.Set("perm", std::move(perm));
  return Op("transpose", {x}, std::move(attributes));
}

ValueId Composer::Expand(ValueId x, Shape shape) {
  if (!status_.ok() || ShapeOf(x) == shape) return x;
  Attributes attributes;
  attributes.Set("shape", std::move(shape));
  return Op("expand", {x}, std::move(attributes));
}

ValueId Composer::Concat(const std::vector<ValueId>& parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  Attributes attributes;
  attributes.Set("axis", axis);
  return Op("concat", parts, std::move(attributes));
}

ValueId Composer::Slice(ValueId x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  if (!status_.ok()) return -1;
  if (start == 0 && end == ShapeOf(x)[axis] && step == 1) return x;
  Attributes attributes;
  attributes.Set("starts", Shape{start});
  attributes.Set("ends", Shape{end});
  attributes.Set("axes", Shape{axis});
  attributes.Set("steps", Shape{step});
  return Op("slice", {x}, std::move(attributes));
}

ValueId Composer::Reduce(absl::string_view op, ValueId x, Shape axes, bool keep_dims) {
  Attributes attributes;
  attributes.Set("axes", std::move(axes));
  attributes.Set("keepdims", int64_t{keep_dims});
  return Op(op, {x}, std::move(attributes));
}

ValueId Composer::Softmax(ValueId x, int64_t axis, absl::string_view op) {
  Attributes attributes;
  attributes.Set("axis", axis);
  return Op(op, {x}, std::move(attributes));
}

ValueId Composer::Gather(ValueId x, ValueId indices, int64_t axis) {
  Attributes attributes;
  attributes.Set("axis", axis);
  return Op("gather", {x, indices}, std::move(attributes));
}

ValueId Composer::Pad(ValueId x, Shape pads, double value) {
  if (std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; })) return x;
  Attributes attributes;
  attributes.Set("pads", std::move(pads));
  attributes.Set("mode", std::string("constant"));
  attributes.Set("value", value);
  return Op("pad", {x}, std::move(attributes));
}

void Composer::Output(int i, ValueId id) {
  if (status_.ok() && i < node_->output_count()) node_->SetOutput(i, id);
}

}  // namespace burnish
