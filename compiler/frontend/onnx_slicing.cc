// Concat, Split, Slice, Pad: starts, ends and pads are normalised here.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/element_count.h"
#include "compiler/frontend/onnx_import_context.h"

namespace burnish {
namespace {

absl::Status Concat(OnnxNode& node) {
  std::vector<ValueId> inputs;
  for (int i = 0; i < node.input_count(); ++i) {
    ASSIGN_OR_RETURN(inputs.emplace_back(), node.Input(i));
  }
  if (inputs.empty()) return node.Invalid("has no input");
  const auto rank = static_cast<int64_t>(node.TypeOf(inputs[0]).shape.size());
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node, node.Int("axis", 1), rank));
  if (inputs.size() == 1) {
    node.SetOutput(0, inputs[0]);
    return absl::OkStatus();
  }
  Attributes attributes;
  attributes.Set("axis", axis);
  return node.Finish("concat", std::move(inputs), std::move(attributes));
}

// Sizes of the parts: given, or as equal as `num_outputs` allows with a smaller last one.
absl::StatusOr<std::vector<int64_t>> SplitSizes(OnnxNode& node, int64_t extent) {
  std::vector<int64_t> sizes = node.Ints("split", {});
  if (node.HasInput(1)) {
    ASSIGN_OR_RETURN(sizes, node.ConstantInts(1, "split"));
  }
  if (!sizes.empty()) return sizes;
  const int64_t parts = node.output_count();
  if (parts < 1 || node.Int("num_outputs", parts) != parts) {
    return node.Invalid(absl::StrCat("has ", parts, " outputs, num_outputs says otherwise"));
  }
  const int64_t size = (extent + parts - 1) / parts;
  for (int64_t i = 0; i < parts; ++i) {
    sizes.push_back(std::max<int64_t>(0, std::min(size, extent - i * size)));
  }
  return sizes;
}

absl::Status Split(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  const std::vector<int64_t> shape = node.TypeOf(x).shape;
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node, node.Int("axis", 0), shape.size()));
  ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, SplitSizes(node, shape[axis]));
  int64_t left = shape[axis];
  for (int64_t size : sizes) {
    if (size < 0 || size > left) return node.Invalid("the parts' sizes do not add up");
    left -= size;
  }
  if (left != 0 || static_cast<int>(sizes.size()) != node.output_count()) {
    return node.Invalid("the parts' sizes do not add up, or their number is not the outputs'");
  }
  if (sizes.size() == 1) {
    node.SetOutput(0, x);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<ValueId> parts, node.EmitSplit(x, axis, sizes));
  for (size_t i = 0; i < parts.size(); ++i) node.SetOutput(static_cast<int>(i), parts[i]);
  return absl::OkStatus();
}

struct SliceRange {
  std::vector<int64_t> starts, ends, axes, steps;
};

absl::StatusOr<SliceRange> ReadSlice(OnnxNode& node, int64_t rank) {
  SliceRange r;
  if (node.opset() < 10) {
    r = {node.Ints("starts", {}), node.Ints("ends", {}), node.Ints("axes", {}), {}};
  } else {
    ASSIGN_OR_RETURN(r.starts, node.ConstantInts(1, "starts"));
    ASSIGN_OR_RETURN(r.ends, node.ConstantInts(2, "ends"));
    if (node.HasInput(3)) {
      ASSIGN_OR_RETURN(r.axes, node.ConstantInts(3, "axes"));
    }
    if (node.HasInput(4)) {
      ASSIGN_OR_RETURN(r.steps, node.ConstantInts(4, "steps"));
    }
  }
  if (r.axes.empty()) {
    for (size_t i = 0; i < r.starts.size(); ++i) r.axes.push_back(static_cast<int64_t>(i));
  }
  if (r.steps.empty()) r.steps.assign(r.starts.size(), 1);
  if (r.ends.size() != r.starts.size() || r.axes.size() != r.starts.size() ||
      r.steps.size() != r.starts.size()) {
    return node.Invalid("starts, ends, axes and steps differ in length");
  }
  ASSIGN_OR_RETURN(r.axes, NormalizeAxes(node, std::move(r.axes), rank));
  return r;
}

// ONNX's clamping: a forward slice lies in [0, extent], a backward one in [-1, extent - 1], where
// the end -1 means "down to and with element 0".
absl::Status ClampSlice(const OnnxNode& node, int64_t extent, int64_t& start, int64_t& end,
                        int64_t step) {
  if (step == 0 || step == std::numeric_limits<int64_t>::min()) {
    return node.Invalid(absl::StrCat("step ", step));
  }
  if (extent == 0) {
    start = end = 0;
    return absl::OkStatus();
  }
  // Bounded before the sum: the file may say the least integer for "from the beginning".
  const auto from_end = [&](int64_t v) { return v < 0 ? std::max(v, -extent - 1) + extent : v; };
  start = from_end(start);
  end = from_end(end);
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, start, extent);
  } else {
    start = std::clamp<int64_t>(start, 0, extent - 1);
    end = std::clamp<int64_t>(end, -1, start);
  }
  return absl::OkStatus();
}

// Of one axis up to an end that a run says.
absl::Status SliceToEndOfRun(OnnxNode& node, ValueId x, ValueId end) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> starts, node.ConstantInts(1, "starts"));
  std::vector<int64_t> axes = {0}, steps = {1};
  if (node.HasInput(3)) {
    ASSIGN_OR_RETURN(axes, node.ConstantInts(3, "axes"));
  }
  if (node.HasInput(4)) {
    ASSIGN_OR_RETURN(steps, node.ConstantInts(4, "steps"));
  }
  const auto rank = static_cast<int64_t>(node.TypeOf(x).shape.size());
  ASSIGN_OR_RETURN(axes, NormalizeAxes(node, std::move(axes), rank));
  if (starts != std::vector<int64_t>{0} || axes.size() != 1 || steps != std::vector<int64_t>{1} ||
      ElementCount(node.TypeOf(end).shape) != 1 || node.TypeOf(x).shape[axes[0]] < 2 ||
      node.context().graph.IsConstant(x)) {
    // Of more than the beginning of one axis: --value may say it.
    return node.ConstantInts(2, "ends").status();
  }
  AxisExtents extents = node.ExtentsOf(x);
  ASSIGN_OR_RETURN(const ValueId holding, node.ExtentAt(x, axes[0]));
  Attributes to;
  to.Set("to", std::string(DTypeName(DType::kI64)));
  ASSIGN_OR_RETURN(end, node.EmitReshape(end, {}));
  if (node.TypeOf(end).dtype != DType::kI64) {
    ASSIGN_OR_RETURN(end, node.Emit("cast", {end}, std::move(to)));
  }
  ASSIGN_OR_RETURN(const ValueId zero, node.EmitScalar(DType::kI64, 0));
  ASSIGN_OR_RETURN(const ValueId is_negative, node.Emit("less", {end, zero}));
  ASSIGN_OR_RETURN(const ValueId from_end, node.Emit("add", {end, holding}));
  ASSIGN_OR_RETURN(end, node.Emit("where", {is_negative, from_end, end}));
  ASSIGN_OR_RETURN(end, node.Emit("min", {end, holding}));
  ASSIGN_OR_RETURN(extents[axes[0]], node.Emit("max", {end, zero}));
  // The same elements under another extent.
  Attributes shape;
  shape.Set("shape", node.TypeOf(x).shape);
  ASSIGN_OR_RETURN(const std::vector<ValueId> same, node.EmitCounted("reshape", {x}, shape));
  ValueId result = same[0];
  for (int64_t d = 0; d < rank; ++d) {
    if (extents[d] == kFullAxis) continue;
    ASSIGN_OR_RETURN(result, node.SetExtent(result, d, extents[d]));
  }
  node.SetOutput(0, result);
  return absl::OkStatus();
}

}  // namespace

// Axis by axis: those that only move by numbers, and are full, as ever.
absl::Status SliceAxes(OnnxNode& node, ValueId x, const std::vector<int64_t>& axes,
                       const std::vector<SizeTerm>& starts, const std::vector<SizeTerm>& ends,
                       const std::vector<int64_t>& steps) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i], bound = node.TypeOf(x).shape[axis];
    const bool is_full = node.ExtentsOf(x)[axis] == kFullAxis;
    if (is_full && starts[i].IsNumber() && ends[i].IsNumber()) {
      int64_t start = starts[i].number(), end = ends[i].number();
      const int64_t step = std::clamp<int64_t>(steps[i], -bound - 1, bound + 1);
      RETURN_IF_ERROR(ClampSlice(node, bound, start, end, steps[i]));
      if (start == end) {
        ASSIGN_OR_RETURN(x, node.EmitNoneOf(x, axis));
        continue;
      }
      if (start == 0 && end == bound && step == 1) continue;
      Attributes attributes;
      attributes.Set("starts", std::vector<int64_t>{start});
      attributes.Set("ends", std::vector<int64_t>{end});
      attributes.Set("axes", std::vector<int64_t>{axis});
      attributes.Set("steps", std::vector<int64_t>{step});
      ASSIGN_OR_RETURN(x, node.Emit("slice", {x}, std::move(attributes)));
      continue;
    }
    if (steps[i] != 1) {
      return node.Unsupported(absl::StrCat("a slice of dimension ", axis,
                                           ", whose extent only a run knows, by ", steps[i],
                                           "; want step 1"));
    }
    ASSIGN_OR_RETURN(x, node.SliceWindow(x, axis, starts[i], ends[i]));
  }
  node.SetOutput(0, x);
  return absl::OkStatus();
}

namespace {

std::vector<SizeTerm> Numbers(const std::vector<int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

absl::Status SliceByNumbers(OnnxNode& node, ValueId x, const SliceRange& r) {
  return SliceAxes(node, x, r.axes, Numbers(r.starts), Numbers(r.ends), r.steps);
}

// From and to what a run decides about.
absl::Status SliceByTerms(OnnxNode& node, ValueId x) {
  std::vector<SizeTerm> ends[2];
  for (const int i : {0, 1}) {
    ASSIGN_OR_RETURN(const ValueId id, node.Input(i + 1));
    std::optional<std::vector<SizeTerm>> terms = node.TermsOf(id);
    if (!terms.has_value()) return node.ConstantInts(i + 1, i == 0 ? "starts" : "ends").status();
    ends[i] = *std::move(terms);
  }
  std::vector<int64_t> axes(ends[0].size()), steps(ends[0].size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (node.HasInput(3)) {
    ASSIGN_OR_RETURN(axes, node.ConstantInts(3, "axes"));
  }
  if (node.HasInput(4)) {
    ASSIGN_OR_RETURN(steps, node.ConstantInts(4, "steps"));
  }
  if (ends[1].size() != ends[0].size() || axes.size() != ends[0].size() ||
      steps.size() != ends[0].size()) {
    return node.Invalid("starts, ends, axes and steps differ in length");
  }
  const auto rank = static_cast<int64_t>(node.TypeOf(x).shape.size());
  ASSIGN_OR_RETURN(axes, NormalizeAxes(node, std::move(axes), rank));
  return SliceAxes(node, x, axes, ends[0], ends[1], steps);
}

absl::Status Slice(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  if (node.opset() >= 10 && node.HasInput(2)) {
    const auto is_constant = [&](int i) { return node.context().graph.IsConstant(*node.Input(i)); };
    const bool knows =
        node.TermsOf(*node.Input(1)).has_value() && node.TermsOf(*node.Input(2)).has_value();
    if (knows && (!is_constant(1) || !is_constant(2))) return SliceByTerms(node, x);
    if (!is_constant(2)) return SliceToEndOfRun(node, x, *node.Input(2));
  }
  const std::vector<int64_t> shape = node.TypeOf(x).shape;
  if (node.IsBounded(x) && node.opset() >= 10) return SliceByTerms(node, x);
  ASSIGN_OR_RETURN(SliceRange r, ReadSlice(node, shape.size()));
  if (node.IsBounded(x)) return SliceByNumbers(node, x, r);
  bool whole = true;
  for (size_t i = 0; i < r.axes.size(); ++i) {
    const int64_t extent = shape[r.axes[i]];
    RETURN_IF_ERROR(ClampSlice(node, extent, r.starts[i], r.ends[i], r.steps[i]));
    // Longer steps than the extent all mean the same.
    r.steps[i] = std::clamp<int64_t>(r.steps[i], -extent - 1, extent + 1);
    whole = whole && r.starts[i] == 0 && r.ends[i] == extent && r.steps[i] == 1;
  }
  if (whole) {
    node.SetOutput(0, x);
    return absl::OkStatus();
  }
  TensorType cut = node.TypeOf(x);
  for (size_t i = 0; i < r.axes.size(); ++i) {
    const int64_t span = std::abs(r.ends[i] - r.starts[i]), step = std::abs(r.steps[i]);
    cut.shape[r.axes[i]] = (span + step - 1) / step;
  }
  if (ElementCount(cut.shape) == 0) {
    ASSIGN_OR_RETURN(const ValueId empty, node.EmitEmpty(std::move(cut)));
    node.SetOutput(0, empty);
    return absl::OkStatus();
  }
  Attributes attributes;
  attributes.Set("starts", r.starts);
  attributes.Set("ends", r.ends);
  attributes.Set("axes", r.axes);
  attributes.Set("steps", r.steps);
  return node.Finish("slice", {x}, std::move(attributes));
}

// pads of all dimensions [begin.., end..], axes resolved.
absl::StatusOr<std::vector<int64_t>> ReadPads(OnnxNode& node, size_t rank) {
  std::vector<int64_t> pads = node.Ints("pads", {});
  if (node.opset() >= 11) {
    ASSIGN_OR_RETURN(pads, node.ConstantInts(1, "pads"));
  }
  std::vector<int64_t> axes;
  for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  if (node.HasInput(3)) {
    ASSIGN_OR_RETURN(axes, node.ConstantInts(3, "axes"));
    ASSIGN_OR_RETURN(axes, NormalizeAxes(node, std::move(axes), rank));
  }
  if (pads.size() != 2 * axes.size()) {
    return node.Invalid(absl::StrCat("pads: got ", pads.size(), " values, want ", 2 * axes.size()));
  }
  std::vector<int64_t> all(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    all[axes[i]] = pads[i];
    all[rank + axes[i]] = pads[axes.size() + i];
  }
  for (int64_t pad : all) {
    // So that sums of a pad and an extent do not overflow.
    if (pad < -node.context().options->max_tensor_elements ||
        pad > node.context().options->max_tensor_elements) {
      return node.Invalid(absl::StrCat("pads: got ", pad));
    }
  }
  return all;
}

// Negative pads cut: they become a slice, and 0.
absl::StatusOr<ValueId> CutNegativePads(OnnxNode& node, ValueId x, std::vector<int64_t>& pads) {
  const std::vector<int64_t> shape = node.TypeOf(x).shape;
  const size_t rank = shape.size();
  SliceRange r;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t begin = std::min<int64_t>(pads[d], 0);
    const int64_t end = std::min<int64_t>(pads[rank + d], 0);
    if (begin == 0 && end == 0) continue;
    if (-begin - end > shape[d]) return node.Unsupported("pads that cut off what others add");
    pads[d] -= begin;
    pads[rank + d] -= end;
    const auto axis = static_cast<int64_t>(d);
    if (-begin - end == shape[d]) {
      if (node.ExtentsOf(x)[d] != kFullAxis) return node.Unsupported("pads that leave nothing");
      ASSIGN_OR_RETURN(x, node.EmitNoneOf(x, axis));
      continue;
    }
    r.axes.push_back(axis);
    r.starts.push_back(-begin);
    r.ends.push_back(shape[d] + end);
    r.steps.push_back(1);
  }
  if (r.axes.empty()) return x;
  Attributes attributes;
  attributes.Set("starts", r.starts);
  attributes.Set("ends", r.ends);
  attributes.Set("axes", r.axes);
  attributes.Set("steps", r.steps);
  return node.Emit("slice", {x}, std::move(attributes));
}

// A constant that is not known when the model is read: chosen outside of the input by a mask.
absl::Status PadByTensor(OnnxNode& node, ValueId x, const Attributes& attributes) {
  ASSIGN_OR_RETURN(const ValueId value, node.Input(2));
  if (ElementCount(node.TypeOf(value).shape) != 1) {
    return node.Invalid(
        absl::StrCat("constant_value: got ", PrintType(node.TypeOf(value)), ", want one element"));
  }
  ASSIGN_OR_RETURN(const ValueId scalar, node.EmitReshape(value, {}));
  ASSIGN_OR_RETURN(const ValueId padded, node.Emit("pad", {x}, attributes));
  ASSIGN_OR_RETURN(ValueId inside, node.EmitScalar(DType::kBool, 1));
  Attributes to;
  to.Set("shape", node.TypeOf(x).shape);
  ASSIGN_OR_RETURN(inside, node.Emit("expand", {inside}, std::move(to)));
  ASSIGN_OR_RETURN(inside, node.Emit("pad", {inside}, attributes));
  return node.Finish("where", {inside, padded, scalar});
}

absl::Status Pad(OnnxNode& node) {
  ASSIGN_OR_RETURN(ValueId x, node.Input(0));
  const std::string mode = node.String("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return node.Invalid(absl::StrCat("mode: got '", mode, "'"));
  }
  ASSIGN_OR_RETURN(std::vector<int64_t> pads, ReadPads(node, node.TypeOf(x).shape.size()));
  double value = node.Float("value", 0);
  bool value_is_known = true;
  if (node.HasInput(2)) {
    ASSIGN_OR_RETURN(const ValueId given, node.Input(2));
    // The other modes do not read it.
    value_is_known = mode != "constant" || node.context().graph.IsConstant(given);
  }
  if (node.HasInput(2) && mode == "constant" && value_is_known) {
    ASSIGN_OR_RETURN(const std::vector<double> values, node.ConstantFloats(2, "constant_value"));
    if (!values.empty()) value = values[0];
  }
  ASSIGN_OR_RETURN(x, CutNegativePads(node, x, pads));
  if (std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; })) {
    node.SetOutput(0, x);
    return absl::OkStatus();
  }
  TensorType made = node.TypeOf(x);
  std::vector<SizeTerm> terms;
  for (size_t d = 0; d < made.shape.size(); ++d) {
    const int64_t pad = pads[d] + pads[d + made.shape.size()];
    made.shape[d] += pad;
    const auto term = node.SizeOf(x, static_cast<int64_t>(d)).Plus(SizeTerm(pad));
    if (!term.has_value()) return node.Unsupported("a size beyond 64 bits");
    terms.push_back(*term);
  }
  if (node.IsEmpty(x) && value_is_known && (mode == "constant" || !node.IsBounded(x))) {
    ASSIGN_OR_RETURN(
        const int64_t count,
        CheckedElementCount(made.shape, node.context().options->max_tensor_elements, node.Label()));
    if (count == 0) {
      ASSIGN_OR_RETURN(const ValueId none, node.EmitEmpty(std::move(made)));
      ASSIGN_OR_RETURN(const ValueId held, node.HoldTerms(none, terms));
      node.SetOutput(0, held);
      return absl::OkStatus();
    }
    if (mode == "constant") {  // All of it is border.
      ASSIGN_OR_RETURN(const ValueId border, node.EmitScalar(made.dtype, value));
      Attributes whole;
      whole.Set("shape", std::move(made.shape));
      ASSIGN_OR_RETURN(const ValueId all, node.Emit("expand", {border}, std::move(whole)));
      ASSIGN_OR_RETURN(const ValueId some, node.EmitUnknownAs(all, x));
      ASSIGN_OR_RETURN(const ValueId held, node.HoldTerms(some, terms));
      node.SetOutput(0, held);
      return absl::OkStatus();
    }
  }
  Attributes attributes;
  attributes.Set("pads", std::move(pads));
  attributes.Set("mode", mode);
  attributes.Set("value", value);
  if (!value_is_known) return PadByTensor(node, x, attributes);
  return node.Finish("pad", {x}, std::move(attributes));
}

}  // namespace

void AddSlicingTranslators(OnnxTranslators& t) {
  t["Concat"] = Concat;
  t["Split"] = Split;
  t["Slice"] = Slice;
  t["Pad"] = Pad;
}

}  // namespace burnish
