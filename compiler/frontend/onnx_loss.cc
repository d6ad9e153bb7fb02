// The two losses, and what else picks one class: OneHot, Hardmax, EyeLike, Trilu.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {
namespace {

struct Loss {
  ValueId log_prob;  // [N, C, d..]
  ValueId target;    // [N, d..]
  ValueId weight;    // [C], or -1.
  std::string reduction;
  bool ignores = false;
  int64_t ignored = 0;
};

absl::StatusOr<Loss> ReadLoss(OnnxNode& node, Composer& c) {
  Loss loss{.log_prob = c.In(0), .target = c.In(1), .weight = node.HasInput(2) ? c.In(2) : -1};
  RETURN_IF_ERROR(c.status());
  const Shape x = c.ShapeOf(loss.log_prob);
  Shape want = x;
  if (x.size() < 2) return node.Invalid("want an input [N, C, ..]");
  want.erase(want.begin() + 1);
  if (c.ShapeOf(loss.target) != want) {
    return node.Invalid("want a target of the input's shape without its classes");
  }
  if (IsFloat(c.DTypeOf(loss.target))) return node.Invalid("want a target of integers");
  if (loss.weight >= 0 && c.ShapeOf(loss.weight) != Shape{x[1]}) {
    return node.Invalid(absl::StrCat("want weights [", x[1], "]"));
  }
  loss.reduction = node.String("reduction", "mean");
  if (loss.reduction != "mean" && loss.reduction != "sum" && loss.reduction != "none") {
    return node.Invalid(absl::StrCat("reduction: got '", loss.reduction, "'"));
  }
  loss.ignores = node.HasAttribute("ignore_index");
  loss.ignored = node.Int("ignore_index", 0);
  return loss;
}

// -log_prob of the target's class, times its weight; ignored targets count 0.
ValueId EmitLoss(Composer& c, const Loss& loss) {
  const Shape shape = c.ShapeOf(loss.target);
  const DType dtype = c.DTypeOf(loss.log_prob);
  ValueId target = c.Cast(loss.target, DType::kI64);
  ValueId kept = -1;  // Bool, where targets may be ignored.
  if (loss.ignores) {
    const ValueId ignored = c.Op("equal", {target, c.Ints({}, {loss.ignored})});
    kept = c.Op("not", {ignored});
    // An ignored target may be no class at all.
    target = c.Where(kept, target, c.Ints({}, {0}));
  }
  Shape wide = shape;
  wide.insert(wide.begin() + 1, 1);
  Attributes axis;
  axis.Set("axis", int64_t{1});
  const ValueId picked =
      c.Op("gather_elements", {loss.log_prob, c.Reshape(target, wide)}, std::move(axis));
  ValueId values = c.Op("neg", {c.Reshape(picked, shape)});
  ValueId weights = loss.weight >= 0 ? c.Gather(loss.weight, target, 0) : -1;
  const ValueId zero = c.Number(dtype, 0);
  if (kept >= 0) {
    values = c.Where(kept, values, zero);
    weights = c.Where(kept, weights >= 0 ? weights : c.Number(dtype, 1), zero);
  }
  if (weights >= 0) values = c.Mul(values, weights);
  if (loss.reduction == "none") return values;
  Shape all;
  for (size_t d = 0; d < shape.size(); ++d) all.push_back(static_cast<int64_t>(d));
  if (loss.reduction == "mean" && weights < 0) {
    return c.Reduce("reduce_mean", values, all, false);
  }
  const ValueId sum = c.Reduce("reduce_sum", values, all, false);
  if (loss.reduction == "sum") return sum;
  return c.Div(sum, c.Reduce("reduce_sum", weights, all, false));
}

absl::Status NegativeLogLikelihoodLoss(OnnxNode& node) {
  Composer c(node);
  ASSIGN_OR_RETURN(const Loss loss, ReadLoss(node, c));
  c.Output(0, EmitLoss(c, loss));
  return c.status();
}

absl::Status SoftmaxCrossEntropyLoss(OnnxNode& node) {
  Composer c(node);
  ASSIGN_OR_RETURN(Loss loss, ReadLoss(node, c));
  loss.log_prob = c.Softmax(loss.log_prob, 1, "log_softmax");
  c.Output(0, EmitLoss(c, loss));
  c.Output(1, loss.log_prob);
  return c.status();
}

absl::Status OneHot(OnnxNode& node) {
  Composer c(node);
  ValueId indices = c.In(0);
  const ValueId values = c.In(2);
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(const std::vector<double> depths, node.ConstantFloats(1, "depth"));
  // Compared with each class: an output of 2^24 classes an index is no model's.
  if (depths.size() != 1 || !(depths[0] >= 1) || !(depths[0] <= 1 << 24)) {
    return node.Invalid("depth: want one number from 1 to 2^24");
  }
  const auto depth = static_cast<int64_t>(depths[0]);
  if (c.ShapeOf(values) != Shape{2}) return node.Invalid("values: want [off, on]");
  const int64_t rank = c.Rank(indices) + 1;
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node, node.Int("axis", -1), rank));
  // A float between two classes is none of them.
  const bool is_float = IsFloat(c.DTypeOf(indices));
  indices = c.Cast(indices, is_float ? DType::kF64 : DType::kI64);
  indices = c.Where(c.Less(indices, 0), c.Add(indices, static_cast<double>(depth)), indices);
  Shape wide = c.ShapeOf(indices);
  RETURN_IF_ERROR(c.status());
  wide.insert(wide.begin() + axis, 1);
  Shape classes(rank, 1);
  classes[axis] = depth;
  const ValueId class_numbers = c.Cast(c.Iota(0, depth), c.DTypeOf(indices));
  const ValueId hit = c.Op("equal", {c.Reshape(indices, wide), c.Reshape(class_numbers, classes)});
  const ValueId off = c.Reshape(c.Slice(values, 0, 0, 1), {});
  const ValueId on = c.Reshape(c.Slice(values, 0, 1, 2), {});
  c.Output(0, c.Where(hit, on, off));
  return c.status();
}

// 1 at the first maximum, else 0.
absl::Status Hardmax(OnnxNode& node) {
  Composer c(node);
  const ValueId input = c.In(0);
  ValueId x = input;
  RETURN_IF_ERROR(c.status());
  const Shape shape = c.ShapeOf(x);
  const bool flattens = node.opset() < 13;
  ASSIGN_OR_RETURN(int64_t axis, NormalizeAxis(node, node.Int("axis", flattens ? 1 : -1),
                                               static_cast<int64_t>(shape.size())));
  if (flattens) {  // As of Softmax: a matrix of the dimensions before `axis` by those from it on.
    int64_t rows = 1, columns = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      (static_cast<int64_t>(d) < axis ? rows : columns) *= shape[d];
    }
    x = c.Reshape(x, {rows, columns});
    axis = 1;
  }
  RETURN_IF_ERROR(c.status());
  Attributes along;
  along.Set("axis", axis);
  along.Set("keepdims", int64_t{1});
  const ValueId first = c.Op("argmax", {x}, std::move(along));
  const int64_t extent = c.ShapeOf(x)[axis];
  Shape classes(c.ShapeOf(x).size(), 1);
  classes[axis] = extent;
  const ValueId hit = c.Op("equal", {c.Reshape(c.Iota(0, extent), classes), first});
  const ValueId result = c.Reshape(c.Cast(hit, c.DTypeOf(x)), shape);
  RETURN_IF_ERROR(c.status());
  node.HoldAs(result, input);  // The list of classes is as long as there may be any.
  c.Output(0, result);
  return c.status();
}

// Row and column of the last two dimensions as lists that broadcast to a matrix.
struct Positions {
  ValueId row, column;
};
Positions EmitPositions(Composer& c, int64_t rows, int64_t columns) {
  return {c.Reshape(c.Iota(0, rows), {rows, 1}), c.Iota(0, columns)};
}

absl::Status Trilu(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  const Shape shape = c.ShapeOf(x);
  if (shape.size() < 2) return node.Invalid("want an input of at least 2 dimensions");
  ValueId k = c.Ints({}, {0});
  if (node.HasInput(1)) k = c.Reshape(c.In(1), {});
  const Positions at = EmitPositions(c, shape[shape.size() - 2], shape.back());
  const ValueId diagonal = c.Add(at.row, k);
  const bool upper = node.Int("upper", 1) != 0;
  const ValueId kept = upper ? c.Op("greater_equal", {at.column, diagonal})
                             : c.Op("less_equal", {at.column, diagonal});
  c.Output(0, c.Where(kept, x, c.NumberLike(x, 0)));
  return c.status();
}

absl::Status EyeLike(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  if (c.Rank(x) != 2) return node.Invalid("want an input of 2 dimensions");
  DType dtype = c.DTypeOf(x);
  if (node.HasAttribute("dtype")) {
    ASSIGN_OR_RETURN(dtype, DTypeOfOnnx(static_cast<int>(node.Int("dtype", 1)), node.Label()));
  }
  const Positions at = EmitPositions(c, c.ShapeOf(x)[0], c.ShapeOf(x)[1]);
  ValueId k = c.Ints({}, {node.Int("k", 0)});
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(k, node.EmitUnknownAs(k, x));
  const ValueId result = c.Cast(c.Op("equal", {at.column, c.Add(at.row, k)}), dtype);
  RETURN_IF_ERROR(c.status());
  node.HoldAs(result, x);
  c.Output(0, result);
  return c.status();
}

}  // namespace

void AddLossTranslators(OnnxTranslators& t) {
  t["NegativeLogLikelihoodLoss"] = NegativeLogLikelihoodLoss;
  t["SoftmaxCrossEntropyLoss"] = SoftmaxCrossEntropyLoss;
  t["OneHot"] = OneHot;
  t["Hardmax"] = Hardmax;
  t["Trilu"] = Trilu;
  t["EyeLike"] = EyeLike;
}

}  // namespace burnish
