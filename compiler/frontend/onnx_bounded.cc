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
  const GraphValue& value = context_->graph.value(extent);
  if (value.data == nullptr) {
    AxisExtents extents = ExtentsOf(id);
    extents[axis] = extent;
    context_->bounded.extents[id] = std::move(extents);
    const auto [known, is_new] =
        context_->bounded.greatest.try_emplace(extent, TypeOf(id).shape[axis]);
    known->second = std::min(known->second, TypeOf(id).shape[axis]);
    return id;
  }
  TensorType type = TypeOf(id);
  const int64_t count = ToInts(value.type, *value.data)[0];
  if (count == type.shape[axis]) return id;
  if (count == 0) {
    type.shape[axis] = 0;
    return EmitConstant(std::move(type), MakeConstant<uint8_t>({}));
  }
  Attributes attributes;
  attributes.Set("axes", std::vector<int64_t>{axis});
  attributes.Set("starts", std::vector<int64_t>{0});
  attributes.Set("ends", std::vector<int64_t>{count});
  return Emit("slice", {id}, std::move(attributes));
}

absl::StatusOr<ValueId> OnnxNode::EmitSum(ValueId extent, ValueId other) {
  ValueId& known =
      context_->bounded.computed.try_emplace(absl::StrCat("sum ", extent, " ", other), kFullAxis)
          .first->second;
  if (known == kFullAxis) {
    ASSIGN_OR_RETURN(known, EmitWhole("add", {extent, other}));
  }
  return known;
}

absl::StatusOr<ValueId> OnnxNode::EmitWhole(absl::string_view op, std::vector<ValueId> inputs,
                                            Attributes attributes) {
  ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                   EmitPlain(op, std::move(inputs), std::move(attributes)));
  return results[0];
}

absl::StatusOr<ValueId> OnnxNode::ExtentAt(ValueId id, int64_t axis) {
  const ValueId extent = ExtentsOf(id)[axis];
  if (extent != kFullAxis) return extent;
  return EmitConstant({DType::kI64, {}}, FromInts(DType::kI64, {TypeOf(id).shape[axis]}));
}

absl::StatusOr<ValueId> OnnxNode::EmitExtent(const char* op, ValueId extent, int64_t other) {
  if (other == 0 && absl::string_view(op) == "add") return extent;
  ValueId& known =
      context_->bounded.computed.try_emplace(absl::StrCat(op, " ", extent, " ", other), kFullAxis)
          .first->second;
  if (known == kFullAxis) {
    ASSIGN_OR_RETURN(const ValueId number,
                     EmitConstant({DType::kI64, {}}, FromInts(DType::kI64, {other})));
    ASSIGN_OR_RETURN(known, EmitWhole(op, {extent, number}));
  }
  return known;
}

absl::StatusOr<ValueId> OnnxNode::Filled(ValueId id, double value) {
  return FilledWith(id, FromDoubles(TypeOf(id).dtype, {value}));
}

absl::StatusOr<ValueId> OnnxNode::FilledWith(ValueId id, ConstantPtr number) {
  if (!IsBounded(id)) return id;
  const AxisExtents extents = ExtentsOf(id);
  const TensorType type = TypeOf(id);
  ValueId filled = id;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == kFullAxis) continue;
    RETURN_IF_ERROR(CheckedElementCount({type.shape[d]}, kMadeElementsMax, Label()).status());
    std::vector<int64_t> along(type.shape.size(), 1), positions(type.shape[d]);
    along[d] = type.shape[d];
    std::iota(positions.begin(), positions.end(), 0);
    ASSIGN_OR_RETURN(const ValueId position,
                     EmitConstant({DType::kI64, along}, FromInts(DType::kI64, positions)));
    ASSIGN_OR_RETURN(const ValueId holds, EmitWhole("less", {position, extents[d]}));
    ASSIGN_OR_RETURN(const ValueId other, EmitConstant({type.dtype, {}}, number));
    // By selection: what does not hold may be NaN.
    ASSIGN_OR_RETURN(filled, EmitWhole("where", {holds, filled, other}));
  }
  return filled;
}

absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitCounted(absl::string_view op,
                                                           std::vector<ValueId> inputs,
                                                           Attributes attributes) {
  return EmitPlain(op, std::move(inputs), std::move(attributes));
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

absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitBoundedReshape(ValueId x,
                                                                  Attributes attributes) {
  const std::vector<int64_t> shape = attributes.Ints("shape", {});
  const auto carried = CarryThroughReshape(TypeOf(x).shape, shape, ExtentsOf(x));
  if (!carried.ok()) return Annotate(carried.status());
  ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                   EmitPlain("reshape", {x}, std::move(attributes)));
  for (size_t d = 0; d < shape.size(); ++d) {
    ValueId extent = (*carried)[d].extent;
    if (extent == kFullAxis) continue;
    if ((*carried)[d].factor != 1) {
      const SizeTerm term = TermOf(extent, (*carried)[d].factor);
      ASSIGN_OR_RETURN(extent, EmitExtent("mul", extent, (*carried)[d].factor));
      context_->bounded.scaled[extent] = term;
    }
    RETURN_IF_ERROR(SetExtent(results[0], static_cast<int64_t>(d), extent).status());
  }
  return results;
}

absl::StatusOr<ValueId> OnnxNode::SliceBounded(ValueId x, Attributes attributes) {
  AxisExtents extents = ExtentsOf(x);
  const std::vector<int64_t> shape = TypeOf(x).shape;
  const std::vector<int64_t> axes = attributes.Ints("axes", {});
  std::vector<int64_t> starts = attributes.Ints("starts", {});
  std::vector<int64_t> ends = attributes.Ints("ends", {});
  const std::vector<int64_t> steps = attributes.Ints("steps", std::vector<int64_t>(axes.size(), 1));
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i];
    ValueId& extent = extents[axis];
    if (extent == kFullAxis) continue;
    const int64_t bound = shape[axis];
    if (steps[i] != 1 || starts[i] < 0 || starts[i] >= bound) {
      return Unsupported(absl::StrCat("a slice of dimension ", axis,
                                      ", whose extent only a run knows, from ", starts[i], " by ",
                                      steps[i], "; want a start from the beginning, and step 1"));
    }
    ValueId end = extent;
    if (ends[i] < 0) {
      ASSIGN_OR_RETURN(end, EmitExtent("add", extent, std::max(ends[i], -bound)));
    } else if (ends[i] < bound) {
      ASSIGN_OR_RETURN(end, EmitExtent("min", extent, ends[i]));
    }
    if (starts[i] > 0) {
      ASSIGN_OR_RETURN(end, EmitExtent("sub", end, starts[i]));
    }
    if (starts[i] > 0 || ends[i] < 0) {
      ASSIGN_OR_RETURN(end, EmitExtent("max", end, 0));
    }
    extent = end;
    ends[i] = ends[i] < 0 || ends[i] > bound ? bound : ends[i];
    // An axis that may be empty is none that broadcasts.
    if (ends[i] - starts[i] < 2) {
      starts[i] = std::max<int64_t>(std::min(starts[i], bound - 2), 0);
      if (starts[i] + 1 == ends[i]) {
        ends[i] = starts[i] + 2;
      } else {
        return Unsupported(
            absl::StrCat("one element of dimension ", axis, ", whose extent only a run knows"));
      }
    }
  }
  attributes.Set("starts", starts);
  attributes.Set("ends", ends);
  ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                   EmitPlain("slice", {x}, std::move(attributes)));
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == kFullAxis) continue;
    RETURN_IF_ERROR(SetExtent(results[0], static_cast<int64_t>(d), extents[d]).status());
  }
  return results[0];
}

// The parts are laid behind one another at their bounds, and a gather leaves out what does not
// hold: a position behind the elements of the first k parts skips their rests.
absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitBoundedConcat(std::vector<ValueId> inputs,
                                                                 int64_t axis) {
  std::vector<AxisExtents> others;
  int64_t bound = 0;
  for (const ValueId input : inputs) {
    others.push_back(ExtentsOf(input));
    others.back()[axis] = kFullAxis;
    bound += TypeOf(input).shape[axis];
  }
  Attributes along;
  along.Set("axis", axis);
  const GraphNode node{
      .name = Name(), .op = "concat", .attributes = along, .inputs = inputs, .outputs = {}};
  const auto carried = CarryExtents(context_->graph, node, others);
  if (!carried.ok()) return Annotate(carried.status());
  RETURN_IF_ERROR(CheckedElementCount({bound}, kMadeElementsMax, Label()).status());
  std::vector<int64_t> positions(bound);
  std::iota(positions.begin(), positions.end(), 0);
  ASSIGN_OR_RETURN(const ValueId position,
                   EmitConstant({DType::kI64, {bound}}, FromInts(DType::kI64, positions)));
  ASSIGN_OR_RETURN(const ValueId zero, EmitScalar(DType::kI64, 0));
  ValueId source = position, end = kFullAxis;
  int64_t full = 0;  // Of the parts before it, those that a run does not size.
  for (const ValueId input : inputs) {
    const ValueId extent = ExtentsOf(input)[axis];
    if (extent == kFullAxis) {
      full += TypeOf(input).shape[axis];
      continue;
    }
    // By EmitExtent and EmitSum, so that what lies along other values joined so is as long.
    ASSIGN_OR_RETURN(end, end == kFullAxis ? extent : EmitSum(end, extent));
    ASSIGN_OR_RETURN(const ValueId whole,
                     EmitScalar(DType::kI64, static_cast<double>(TypeOf(input).shape[axis])));
    ASSIGN_OR_RETURN(const ValueId rest, EmitWhole("sub", {whole, extent}));
    ASSIGN_OR_RETURN(const ValueId to_here, EmitExtent("add", end, full));
    ASSIGN_OR_RETURN(const ValueId is_behind, EmitWhole("greater_equal", {position, to_here}));
    ASSIGN_OR_RETURN(const ValueId skipped, EmitWhole("where", {is_behind, rest, zero}));
    ASSIGN_OR_RETURN(source, EmitWhole("add", {source, skipped}));
  }
  // Of what does not hold: some element that is there.
  ASSIGN_OR_RETURN(const ValueId last, EmitScalar(DType::kI64, static_cast<double>(bound - 1)));
  ASSIGN_OR_RETURN(source, EmitWhole("min", {source, last}));
  ASSIGN_OR_RETURN(const ValueId joined, EmitWhole("concat", std::move(inputs), along));
  ASSIGN_OR_RETURN(std::vector<ValueId> results, EmitPlain("gather", {joined, source}, along));
  context_->bounded.extents[results[0]] = carried->outputs[0];
  ASSIGN_OR_RETURN(end, EmitExtent("add", end, full));
  RETURN_IF_ERROR(SetExtent(results[0], axis, end).status());
  return results;
}

absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitBounded(absl::string_view op,
                                                           std::vector<ValueId> inputs,
                                                           Attributes attributes) {
  if (op == "reshape") return EmitBoundedReshape(inputs[0], std::move(attributes));
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
      ASSIGN_OR_RETURN(inputs[1],
                       CheckedIndices(inputs[1], extents[0][axis], TypeOf(inputs[0]).shape[axis]));
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
  const AxisExtents before = extents[0];
  RETURN_IF_ERROR(FillReduced(op, attributes, inputs, extents));
  const GraphNode node{.name = Name(),
                       .op = std::string(op),
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
  if (op == "softmax" || op == "log_softmax") carried->outputs[0] = before;
  for (size_t i = 0; i < results.size(); ++i) {
    if (burnish::IsBounded(carried->outputs[i])) {
      context_->bounded.extents[results[i]] = carried->outputs[i];
    }
  }
  return results;
}

}  // namespace burnish
