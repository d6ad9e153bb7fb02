// Gather and its like, ReverseSequence, CenterCropPad, TensorScatter.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {
namespace {

absl::Status Gather(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  ASSIGN_OR_RETURN(const ValueId indices, node.Input(1));
  ASSIGN_OR_RETURN(const int64_t axis,
                   NormalizeAxis(node, node.Int("axis", 0), node.TypeOf(x).shape.size()));
  Attributes attributes;
  attributes.Set("axis", axis);
  return node.Finish(node.type() == "Gather" ? "gather" : "gather_elements", {x, indices},
                     std::move(attributes));
}

absl::Status GatherNd(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  ASSIGN_OR_RETURN(const ValueId indices, node.Input(1));
  Attributes attributes;
  attributes.Set("batch_dims", node.Int("batch_dims", 0));
  return node.Finish("gather_nd", {x, indices}, std::move(attributes));
}

// Of an odd difference the one more is cut, or added, at the end.
absl::Status CenterCropPad(OnnxNode& node) {
  Composer c(node);
  ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, node.ConstantInts(1, "shape"));
  const int64_t rank = c.Rank(x);
  Shape axes;
  for (int64_t d = 0; d < rank; ++d) axes.push_back(d);
  ASSIGN_OR_RETURN(axes, NormalizeAxes(node, node.Ints("axes", axes), rank));
  if (axes.size() != sizes.size()) return node.Invalid("shape and axes disagree");
  Shape pads(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i], extent = c.ShapeOf(x)[axis];
    if (sizes[i] < 1 || sizes[i] > node.context().options->max_tensor_elements) {
      return node.Invalid(absl::StrCat("shape: got ", sizes[i]));
    }
    if (sizes[i] < extent) {
      const int64_t begin = (extent - sizes[i]) / 2;
      x = c.Slice(x, axis, begin, begin + sizes[i]);
    } else {
      pads[axis] = (sizes[i] - extent) / 2;
      pads[rank + axis] = sizes[i] - extent - pads[axis];
    }
    RETURN_IF_ERROR(c.status());
  }
  c.Output(0, c.Pad(x, pads));
  return c.status();
}

// Each position of the cache is either one of the update or keeps what it has: no scatter, and
// every element is written once.
absl::Status TensorScatter(OnnxNode& node) {
  Composer c(node);
  const ValueId cache = c.In(0), update = c.In(1);
  RETURN_IF_ERROR(c.status());
  const Shape shape = c.ShapeOf(cache);
  const int64_t rank = c.Rank(cache);
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node, node.Int("axis", -2), rank));
  Shape want = shape;
  if (axis == 0 || c.Rank(update) != rank) return node.Invalid("axis 0, or ranks that differ");
  const int64_t extent = shape[axis], count = c.ShapeOf(update)[axis];
  want[axis] = count;
  if (c.ShapeOf(update) != want || count > extent) {
    return node.Invalid("want an update of the cache's shape, but for the axis");
  }
  const std::string mode = node.String("mode", "linear");
  if (mode != "linear" && mode != "circular") {
    return node.Invalid(absl::StrCat("mode: got '", mode, "'"));
  }
  ValueId begin = c.Ints({}, {0});
  if (node.HasInput(2)) {
    begin = c.In(2);
    RETURN_IF_ERROR(c.status());
    if (c.ShapeOf(begin) != Shape{shape[0]}) return node.Invalid("write_indices: want [batch]");
    Shape by_batch(rank, 1);
    by_batch[0] = shape[0];
    begin = c.Reshape(c.Cast(begin, DType::kI64), by_batch);
  }
  Shape along(rank, 1);
  along[axis] = extent;
  ValueId source = c.Sub(c.Reshape(c.Iota(0, extent), along), begin);
  if (mode == "circular") source = c.Op("mod", {source, c.Ints({}, {extent})});
  const ValueId written = c.And(c.Op("greater_equal", {source, c.Ints({}, {0})}),
                                c.Less(source, static_cast<double>(count)));
  Attributes attributes;
  attributes.Set("axis", axis);
  attributes.Set("broadcast", int64_t{1});
  const ValueId inside = c.Min(c.Max(source, 0), static_cast<double>(count - 1));
  const ValueId taken = c.Op("gather_elements", {update, inside}, std::move(attributes));
  c.Output(0, c.Where(written, taken, cache));
  return c.status();
}

// The first elements of each sequence backwards: a gather by positions that count down there.
absl::Status ReverseSequence(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0), lengths = c.In(1);
  RETURN_IF_ERROR(c.status());
  const int64_t rank = c.Rank(x);
  ASSIGN_OR_RETURN(const int64_t time, NormalizeAxis(node, node.Int("time_axis", 0), rank));
  ASSIGN_OR_RETURN(const int64_t batch, NormalizeAxis(node, node.Int("batch_axis", 1), rank));
  const Shape shape = c.ShapeOf(x);
  if (time == batch || c.ShapeOf(lengths) != Shape{shape[batch]}) {
    return node.Invalid("want two axes, and sequence_lens [batch]");
  }
  Shape along(rank, 1), across(rank, 1);
  along[time] = shape[time];
  across[batch] = shape[batch];
  const ValueId at = c.Reshape(c.Iota(0, shape[time]), along);
  const ValueId length = c.Reshape(c.Cast(lengths, DType::kI64), across);
  const ValueId back = c.Sub(c.Sub(length, c.Ints({}, {1})), at);
  const ValueId from = c.Where(c.Op("less", {at, length}), back, at);
  Attributes attributes;
  attributes.Set("axis", time);
  attributes.Set("broadcast", int64_t{1});
  c.Output(0, c.Op("gather_elements", {x, from}, std::move(attributes)));
  return c.status();
}

}  // namespace

void AddGatherTranslators(OnnxTranslators& t) {
  t["Gather"] = Gather;
  t["GatherElements"] = Gather;
  t["GatherND"] = GatherNd;
  t["ReverseSequence"] = ReverseSequence;
  t["CenterCropPad"] = CenterCropPad;
  t["TensorScatter"] = TensorScatter;
}

}  // namespace burnish
