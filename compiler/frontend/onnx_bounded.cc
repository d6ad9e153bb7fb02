// Values of which a run fills a part: how much of them holds is a value beside them
// (docs/adr/0013-bounded-axes.md).
#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/element_count.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {

AxisExtents OnnxNode::ExtentsOf(ValueId id) const {
  const auto found = context_->bounded.extents.find(id);
  if (found != context_->bounded.extents.end()) return found->second;
  return AxisExtents(TypeOf(id).shape.size(), kFullAxis);
}

absl::StatusOr<ValueId> OnnxNode::SetExtent(ValueId id, int64_t axis, ValueId extent) {
  const bool is_known = extent >= 0 && context_->graph.IsConstant(extent);
  if (!is_known) {
    AxisExtents extents = ExtentsOf(id);
    extents[axis] = extent;
    context_->bounded.extents[id] = std::move(extents);
    if (extent > kFullAxis && !context_->bounded.term_of.contains(extent)) {
      SizeRange& range =
          context_->bounded.ranges.try_emplace(extent, SizeRange{0, TypeOf(id).shape[axis]})
              .first->second;
      range.greatest = std::min(range.greatest, TypeOf(id).shape[axis]);
    }
    return id;
  }
  const TensorType type = TypeOf(id);
  const GraphValue& value = context_->graph.value(extent);
  const int64_t count = ToInts(value.type, *value.data)[0];
  if (count == type.shape[axis]) return id;
  if (count == 0) return EmitNoneOf(id, axis);
  Attributes attributes;
  attributes.Set("axes", std::vector<int64_t>{axis});
  attributes.Set("starts", std::vector<int64_t>{0});
  attributes.Set("ends", std::vector<int64_t>{count});
  return Emit("slice", {id}, std::move(attributes));
}

absl::StatusOr<ValueId> OnnxNode::EmitSum(ValueId extent, ValueId other) {
  const std::optional<SizeTerm> sum = TermOf(extent).Plus(TermOf(other));
  if (!sum.has_value()) return Unsupported("a sum of too many sizes");
  return EmitTerm(*sum);
}

absl::StatusOr<ValueId> OnnxNode::EmitWhole(absl::string_view op, std::vector<ValueId> inputs,
                                            Attributes attributes) {
  ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                   EmitPlain(op, std::move(inputs), std::move(attributes)));
  return results[0];
}

absl::StatusOr<ValueId> OnnxNode::ExtentAt(ValueId id, int64_t axis) {
  return EmitTerm(SizeOf(id, axis));
}

absl::StatusOr<ValueId> OnnxNode::EmitExtent(const char* op, ValueId extent, int64_t other) {
  const SizeTerm term = TermOf(extent), number(other);
  const absl::string_view name = op;
  std::optional<SizeTerm> result;
  if (name == "add") result = term.Plus(number);
  if (name == "sub") result = term.Minus(number);
  if (name == "mul") result = term.Times(number);
  if (name == "min" || name == "max") {
    ASSIGN_OR_RETURN(result, EmitChosen(op, term, number));
  }
  if (!result.has_value()) return Unsupported("a size beyond 64 bits");
  return EmitTerm(*result);
}

absl::StatusOr<ValueId> OnnxNode::Filled(ValueId id, double value) {
  return FilledWith(id, FromDoubles(TypeOf(id).dtype, {value}));
}

absl::StatusOr<ValueId> OnnxNode::FilledAlong(ValueId id, const std::vector<int64_t>& axes,
                                              double value) {
  return FilledWith(id, FromDoubles(TypeOf(id).dtype, {value}), &axes);
}

absl::StatusOr<ValueId> OnnxNode::FilledWith(ValueId id, ConstantPtr number,
                                             const std::vector<int64_t>* axes) {
  if (!IsBounded(id)) return id;
  const AxisExtents extents = ExtentsOf(id);
  const TensorType type = TypeOf(id);
  AxisExtents kept(extents.size(), kFullAxis);
  ValueId filled = id;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == kFullAxis) continue;
    if (axes != nullptr && std::find(axes->begin(), axes->end(), d) == axes->end()) {
      kept[d] = extents[d];
      continue;
    }
    RETURN_IF_ERROR(CheckedElementCount({type.shape[d]}, kMadeElementsMax, Label()).status());
    std::vector<int64_t> along(type.shape.size(), 1), positions(type.shape[d]);
    along[d] = type.shape[d];
    int64_t inner = type.shape[d];
    for (const AxisPart& part : PartsOf(id, static_cast<int64_t>(d))) {
      inner /= part.bound;
      if (part.IsFull()) continue;
      for (size_t i = 0; i < positions.size(); ++i) {
        positions[i] = static_cast<int64_t>(i) / inner % part.bound;
      }
      ASSIGN_OR_RETURN(const ValueId position,
                       EmitConstant({DType::kI64, along}, FromInts(DType::kI64, positions)));
      ASSIGN_OR_RETURN(const ValueId extent, EmitTerm(part.holds));
      ASSIGN_OR_RETURN(const ValueId holds, EmitWhole("less", {position, extent}));
      ASSIGN_OR_RETURN(const ValueId other, EmitConstant({type.dtype, {}}, number));
      // By selection: what does not hold may be NaN.
      ASSIGN_OR_RETURN(filled, EmitWhole("where", {holds, filled, other}));
    }
  }
  if (burnish::IsBounded(kept)) context_->bounded.extents[filled] = std::move(kept);
  return filled;
}

absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitCounted(absl::string_view op,
                                                           std::vector<ValueId> inputs,
                                                           Attributes attributes) {
  return EmitPlain(op, std::move(inputs), std::move(attributes));
}

// Whether constant indices are such as every run has.
bool OnnxNode::AlwaysHold(ValueId indices, const SizeTerm& size) const {
  const GraphValue& value = context_->graph.value(indices);
  const std::optional<SizeRange> range = RangeOf(size);
  if (value.data == nullptr || !range.has_value()) return false;
  const std::vector<int64_t> numbers = ToInts(value.type, *value.data);
  return std::all_of(numbers.begin(), numbers.end(),
                     [&](int64_t number) { return number >= 0 && number < range->least; });
}

// Indices into an axis that holds `extent` of its `bound` elements: negative ones count from there,
// and one beyond is beyond the bound too, where the kernel finds it.
absl::StatusOr<ValueId> OnnxNode::CheckedIndices(ValueId indices, ValueId extent, int64_t bound) {
  const AxisExtents extents = ExtentsOf(indices);
  Attributes to;
  to.Set("to", std::string(DTypeName(DType::kI64)));
  if (TypeOf(indices).dtype != DType::kI64) {
    ASSIGN_OR_RETURN(indices, Emit("cast", {indices}, std::move(to)));
  }
  ASSIGN_OR_RETURN(const ValueId zero, EmitScalar(DType::kI64, 0));
  ASSIGN_OR_RETURN(const ValueId outside, EmitScalar(DType::kI64, static_cast<double>(bound)));
  ASSIGN_OR_RETURN(const ValueId is_negative, Emit("less", {indices, zero}));
  ASSIGN_OR_RETURN(const ValueId from_end, Emit("add", {indices, extent}));
  ASSIGN_OR_RETURN(ValueId checked, Emit("where", {is_negative, from_end, indices}));
  ASSIGN_OR_RETURN(const ValueId is_inside, Emit("less", {checked, extent}));
  ASSIGN_OR_RETURN(const ValueId is_reachable, Emit("less", {checked, zero}));
  ASSIGN_OR_RETURN(checked, Emit("where", {is_inside, checked, outside}));
  return Emit("where", {is_reachable, outside, checked});
}

// Each part is chosen where it lies in the result, and 0 behind all. Indices end with what a part
// holds, so that nobody reads more of it.
absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitBoundedConcat(std::vector<ValueId> inputs,
                                                                 int64_t axis) {
  std::vector<AxisExtents> others;
  int64_t bound = 0;
  for (ValueId& input : inputs) {
    ASSIGN_OR_RETURN(input, PackedAlong(input, axis));
    others.push_back(ExtentsOf(input));
    others.back()[axis] = kFullAxis;
    bound += TypeOf(input).shape[axis];
  }
  Attributes along;
  along.Set("axis", axis);
  const GraphNode node{
      .name = Name(), .op = OpId::kConcat, .attributes = along, .inputs = inputs, .outputs = {}};
  const auto carried = CarryExtents(context_->graph, node, others);
  if (!carried.ok()) return Annotate(carried.status());
  RETURN_IF_ERROR(CheckedElementCount({bound}, kMadeElementsMax, Label()).status());
  std::vector<int64_t> numbers(bound), shape(others[0].size(), 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  shape[axis] = bound;
  const ConstantPtr positions = FromInts(DType::kI64, numbers);
  ASSIGN_OR_RETURN(const ValueId position, EmitConstant({DType::kI64, {bound}}, positions));
  ASSIGN_OR_RETURN(const ValueId place, EmitConstant({DType::kI64, shape}, positions));
  ASSIGN_OR_RETURN(const ValueId zero, EmitScalar(DType::kI64, 0));
  struct Part {
    ValueId value, holds;  // `holds`: bool, where it or a part before it lies.
  };
  std::vector<Part> parts;
  SizeTerm begin;
  for (const ValueId input : inputs) {
    const SizeTerm size = SizeOf(input, axis);
    const std::optional<SizeTerm> end = begin.Plus(size), last = size.Plus(SizeTerm(-1));
    if (!end.has_value() || !last.has_value()) return Unsupported("a sum of too many sizes");
    ASSIGN_OR_RETURN(const ValueId from, EmitTerm(begin));
    ASSIGN_OR_RETURN(const ValueId to, EmitTerm(*last));
    ASSIGN_OR_RETURN(const ValueId behind, EmitTerm(*end));
    ASSIGN_OR_RETURN(ValueId index, EmitWhole("sub", {position, from}));
    ASSIGN_OR_RETURN(index, EmitWhole("min", {index, to}));
    ASSIGN_OR_RETURN(index, EmitWhole("max", {index, zero}));
    Part& part = parts.emplace_back();
    ASSIGN_OR_RETURN(part.value, EmitWhole("gather", {input, index}, along));
    ASSIGN_OR_RETURN(part.holds, EmitWhole("less", {place, behind}));
    begin = *end;
  }
  ASSIGN_OR_RETURN(ValueId joined, EmitScalar(TypeOf(inputs[0]).dtype, 0));
  for (size_t i = parts.size(); i-- > 0;) {
    ASSIGN_OR_RETURN(joined, EmitWhole("where", {parts[i].holds, parts[i].value, joined}));
  }
  context_->bounded.extents[joined] = carried->outputs[0];
  ASSIGN_OR_RETURN(const ValueId end, EmitTerm(begin));
  RETURN_IF_ERROR(SetExtent(joined, axis, end).status());
  context_->bounded.zero_behind.insert({joined, axis});
  return std::vector<ValueId>{joined};
}

absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitBounded(absl::string_view op,
                                                           std::vector<ValueId> inputs,
                                                           Attributes attributes) {
  if (op == "reshape") return EmitBoundedReshape(inputs[0], std::move(attributes));
  if (op == "pad") return EmitBoundedPad(inputs[0], std::move(attributes));
  if (op == "cum_sum") return EmitBoundedCumulation(std::move(inputs), std::move(attributes));
  if (op == "scatter_elements") return EmitBoundedScatter(std::move(inputs), std::move(attributes));
  if (op == "conv" || op == "conv_transpose" || op == "max_pool" || op == "average_pool") {
    return EmitBoundedWindow(op, std::move(inputs), std::move(attributes));
  }
  std::vector<AxisExtents> extents;
  for (const ValueId input : inputs) extents.push_back(ExtentsOf(input));
  if (op == "concat") {
    const auto rank = static_cast<int64_t>(extents[0].size());
    ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(*this, attributes.Int("axis", 0), rank));
    const auto is_bounded = [&](const AxisExtents& of) { return of[axis] != kFullAxis; };
    if (std::any_of(extents.begin(), extents.end(), is_bounded)) {
      return EmitBoundedConcat(std::move(inputs), axis);
    }
  }
  if (op == "gather") {
    const auto rank = static_cast<int64_t>(extents[0].size());
    ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(*this, attributes.Int("axis", 0), rank));
    if (extents[0][axis] != kFullAxis) {
      ASSIGN_OR_RETURN(inputs[0], PackedAlong(inputs[0], axis));
      extents[0] = ExtentsOf(inputs[0]);
      if (!AlwaysHold(inputs[1], SizeOf(inputs[0], axis))) {
        ASSIGN_OR_RETURN(
            inputs[1], CheckedIndices(inputs[1], extents[0][axis], TypeOf(inputs[0]).shape[axis]));
      }
      // No index that passes reads what does not hold.
      extents[0][axis] = kFullAxis;
    }
  }
  if (op == "reduce_mean" && IsFloat(TypeOf(inputs[0]).dtype)) {
    const auto rank = static_cast<int64_t>(extents[0].size());
    ASSIGN_OR_RETURN(const std::vector<int64_t> axes,
                     NormalizeAxes(*this, attributes.Ints("axes", {}), rank));
    const auto is_bounded = [&](int64_t axis) { return extents[0][axis] != kFullAxis; };
    if (std::any_of(axes.begin(), axes.end(), is_bounded)) {
      return EmitBoundedMean(inputs[0], std::move(attributes));
    }
  }
  if (op == "instance_norm" || op == "group_norm") {
    const auto is_bounded = [](ValueId extent) { return extent != kFullAxis; };
    if (std::any_of(extents[0].begin() + 2, extents[0].end(), is_bounded)) {
      return EmitBoundedNormalization(inputs, attributes);
    }
  }
  const AxisExtents before = extents[0];
  RETURN_IF_ERROR(FillReduced(op, attributes, inputs, extents));
  const GraphNode node{.name = Name(),
                       .op = FindOpId(op).value(),
                       .attributes = attributes,
                       .inputs = inputs,
                       .outputs = {}};
  auto carried = CarryExtents(context_->graph, node, extents);
  if (!carried.ok()) return Annotate(carried.status());
  for (const CarriedExtents::Fill& fill : carried->fills) {
    ASSIGN_OR_RETURN(inputs[fill.input],
                     Filled(inputs[fill.input], static_cast<double>(fill.value)));
  }
  ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                   EmitPlain(op, std::move(inputs), std::move(attributes)));
  // It reduces over an axis and has the axis.
  if (op == "softmax" || op == "log_softmax") {
    carried->outputs[0] = before;
    for (size_t d = 0; d < before.size() && op == "softmax"; ++d) {
      if (before[d] == extents[0][d]) continue;
      // exp of -inf; of no elements at all it is NaN.
      const std::optional<SizeRange> range = RangeOf(TermOf(before[d]));
      if (range.has_value() && range->least > 0) {
        context_->bounded.zero_behind.insert({results[0], static_cast<int64_t>(d)});
      }
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (burnish::IsBounded(carried->outputs[i])) {
      context_->bounded.extents[results[i]] = carried->outputs[i];
    }
  }
  return results;
}

}  // namespace burnish
