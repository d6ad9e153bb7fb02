// Operators that write as much as their data says. The data must be known when the model is read:
// exporters compute positions and masks by them, from shapes.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {
namespace {

absl::Status Compress(OnnxNode& node) {
  Composer c(node);
  ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  int64_t axis = 0;
  if (node.HasAttribute("axis")) {
    ASSIGN_OR_RETURN(axis, NormalizeAxis(node, node.Int("axis", 0), c.Rank(x)));
  } else {
    x = c.Reshape(x, {ElementCount(c.ShapeOf(x))});
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> condition, node.ConstantInts(1, "condition"));
  RETURN_IF_ERROR(c.status());
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
  if (shape.empty()) return node.Unsupported("of a scalar, on whose places runtimes disagree");
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
  t["NonZero"] = NonZero;
}

}  // namespace burnish
