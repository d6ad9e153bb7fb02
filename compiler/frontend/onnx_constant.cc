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

absl::Status FinishConstant(OnnxNode& node, TensorType type, ConstantPtr data, int bits = 0) {
  ASSIGN_OR_RETURN(const ValueId id, node.EmitConstant(std::move(type), std::move(data)));
  node.SetFewBits(id, bits);
  node.SetOutput(0, id);
  return absl::OkStatus();
}

absl::Status Constant(OnnxNode& node) {
  if (const onnx::AttributeProto* value = node.Find("value")) {
    ASSIGN_OR_RETURN(OnnxTensor tensor,
                     ReadOnnxTensor(value->t(), *node.context().bytes,
                                    node.context().options->max_tensor_elements, node.Label()));
    return FinishConstant(node, std::move(tensor.type), std::move(tensor.data), tensor.bits);
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

// The first dimension that a run decides about, or nullptr.
const SizeTerm* FirstInRun(const std::vector<SizeTerm>& terms) {
  for (const SizeTerm& term : terms) {
    if (!term.IsNumber()) return &term;
  }
  return nullptr;
}

// Elements that a constant of one number has at most: translators want to know shapes and indices.
constexpr int64_t kFilledMax = 1 << 16;

absl::Status ConstantOfShape(OnnxNode& node) {
  ASSIGN_OR_RETURN(const BoundedShape given, node.ShapeInput(0, "shape"));
  const std::vector<int64_t>& shape = given.bound;
  OnnxTensor fill = {{DType::kF32, {1}}, FromDoubles(DType::kF32, {0})};
  ImportContext& context = node.context();
  if (const onnx::AttributeProto* value = node.Find("value")) {
    ASSIGN_OR_RETURN(fill, ReadOnnxTensor(value->t(), *context.bytes,
                                          context.options->max_tensor_elements, node.Label()));
    if (ElementCount(fill.type.shape) != 1) return node.Invalid("value must have one element");
    if (fill.bits > 0) return node.Unsupported("a value of 2 or 4 bits");
  }
  ASSIGN_OR_RETURN(const int64_t count,
                   CheckedElementCount(shape, context.options->max_tensor_elements, node.Label()));
  if (const SizeTerm* in_run = FirstInRun(given.terms); in_run != nullptr) {
    ASSIGN_OR_RETURN(const ValueId extent, node.EmitTerm(*in_run));
    ASSIGN_OR_RETURN(const ValueId one, node.EmitConstant(fill.type, fill.data));
    ASSIGN_OR_RETURN(const ValueId unknown, node.EmitUnknown(one, extent));
    Attributes attributes;
    attributes.Set("shape", shape);
    ASSIGN_OR_RETURN(ValueId filled, node.Emit("expand", {unknown}, std::move(attributes)));
    ASSIGN_OR_RETURN(filled, node.HoldTerms(filled, given.terms));
    node.SetOutput(0, filled);
    return absl::OkStatus();
  }
  const int64_t element_bytes = SizeBytes(fill.type.dtype);
  if (count > kFilledMax) {
    // One number, which readers repeat; nothing that shapes are computed of is so long.
    Attributes attributes;
    attributes.Set("shape", shape);
    ASSIGN_OR_RETURN(const ValueId one, node.EmitConstant(fill.type, fill.data));
    return node.Finish("expand", {one}, std::move(attributes));
  }
  // Before the memory is taken: a few bytes of model may ask for any amount.
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
    terms.push_back(node.SizeOf(x, d));
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
    SizeTerm count(1);
    for (size_t d = 0; d < node.TypeOf(x).shape.size(); ++d) {
      const auto product = count.Times(node.SizeOf(x, static_cast<int64_t>(d)));
      if (!product.has_value()) return node.Unsupported("a product of too many sizes");
      count = *product;
    }
    ASSIGN_OR_RETURN(const ValueId size, node.EmitTerm(count));
    node.SetTerms(size, {count});
    node.SetOutput(0, size);
    return absl::OkStatus();
  }
  return FinishConstant(node, {DType::kI64, {}},
                        FromInts(DType::kI64, {ElementCount(node.TypeOf(x).shape)}));
}

// A tensor is an optional that has its element; no input is one that has none.
absl::Status OptionalHasElement(OnnxNode& node) {
  return FinishConstant(node, {DType::kBool, {}}, FromInts(DType::kBool, {node.HasInput(0)}));
}

// start, start + 1, .. to below a limit, one or both of which a run decides about.
absl::Status RangeInRun(OnnxNode& node, const SizeTerm& start, const SizeTerm& limit) {
  const DType dtype = node.TypeOf(*node.Input(1)).dtype;
  ASSIGN_OR_RETURN(const std::vector<int64_t> delta, node.ConstantInts(2, "delta"));
  if (delta != std::vector<int64_t>{1} || IsFloat(dtype)) {
    return node.Unsupported("a range to what only a run knows that does not count by 1");
  }
  const auto difference = limit.Minus(start);
  if (!difference.has_value()) return node.Unsupported("a range of too many sizes");
  ASSIGN_OR_RETURN(const SizeTerm length, node.EmitGreater(*difference, SizeTerm()));
  const std::optional<SizeRange> range = node.RangeOf(length);
  if (!range.has_value()) return node.Unsupported("a range without a bound");
  // An axis that may be empty is none that broadcasts; one that is of one element always may.
  const int64_t least = length.IsNumber() ? 1 : 2;
  const std::vector<int64_t> bound = {std::max(range->greatest, least)};
  ASSIGN_OR_RETURN(const int64_t count, CheckedElementCount(bound, 1 << 24, node.Label()));
  std::vector<int64_t> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = i;
  ASSIGN_OR_RETURN(ValueId numbers, node.EmitConstant({dtype, bound}, FromInts(dtype, values)));
  if (start == SizeTerm()) {
    ASSIGN_OR_RETURN(const ValueId extent, node.EmitTerm(length));
    ASSIGN_OR_RETURN(numbers, node.EmitUnknown(numbers, extent));
  } else {
    ASSIGN_OR_RETURN(ValueId first, node.EmitTerm(start));
    if (dtype != DType::kI64) {
      Attributes to;
      to.Set("to", std::string(DTypeName(dtype)));
      ASSIGN_OR_RETURN(first, node.EmitWhole("cast", {first}, std::move(to)));
    }
    ASSIGN_OR_RETURN(numbers, node.EmitWhole("add", {numbers, first}));
  }
  ASSIGN_OR_RETURN(numbers, node.HoldTerms(numbers, {length}));
  node.SetOutput(0, numbers);
  return absl::OkStatus();
}

absl::Status Range(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId start_id, node.Input(0));
  ASSIGN_OR_RETURN(const ValueId limit_id, node.Input(1));
  const auto start_terms = node.TermsOf(start_id), limit_terms = node.TermsOf(limit_id);
  const bool is_known = start_terms.has_value() && limit_terms.has_value() &&
                        start_terms->size() == 1 && limit_terms->size() == 1;
  if (is_known && !((*start_terms)[0].IsNumber() && (*limit_terms)[0].IsNumber())) {
    return RangeInRun(node, (*start_terms)[0], (*limit_terms)[0]);
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
