// Operators that write as much as their data says: known when the model is read, where exporters
// compute positions and masks by them from shapes, or counted by each run.
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {
namespace {

// Places of what is not 0, as columns, and how many.
absl::StatusOr<std::vector<ValueId>> FindNonZero(OnnxNode& node, ValueId x) {
  ASSIGN_OR_RETURN(x, node.Packed(x));
  ASSIGN_OR_RETURN(const ValueId filled, node.Filled(x, 0));
  ASSIGN_OR_RETURN(std::vector<ValueId> found, node.EmitCounted("non_zero", {filled}));
  ASSIGN_OR_RETURN(found[0], node.SetExtent(found[0], 1, found[1]));
  return found;
}

// Slices of x at the places where the condition holds.
absl::Status CompressInRun(OnnxNode& node, ValueId x, ValueId condition, int64_t axis) {
  Composer c(node);
  const Shape shape = c.ShapeOf(condition);
  const int64_t extent = c.ShapeOf(x)[axis];
  if (shape.size() != 1 || c.DTypeOf(condition) != DType::kBool) {
    return node.Invalid("want a list of bool for a condition");
  }
  // A longer one says nothing of what is not there; a shorter one takes none of the rest.
  if (shape[0] > extent && !node.IsBounded(condition)) condition = c.Slice(condition, 0, 0, extent);
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(const std::vector<ValueId> found, FindNonZero(node, condition));
  c.Output(0, c.Gather(x, c.Reshape(found[0], {c.ShapeOf(found[0])[1]}), axis));
  return c.status();
}

// The axis that the node names; without one `x` becomes all of its elements in a row.
absl::StatusOr<int64_t> AxisOrAll(Composer& c, OnnxNode& node, ValueId& x) {
  if (node.HasAttribute("axis")) return NormalizeAxis(node, node.Int("axis", 0), c.Rank(x));
  x = c.Reshape(x, {ElementCount(c.ShapeOf(x))});
  RETURN_IF_ERROR(c.status());
  return 0;
}

absl::Status Compress(OnnxNode& node) {
  Composer c(node);
  ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(const int64_t axis, AxisOrAll(c, node, x));
  ASSIGN_OR_RETURN(const ValueId given, node.Input(1));
  if (!c.IsConstant(given)) return CompressInRun(node, x, given, axis);
  if (node.IsBounded(x)) return node.Unsupported("a condition of fixed size for what a run sizes");
  ASSIGN_OR_RETURN(const std::vector<int64_t> condition, node.ConstantInts(1, "condition"));
  // A condition may be shorter than the axis: the rest is not taken.
  const auto extent = static_cast<size_t>(c.ShapeOf(x)[axis]);
  std::vector<int64_t> taken;
  for (size_t i = 0; i < std::min(condition.size(), extent); ++i) {
    if (condition[i] != 0) taken.push_back(static_cast<int64_t>(i));
  }
  if (taken.empty()) return node.Unsupported("a result without elements");
  c.Output(0, c.Gather(x, c.Ints({static_cast<int64_t>(taken.size())}, taken), axis));
  return c.status();
}

absl::Status NonZero(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  const Shape shape = c.ShapeOf(x);
  // ONNX's text: places of a scalar have no coordinate.
  if (shape.empty() && !c.IsConstant(x)) return node.Unsupported("of a scalar: [0, N] is empty");
  if (!c.IsConstant(x)) {
    ASSIGN_OR_RETURN(const std::vector<ValueId> found, FindNonZero(node, x));
    c.Output(0, found[0]);
    return c.status();
  }
  std::vector<double> values;
  if (IsFloat(c.DTypeOf(x))) {
    ASSIGN_OR_RETURN(values, node.ConstantFloats(0, "X"));
  } else {
    ASSIGN_OR_RETURN(const std::vector<int64_t> integers, node.ConstantInts(0, "X"));
    for (const int64_t v : integers) values.push_back(v != 0 ? 1 : 0);
  }
  const auto rank = static_cast<int64_t>(shape.size());
  std::vector<int64_t> places;  // By element, row-major.
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) places.push_back(static_cast<int64_t>(i));
  }
  const auto count = static_cast<int64_t>(places.size());
  if (!c.MayMake({rank, count + 1})) return c.status();
  std::vector<int64_t> coordinates(rank * count);
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t d = rank, rest = places[k]; d-- > 0; rest /= shape[d]) {
      coordinates[d * count + k] = rest % shape[d];
    }
  }
  c.Output(0, c.Ints({rank, count}, coordinates));
  return c.status();
}

absl::Status Unique(OnnxNode& node) {
  Composer c(node);
  ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(const int64_t axis, AxisOrAll(c, node, x));
  ASSIGN_OR_RETURN(x, node.Packed(x));
  const AxisExtents extents = node.ExtentsOf(x);
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] != kFullAxis && static_cast<int64_t>(d) != axis) {
      return node.Unsupported(
          absl::StrCat("compares slices with dimension ", d, ", whose extent only a run knows"));
    }
  }
  ASSIGN_OR_RETURN(const ValueId holding, node.ExtentAt(x, axis));
  Attributes attributes;
  attributes.Set("axis", axis);
  attributes.Set("sorted", node.Int("sorted", 1));
  ASSIGN_OR_RETURN(std::vector<ValueId> found,
                   node.EmitCounted("unique", {x, holding}, std::move(attributes)));
  ASSIGN_OR_RETURN(found[0], node.SetExtent(found[0], axis, found[4]));
  for (const int i : {1, 3}) {
    ASSIGN_OR_RETURN(found[i], node.SetExtent(found[i], 0, found[4]));
  }
  ASSIGN_OR_RETURN(found[2], node.SetExtent(found[2], 0, holding));
  for (int i = 0; i < 4; ++i) c.Output(i, found[i]);
  return c.status();
}

// An optional input of one element, or what stands for it.
absl::StatusOr<ValueId> OneNumber(OnnxNode& node, int i, DType dtype, double otherwise) {
  if (!node.HasInput(i)) return node.EmitScalar(dtype, otherwise);
  ASSIGN_OR_RETURN(const ValueId given, node.Input(i));
  if (ElementCount(node.TypeOf(given).shape) == 0) return node.EmitScalar(dtype, otherwise);
  if (ElementCount(node.TypeOf(given).shape) == 1 && !node.IsBounded(given)) {
    return node.EmitReshape(given, {});
  }
  return node.Invalid(absl::StrCat("input ", i, " is no number"));
}

absl::Status NonMaxSuppression(OnnxNode& node) {
  Composer c(node);
  const ValueId boxes = c.In(0), scores = c.In(1);
  ASSIGN_OR_RETURN(const ValueId limit, OneNumber(node, 2, DType::kI64, 0));
  ASSIGN_OR_RETURN(const ValueId overlap, OneNumber(node, 3, DType::kF32, 0));
  ASSIGN_OR_RETURN(const ValueId threshold,
                   OneNumber(node, 4, DType::kF32, -std::numeric_limits<double>::infinity()));
  RETURN_IF_ERROR(c.status());
  const AxisExtents of_boxes = node.ExtentsOf(boxes), of_scores = node.ExtentsOf(scores);
  if (of_boxes.size() != 3 || of_scores.size() != 3) return node.Invalid("want three dimensions");
  if (of_boxes[0] != kFullAxis || of_boxes[2] != kFullAxis || of_scores[0] != kFullAxis ||
      of_scores[1] != kFullAxis || of_boxes[1] != of_scores[2]) {
    return node.Unsupported(
        "another dimension than that of the boxes has an extent that only a run knows");
  }
  ASSIGN_OR_RETURN(const ValueId holding, node.ExtentAt(boxes, 1));
  int64_t most = c.ShapeOf(boxes)[1];
  if (c.IsConstant(limit)) {
    // Of a constant input 2, or of what stands for it.
    const GraphValue& value = node.context().graph.value(limit);
    most = std::clamp<int64_t>(ToInts(value.type, *value.data)[0], 1, most);
  }
  Attributes attributes;
  attributes.Set("center_point_box", node.Int("center_point_box", 0));
  attributes.Set("most", most);
  ASSIGN_OR_RETURN(
      std::vector<ValueId> found,
      node.EmitCounted("non_max_suppression", {boxes, scores, limit, overlap, threshold, holding},
                       std::move(attributes)));
  ASSIGN_OR_RETURN(found[0], node.SetExtent(found[0], 0, found[1]));
  c.Output(0, found[0]);
  return c.status();
}

// The places are those of the whole output, flat, as MaxPool gives them.
absl::Status MaxUnpool(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0), places = c.In(1);
  RETURN_IF_ERROR(c.status());
  Shape shape = c.ShapeOf(x);
  const auto spatial = static_cast<int64_t>(shape.size()) - 2;
  const Shape kernel = node.Ints("kernel_shape", {});
  const Shape strides = node.Ints("strides", Shape(std::max<int64_t>(spatial, 0), 1));
  const Shape pads = node.Ints("pads", Shape(std::max<int64_t>(2 * spatial, 0), 0));
  if (spatial < 1 || static_cast<int64_t>(kernel.size()) != spatial ||
      static_cast<int64_t>(strides.size()) != spatial ||
      static_cast<int64_t>(pads.size()) != 2 * spatial || c.ShapeOf(places) != shape) {
    return node.Invalid("kernel_shape, strides, pads, X and I disagree about the dimensions");
  }
  constexpr int64_t kExtentMax = int64_t{1} << 31;  // Far from what products could overflow.
  for (int64_t d = 0; d < spatial; ++d) {
    for (const int64_t value : {kernel[d], strides[d], pads[d], pads[spatial + d]}) {
      if (value < 0 || value > kExtentMax) return node.Invalid(absl::StrCat("got ", value));
    }
    int64_t& extent = shape[2 + d];
    if (extent > kExtentMax) return node.Invalid(absl::StrCat("got extent ", extent));
    extent = (extent - 1) * strides[d] + kernel[d] - pads[d] - pads[spatial + d];
  }
  if (node.HasInput(2)) {
    ASSIGN_OR_RETURN(const Shape given, node.ConstantInts(2, "output_shape"));
    // In ONNX's reference the places are those of the shape without it, in ONNX Runtime of this
    // one.
    if (given != shape) return node.Unsupported("an output_shape that is not the pool's own");
  }
  for (const int64_t extent : shape) {
    if (extent < 1) return node.Invalid(absl::StrCat("a result's dimension is ", extent));
  }
  if (!c.MayMake(shape)) return c.status();
  const int64_t count = ElementCount(shape), given = ElementCount(c.ShapeOf(x));
  const ValueId zeros = c.Constant(c.DTypeOf(x), {count}, std::vector<double>(count, 0.0));
  const ValueId flat =
      c.Op("scatter_elements", {zeros, c.Reshape(places, {given}), c.Reshape(x, {given})});
  c.Output(0, c.Reshape(flat, shape));
  return c.status();
}

}  // namespace

void AddSelectionTranslators(OnnxTranslators& t) {
  t["Compress"] = Compress;
  t["MaxUnpool"] = MaxUnpool;
  t["NonMaxSuppression"] = NonMaxSuppression;
  t["NonZero"] = NonZero;
  t["Unique"] = Unique;
}

}  // namespace burnish
