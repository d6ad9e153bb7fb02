// Operators whose result is known at import: Constant, ConstantOfShape, Shape, Size, Range.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_import_context.h"
#include "compiler/graph/evaluate.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

absl::Status FinishConstant(OnnxNode& node, TensorType type, ConstantPtr data) {
  ASSIGN_OR_RETURN(const ValueId id, node.EmitConstant(std::move(type), std::move(data)));
  node.SetOutput(0, id);
  return absl::OkStatus();
}

absl::Status Constant(OnnxNode& node) {
  if (const onnx::AttributeProto* value = node.Find("value")) {
    ASSIGN_OR_RETURN(OnnxTensor tensor,
                     ReadOnnxTensor(value->t(), node.context().files,
                                    node.context().options->max_tensor_elements, node.Label()));
    return FinishConstant(node, std::move(tensor.type), std::move(tensor.data));
  }
  if (node.HasAttribute("value_int")) {
    return FinishConstant(node, {DType::kI64, {}},
                          FromInts(DType::kI64, {node.Int("value_int", 0)}));
  }
  if (node.HasAttribute("value_float")) {
    return FinishConstant(node, {DType::kF32, {}},
                          FromDoubles(DType::kF32, {node.Float("value_float", 0)}));
  }
  if (node.HasAttribute("value_ints")) {
    std::vector<int64_t> values = node.Ints("value_ints", {});
    const auto count = static_cast<int64_t>(values.size());
    return FinishConstant(node, {DType::kI64, {count}}, MakeConstant(std::move(values)));
  }
  if (node.HasAttribute("value_floats")) {
    const std::vector<double> values = node.Floats("value_floats", {});
    return FinishConstant(node, {DType::kF32, {static_cast<int64_t>(values.size())}},
                          FromDoubles(DType::kF32, values));
  }
  return node.Unsupported(
      "want attribute value, value_int, value_ints, value_float or value_floats");
}

// The extent of the first dimension that a run decides about, or kFullAxis.
ValueId FirstExtent(const std::vector<SizeTerm>& terms) {
  for (const SizeTerm& term : terms) {
    if (term.extent != kFullAxis) return term.extent;
  }
  return kFullAxis;
}

absl::Status ConstantOfShape(OnnxNode& node) {
  ASSIGN_OR_RETURN(const BoundedShape given, node.ShapeInput(0, "shape"));
  const std::vector<int64_t>& shape = given.bound;
  OnnxTensor fill = {{DType::kF32, {1}}, FromDoubles(DType::kF32, {0})};
  ImportContext& context = node.context();
  if (const onnx::AttributeProto* value = node.Find("value")) {
    ASSIGN_OR_RETURN(fill, ReadOnnxTensor(value->t(), context.files,
                                          context.options->max_tensor_elements, node.Label()));
    if (ElementCount(fill.type.shape) != 1) return node.Invalid("value must have one element");
  }
  ASSIGN_OR_RETURN(const int64_t count,
                   CheckedElementCount(shape, context.options->max_tensor_elements, node.Label()));
  if (const ValueId extent = FirstExtent(given.terms); extent != kFullAxis) {
    ASSIGN_OR_RETURN(const ValueId one, node.EmitConstant(fill.type, fill.data));
    ASSIGN_OR_RETURN(const ValueId unknown, node.EmitUnknown(one, extent));
    Attributes attributes;
    attributes.Set("shape", shape);
    ASSIGN_OR_RETURN(ValueId filled, node.Emit("expand", {unknown}, std::move(attributes)));
    ASSIGN_OR_RETURN(filled, node.HoldTerms(filled, given.terms));
    node.SetOutput(0, filled);
    return absl::OkStatus();
  }
  // Before the memory is taken: a few bytes of model may ask for any amount.
  const int64_t element_bytes = SizeBytes(fill.type.dtype);
  context.folded_bytes += count * element_bytes;
  if (context.folded_bytes > context.options->max_folded_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(node.Label(), ": computed constants take over ",
                     context.options->max_folded_bytes, " bytes (the limit)"));
  }
  return FinishConstant(
      node, {fill.type.dtype, shape},
      StridedCopy(*fill.data, element_bytes, shape, std::vector<int64_t>(shape.size(), 0), 0));
}

// Of a value of which a run fills a part.
absl::Status ShapeInRun(OnnxNode& node, ValueId x, int64_t start, int64_t end) {
  std::vector<ValueId> extents;
  for (int64_t d = start; d < end; ++d) {
    ASSIGN_OR_RETURN(const ValueId extent, node.ExtentAt(x, d));
    ASSIGN_OR_RETURN(extents.emplace_back(), node.EmitReshape(extent, {1}));
  }
  if (extents.empty()) return FinishConstant(node, {DType::kI64, {0}}, MakeConstant<uint8_t>({}));
  std::vector<SizeTerm> terms;
  for (int64_t d = start; d < end; ++d) {
    const ValueId extent = node.ExtentsOf(x)[d];
    terms.push_back(extent == kFullAxis ? SizeTerm{kFullAxis, node.TypeOf(x).shape[d]}
                                        : node.TermOf(extent, 1));
  }
  Attributes attributes;
  attributes.Set("axis", int64_t{0});
  ASSIGN_OR_RETURN(const ValueId shape, node.Emit("concat", extents, std::move(attributes)));
  node.SetTerms(shape, std::move(terms));
  node.SetOutput(0, shape);
  return absl::OkStatus();
}

absl::Status Shape(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  const std::vector<int64_t> shape = node.TypeOf(x).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const auto clamp = [&](int64_t v) {
    return v < 0 ? std::max(v, -rank) + rank : std::min(v, rank);
  };
  const int64_t start = clamp(node.Int("start", 0));
  const int64_t end = std::max(start, clamp(node.Int("end", rank)));
  if (node.IsBounded(x)) return ShapeInRun(node, x, start, end);
  std::vector<int64_t> part(shape.begin() + start, shape.begin() + end);
  return FinishConstant(node, {DType::kI64, {end - start}}, MakeConstant(std::move(part)));
}

absl::Status Size(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  if (node.IsBounded(x)) {
    ValueId count = -1;
    for (size_t d = 0; d < node.TypeOf(x).shape.size(); ++d) {
      ASSIGN_OR_RETURN(const ValueId extent, node.ExtentAt(x, static_cast<int64_t>(d)));
      if (count < 0) {
        count = extent;
        continue;
      }
      ASSIGN_OR_RETURN(count, node.Emit("mul", {count, extent}));
    }
    node.SetOutput(0, count);
    return absl::OkStatus();
  }
  return FinishConstant(node, {DType::kI64, {}},
                        FromInts(DType::kI64, {ElementCount(node.TypeOf(x).shape)}));
}

// A tensor is an optional that has its element; no input is one that has none.
absl::Status OptionalHasElement(OnnxNode& node) {
  return FinishConstant(node, {DType::kBool, {}}, FromInts(DType::kBool, {node.HasInput(0)}));
}

// 0, 1, .. to below an extent.
absl::Status RangeInRun(OnnxNode& node, const BoundedShape& limit) {
  for (const int i : {0, 2}) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> given,
                     node.ConstantInts(i, i == 0 ? "start" : "delta"));
    if (given != std::vector<int64_t>{i / 2}) {
      return node.Unsupported("a range to what only a run knows that does not count from 0 by 1");
    }
  }
  const DType dtype = node.TypeOf(*node.Input(1)).dtype;
  ASSIGN_OR_RETURN(const int64_t count, CheckedElementCount(limit.bound, 1 << 24, node.Label()));
  std::vector<int64_t> values(limit.bound[0]);
  for (int64_t i = 0; i < count; ++i) values[i] = i;
  ASSIGN_OR_RETURN(const ValueId numbers,
                   node.EmitConstant({dtype, limit.bound}, FromInts(dtype, values)));
  ASSIGN_OR_RETURN(ValueId range, node.EmitUnknown(numbers, limit.terms[0].extent));
  ASSIGN_OR_RETURN(range, node.HoldTerms(range, limit.terms));
  node.SetOutput(0, range);
  return absl::OkStatus();
}

absl::Status Range(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId start_id, node.Input(0));
  ASSIGN_OR_RETURN(const ValueId limit_id, node.Input(1));
  if (!node.context().graph.IsConstant(limit_id) && node.TermsOf(limit_id).has_value()) {
    ASSIGN_OR_RETURN(const BoundedShape limit, node.ShapeInput(1, "limit"));
    if (limit.bound.size() == 1) return RangeInRun(node, limit);
  }
  const DType dtype = node.TypeOf(start_id).dtype;
  double bounds[3];
  const char* names[3] = {"start", "limit", "delta"};
  for (int i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(const std::vector<double> values, node.ConstantFloats(i, names[i]));
    if (values.size() != 1) return node.Invalid(absl::StrCat(names[i], " must be a scalar"));
    bounds[i] = values[0];
  }
  const double steps = std::ceil((bounds[1] - bounds[0]) / bounds[2]);
  if (!(steps <= 1 << 24)) {
    return node.Invalid(absl::StrCat("from ", bounds[0], " to ", bounds[1], " by ", bounds[2],
                                     ": over ", 1 << 24, " values, or none"));
  }
  const auto count = static_cast<int64_t>(std::max(0.0, steps));
  node.context().folded_bytes += count * 8;
  if (node.context().folded_bytes > node.context().options->max_folded_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(node.Label(), ": too many constants"));
  }
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = bounds[0] + bounds[2] * static_cast<double>(i);
  return FinishConstant(node, {dtype, {count}}, FromDoubles(dtype, values));
}

}  // namespace

void AddConstantTranslators(OnnxTranslators& t) {
  t["Constant"] = Constant;
  t["ConstantOfShape"] = ConstantOfShape;
  t["Shape"] = Shape;
  t["Size"] = Size;
  t["Range"] = Range;
  t["OptionalHasElement"] = OptionalHasElement;
}

}  // namespace burnish
