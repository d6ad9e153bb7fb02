// Movement along axes that a run sizes: reshapes by what holds, windows of a slice, and axes of
// several parts laid together (docs/adr/0013-bounded-axes.md).
#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/element_count.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {

absl::StatusOr<ValueId> OnnxNode::EmitParts(ValueId x, const std::vector<AxisParts>& dimensions) {
  std::vector<int64_t> shape;
  for (const AxisParts& parts : dimensions) {
    int64_t bound = 1;  // Of all: as many elements as x has.
    for (const AxisPart& part : parts) bound *= part.bound;
    shape.push_back(bound);
  }
  Attributes attributes;
  attributes.Set("shape", shape);
  // Also where the shape stays: the value has other extents.
  ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                   EmitPlain("reshape", {x}, std::move(attributes)));
  ValueId result = results[0];
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const AxisParts& parts = dimensions[d];
    if (parts.empty() || (parts.size() == 1 && parts[0].IsFull())) continue;
    ValueId extent = kFullAxis;
    if (parts.size() == 1) {
      ASSIGN_OR_RETURN(extent, EmitTerm(parts[0].holds));
    } else {
      BoundedValues& bounded = context_->bounded;
      const auto next = kFullAxis - 1 - static_cast<ValueId>(bounded.merged.size());
      extent = bounded.merged_by_parts.try_emplace(parts, next).first->second;
      bounded.merged[extent] = parts;
    }
    ASSIGN_OR_RETURN(result, SetExtent(result, static_cast<int64_t>(d), extent));
  }
  return result;
}

absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitBoundedReshape(ValueId x,
                                                                  Attributes attributes) {
  std::vector<AxisParts> from;
  for (size_t d = 0; d < TypeOf(x).shape.size(); ++d) {
    from.push_back(PartsOf(x, static_cast<int64_t>(d)));
  }
  std::vector<std::optional<SizeTerm>> to;
  for (const int64_t bound : attributes.Ints("shape", {})) to.emplace_back(SizeTerm(bound));
  const auto dimensions = Regrouped(from, to, /*by_bound=*/true);
  if (!dimensions.has_value()) {
    return Unsupported("splits a dimension whose extent only a run knows");
  }
  ASSIGN_OR_RETURN(const ValueId result, EmitParts(x, *dimensions));
  return std::vector<ValueId>{result};
}

absl::StatusOr<ValueId> OnnxNode::Packed(ValueId id) {
  for (size_t d = 0; d < TypeOf(id).shape.size(); ++d) {
    ASSIGN_OR_RETURN(id, PackedAlong(id, static_cast<int64_t>(d)));
  }
  return id;
}

// By a gather: position p of what holds, taken apart by the parts' extents and put together by
// their bounds.
absl::StatusOr<ValueId> OnnxNode::PackedAlong(ValueId id, int64_t axis) {
  const AxisParts parts = PartsOf(id, axis);
  if (parts.size() < 2) return id;
  const int64_t bound = TypeOf(id).shape[axis];
  RETURN_IF_ERROR(CheckedElementCount({bound}, kMadeElementsMax, Label()).status());
  std::vector<int64_t> positions(bound);
  std::iota(positions.begin(), positions.end(), 0);
  ASSIGN_OR_RETURN(ValueId rest,
                   EmitConstant({DType::kI64, {bound}}, FromInts(DType::kI64, positions)));
  ASSIGN_OR_RETURN(ValueId source, EmitScalar(DType::kI64, 0));
  int64_t pitch = 1;
  for (size_t p = parts.size(); p-- > 0; pitch *= parts[p].bound) {
    // Where nothing holds, no position does: any divisor will do.
    ASSIGN_OR_RETURN(const SizeTerm divisor, EmitGreater(parts[p].holds, SizeTerm(1)));
    ASSIGN_OR_RETURN(const ValueId extent, EmitTerm(divisor));
    ASSIGN_OR_RETURN(const ValueId outer, EmitWhole("div", {rest, extent}));
    ASSIGN_OR_RETURN(const ValueId whole, EmitWhole("mul", {outer, extent}));
    ASSIGN_OR_RETURN(ValueId index, EmitWhole("sub", {rest, whole}));
    ASSIGN_OR_RETURN(const ValueId step, EmitTerm(SizeTerm(pitch)));
    ASSIGN_OR_RETURN(index, EmitWhole("mul", {index, step}));
    ASSIGN_OR_RETURN(source, EmitWhole("add", {source, index}));
    rest = outer;
  }
  // Behind what holds: some element that is there.
  ASSIGN_OR_RETURN(const ValueId last, EmitTerm(SizeTerm(bound - 1)));
  ASSIGN_OR_RETURN(source, EmitWhole("min", {source, last}));
  Attributes along;
  along.Set("axis", axis);
  const SizeTerm holds = SizeOf(id, axis);
  ASSIGN_OR_RETURN(const std::vector<ValueId> packed,
                   EmitWindows("gather", {id, source}, std::move(along), {{axis, holds}}));
  return packed[0];
}

absl::StatusOr<std::vector<ValueId>> OnnxNode::EmitWindows(
    absl::string_view op, std::vector<ValueId> inputs, Attributes attributes,
    const std::map<int64_t, SizeTerm>& windows) {
  std::vector<AxisExtents> extents;
  for (const ValueId input : inputs) extents.push_back(ExtentsOf(input));
  for (const auto& [axis, holds] : windows) extents[0][axis] = kFullAxis;
  const GraphNode node{.name = Name(),
                       .op = FindOpId(op).value(),
                       .attributes = attributes,
                       .inputs = inputs,
                       .outputs = {}};
  const auto carried = CarryExtents(context_->graph, node, extents);
  if (!carried.ok()) return Annotate(carried.status());
  ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                   EmitPlain(op, std::move(inputs), std::move(attributes)));
  if (burnish::IsBounded(carried->outputs[0])) {
    context_->bounded.extents[results[0]] = carried->outputs[0];
  }
  for (const auto& [axis, holds] : windows) {
    if (holds.IsNumber() && holds.number() == TypeOf(results[0]).shape[axis]) continue;
    ASSIGN_OR_RETURN(const ValueId extent, EmitTerm(holds));
    if (context_->graph.IsConstant(extent)) {
      return Unsupported("a dimension that a run knows less of than its operator");
    }
    RETURN_IF_ERROR(SetExtent(results[0], axis, extent).status());
  }
  return results;
}

absl::StatusOr<ValueId> OnnxNode::SliceWindow(ValueId x, int64_t axis, SizeTerm start,
                                              SizeTerm end) {
  ASSIGN_OR_RETURN(x, PackedAlong(x, axis));
  const int64_t bound = TypeOf(x).shape[axis];
  const SizeTerm size = SizeOf(x, axis), zero;
  const auto resolve = [&](const SizeTerm& at) -> absl::StatusOr<SizeTerm> {
    if (at.IsNumber() && at.number() > bound) return size;
    if (!at.IsNumber() || at.number() >= 0) return at;
    const auto from_end = size.Plus(SizeTerm(std::max(at.number(), -bound)));
    if (!from_end.has_value()) return Unsupported("a slice of too many sizes");
    return EmitGreater(*from_end, zero);
  };
  ASSIGN_OR_RETURN(start, resolve(start));
  ASSIGN_OR_RETURN(end, resolve(end));
  for (const SizeTerm& at : {start, end}) {
    // ONNX counts what is below 0 from the end.
    const std::optional<SizeRange> range = RangeOf(at);
    if (!range.has_value() || range->least < 0) {
      return Unsupported(absl::StrCat("dimension ", axis, " from or to what may be below 0"));
    }
  }
  ASSIGN_OR_RETURN(end, EmitLesser(end, size));
  const auto difference = end.Minus(start);
  if (!difference.has_value()) return Unsupported("a slice of too many sizes");
  ASSIGN_OR_RETURN(SizeTerm length, EmitGreater(*difference, zero));
  if (start == zero && length == size) return x;
  const std::optional<SizeRange> range = RangeOf(length);
  const int64_t greatest = range.has_value() ? std::min(range->greatest, bound) : bound;
  if (length == zero) {
    // Nothing in every run: an extent as another one, so that the axis stays.
    if (size.IsNumber()) return Unsupported("the slice is empty");
    ASSIGN_OR_RETURN(const ValueId none, EmitTerm(zero));
    ASSIGN_OR_RETURN(const ValueId extent, EmitTerm(size));
    ASSIGN_OR_RETURN(const ValueId empty, EmitWhole("min", {extent, none}));
    context_->bounded.ranges[empty] = {0, 0};
    length = SizeTerm::OfExtent(empty);
  }
  // An axis that may be empty is none that broadcasts.
  const int64_t taken = length.IsNumber() ? greatest : std::max<int64_t>(greatest, 2);
  if (taken > bound) {
    return Unsupported(absl::StrCat("one element or none of dimension ", axis));
  }
  if (context_->graph.IsConstant(x)) {
    // Nobody may take it for known.
    const SizeTerm& unknown = length.IsNumber() ? start : length;
    ASSIGN_OR_RETURN(const ValueId extent, EmitTerm(unknown));
    if (!unknown.IsNumber()) {
      ASSIGN_OR_RETURN(x, EmitUnknown(x, extent));
    }
  }
  Attributes attributes;
  if (start.IsNumber() && start.number() + taken <= bound) {
    attributes.Set("axes", std::vector<int64_t>{axis});
    attributes.Set("starts", std::vector<int64_t>{start.number()});
    attributes.Set("ends", std::vector<int64_t>{start.number() + taken});
    ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                     EmitWindows("slice", {x}, std::move(attributes), {{axis, length}}));
    return results[0];
  }
  std::vector<int64_t> positions(taken);
  std::iota(positions.begin(), positions.end(), 0);
  ASSIGN_OR_RETURN(ValueId index,
                   EmitConstant({DType::kI64, {taken}}, FromInts(DType::kI64, positions)));
  ASSIGN_OR_RETURN(const ValueId first, EmitTerm(start));
  ASSIGN_OR_RETURN(const ValueId last, EmitTerm(SizeTerm(bound - 1)));
  ASSIGN_OR_RETURN(index, EmitWhole("add", {index, first}));
  ASSIGN_OR_RETURN(index, EmitWhole("min", {index, last}));
  attributes.Set("axis", axis);
  ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                   EmitWindows("gather", {x, index}, std::move(attributes), {{axis, length}}));
  return results[0];
}

}  // namespace burnish
