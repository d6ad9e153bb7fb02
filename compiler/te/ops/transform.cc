// Operators that move data: transpose, reshape, expand, concat, split, slice, pad.
#include <algorithm>
#include <cstdlib>

#include "compiler/te/ops/common.h"
#include "compiler/te/ops/families.h"

namespace burnish::ops {
namespace {

// ---- transpose: dimension d of the result is dimension perm[d] of the input.

InferResult InferTranspose(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 1, 1));
  const std::vector<int64_t> perm = attributes.Ints("perm", {});
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool valid = perm.size() == inputs[0].shape.size();
  for (size_t d = 0; d < sorted.size(); ++d) valid = valid && sorted[d] == static_cast<int64_t>(d);
  if (!valid) {
    return Bad("got perm=", ListText(perm), ", want a permutation of the ", inputs[0].shape.size(),
               " dimensions");
  }
  TensorType out = inputs[0];
  for (size_t d = 0; d < perm.size(); ++d) out.shape[d] = inputs[0].shape[perm[d]];
  return std::vector<TensorType>{out};
}

std::vector<Tensor> DefineTranspose(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const std::vector<int64_t> perm = attributes.Ints("perm", {});
  TensorType type = inputs[0].type;
  for (size_t d = 0; d < perm.size(); ++d) type.shape[d] = inputs[0].type.shape[perm[d]];
  return {te.Compute("Y", type, [&](const Indices& i) {
    Indices at(i.size());
    for (size_t d = 0; d < perm.size(); ++d) at[perm[d]] = i[d];
    return inputs[0](at);
  })};
}

// ---- reshape

InferResult InferReshape(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 1, 1));
  const std::vector<int64_t> shape = attributes.Ints("shape", {});
  const bool is_shape =
      std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent >= 0; });
  if (!is_shape || ElementCount(shape) != ElementCount(inputs[0].shape)) {
    return Bad("got shape=", ListText(shape), ", want one with the ", ElementCount(inputs[0].shape),
               " elements of ", TypeText(inputs[0]));
  }
  return std::vector<TensorType>{{inputs[0].dtype, shape}};
}

// Indices of the element at the same row-major position in another shape. Runs of dimensions with
// equal products are mapped apart from each other: no division is written that is not needed.
Indices Reindexed(const Indices& i, const std::vector<int64_t>& from,
                  const std::vector<int64_t>& to) {
  Indices at(to.size());
  size_t f = 0;
  size_t t = 0;
  while (f < from.size() || t < to.size()) {
    size_t f_end = f;
    size_t t_end = t;
    int64_t f_size = 1;
    int64_t t_size = 1;
    do {
      if (f_end < from.size() && (f_size <= t_size || t_end == to.size())) {
        f_size *= from[f_end++];
      } else {
        t_size *= to[t_end++];
      }
    } while (f_size != t_size);
    Expr position = Int(0);
    for (size_t d = f; d < f_end; ++d) position = position * from[d] + i[d];
    int64_t left = t_size;  // Extent of `position`.
    for (size_t d = t_end; d-- > t;) {
      left /= to[d];
      at[d] = to[d] == 1 ? Int(0) : left == 1 ? position : Mod(position, to[d]);
      if (to[d] != 1) position = FloorDiv(position, to[d]);
    }
    f = f_end;
    t = t_end;
  }
  return at;
}

std::vector<Tensor> DefineReshape(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const TensorType type = {inputs[0].type.dtype, attributes.Ints("shape", {})};
  return {te.Compute("Y", type, [&](const Indices& i) {
    return inputs[0](Reindexed(i, type.shape, inputs[0].type.shape));
  })};
}

// ---- expand: broadcast with a shape.

InferResult InferExpand(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 1, 1));
  ASSIGN_OR_RETURN(std::vector<int64_t> shape,
                   BroadcastShapes(inputs[0].shape, attributes.Ints("shape", {})));
  const TensorType out = {inputs[0].dtype, std::move(shape)};
  return std::vector<TensorType>{out};
}

std::vector<Tensor> DefineExpand(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const TensorType type = {inputs[0].type.dtype,
                           *BroadcastShapes(inputs[0].type.shape, attributes.Ints("shape", {}))};
  return {te.Compute("Y", type, [&](const Indices& i) { return AtBroadcast(inputs[0], i); })};
}

// ---- concat

InferResult InferConcat(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 1, 1024));
  RETURN_IF_ERROR(CheckSameDType(inputs));
  const int rank = static_cast<int>(inputs[0].shape.size());
  ASSIGN_OR_RETURN(const int axis, CheckAxis(attributes.Int("axis", 0), rank));
  TensorType out = inputs[0];
  for (size_t k = 1; k < inputs.size(); ++k) {
    std::vector<int64_t> want = inputs[0].shape;
    if (static_cast<int>(inputs[k].shape.size()) == rank) want[axis] = inputs[k].shape[axis];
    if (inputs[k].shape != want) {
      return Bad("got ", TypeText(inputs[k]), ", want ", TypeText(inputs[0]), " but for dimension ",
                 axis, ", for input ", k);
    }
    out.shape[axis] += want[axis];
  }
  return std::vector<TensorType>{out};
}

std::vector<Tensor> DefineConcat(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const int axis = NormalizeAxis(attributes.Int("axis", 0), inputs[0].rank());
  TensorType type = inputs[0].type;
  for (size_t k = 1; k < inputs.size(); ++k) type.shape[axis] += inputs[k].dim(axis);
  return {te.Compute("Y", type, [&](const Indices& i) {
    // From the last input to the first: i < end0 ? x0[i] : i < end1 ? x1[i - end0] : ..
    int64_t start = type.shape[axis];
    Expr value;
    for (size_t k = inputs.size(); k-- > 0;) {
      const int64_t end = start;
      start -= inputs[k].dim(axis);
      Indices at = i;
      at[axis] = i[axis] - start;
      const Expr here = inputs[k](at);
      value = value == nullptr ? here : Select(Lt(i[axis], Int(end)), here, value);
    }
    return value;
  })};
}

// ---- split: one output for each size in `split`.

InferResult InferSplit(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 1, 1));
  const TensorType& x = inputs[0];
  ASSIGN_OR_RETURN(const int axis,
                   CheckAxis(attributes.Int("axis", 0), static_cast<int>(x.shape.size())));
  const std::vector<int64_t> sizes = attributes.Ints("split", {});
  int64_t total = 0;
  bool positive = !sizes.empty();
  std::vector<TensorType> outputs;
  for (const int64_t size : sizes) {
    positive = positive && size > 0 && size <= x.shape[axis];
    total += positive ? size : 0;
    outputs.push_back(x);
    outputs.back().shape[axis] = size;
  }
  if (!positive || total != x.shape[axis]) {
    return Bad("got split=", ListText(sizes), ", want sizes >= 1 that sum to ", x.shape[axis]);
  }
  return outputs;
}

std::vector<Tensor> DefineSplit(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& x = inputs[0];
  const int axis = NormalizeAxis(attributes.Int("axis", 0), x.rank());
  std::vector<Tensor> outputs;
  int64_t start = 0;
  for (const int64_t size : attributes.Ints("split", {})) {
    TensorType type = x.type;
    type.shape[axis] = size;
    outputs.push_back(te.Compute("Y", type, [&](const Indices& i) {
      Indices at = i;
      at[axis] = i[axis] + start;
      return x(at);
    }));
    start += size;
  }
  return outputs;
}

// ---- slice: starts and ends are positions (an end of -1 is "before element 0").

InferResult InferSlice(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 1, 1));
  TensorType out = inputs[0];
  const std::vector<int64_t> axes = attributes.Ints("axes", {});
  // 32 bits, so that products with an index do not overflow. The same for pads below.
  ASSIGN_OR_RETURN(const auto steps,
                   IntsAttribute(attributes, "steps", axes.size(), 1, -(int64_t{1} << 31)));
  const std::vector<int64_t> starts = attributes.Ints("starts", {});
  const std::vector<int64_t> ends = attributes.Ints("ends", {});
  if (starts.size() != axes.size() || ends.size() != axes.size()) {
    return Bad("got ", starts.size(), " starts and ", ends.size(), " ends, want ", axes.size(),
               " as axes");
  }
  for (size_t k = 0; k < axes.size(); ++k) {
    ASSIGN_OR_RETURN(const int axis, CheckAxis(axes[k], static_cast<int>(out.shape.size())));
    const int64_t extent = inputs[0].shape[axis];
    const int64_t step = steps[k];
    if (step == 0 || starts[k] < 0 || starts[k] >= extent || ends[k] < -1 || ends[k] > extent) {
      return Bad("got start=", starts[k], " end=", ends[k], " step=", step,
                 ", want positions in a dimension of ", extent, " and a step that is not 0");
    }
    const int64_t span = step > 0 ? ends[k] - starts[k] : starts[k] - ends[k];
    if (span < 1) return Bad("got an empty slice of axis ", axis, ", want at least 1 element");
    out.shape[axis] = (span - 1) / std::abs(step) + 1;
  }
  return std::vector<TensorType>{out};
}

std::vector<Tensor> DefineSlice(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& x = inputs[0];
  const TensorType type = (*InferSlice(attributes, {x.type}))[0];
  const std::vector<int64_t> axes = attributes.Ints("axes", {});
  const std::vector<int64_t> starts = attributes.Ints("starts", {});
  const std::vector<int64_t> steps = attributes.Ints("steps", std::vector<int64_t>(axes.size(), 1));
  return {te.Compute("Y", type, [&](const Indices& i) {
    Indices at = i;
    for (size_t k = 0; k < axes.size(); ++k) {
      const int axis = NormalizeAxis(axes[k], x.rank());
      at[axis] = i[axis] * steps[k] + starts[k];
    }
    return x(at);
  })};
}

// ---- pad: pads are [begin.., end..] for all dimensions; negative ones cut off.

struct PadShape {
  std::vector<std::pair<int64_t, int64_t>> pads;
  std::vector<int64_t> out;
};

absl::StatusOr<PadShape> PadShapeOf(const Attributes& attributes, const TensorType& x) {
  const size_t rank = x.shape.size();
  const std::string mode = attributes.String("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return Bad("got mode=", mode, ", want constant, reflect, edge or wrap");
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> pads,
                   IntsAttribute(attributes, "pads", 2 * rank, 0, -(int64_t{1} << 31)));
  PadShape shape;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t below = pads[d];
    const int64_t above = pads[d + rank];
    shape.pads.emplace_back(below, above);
    shape.out.push_back(x.shape[d] + below + above);
    if (shape.out.back() < 1) {
      return Bad("got pads that leave ", shape.out.back(),
                 " elements, want at least 1, in dimension ", d);
    }
    // PaddedSource mirrors once at either end.
    if (mode == "reflect" && std::max(below, above) >= x.shape[d]) {
      return Bad("got pads ", below, " and ", above, " to reflect, want less than the ", x.shape[d],
                 " elements of dimension ", d);
    }
  }
  return shape;
}

InferResult InferPad(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 1, 1));
  ASSIGN_OR_RETURN(PadShape shape, PadShapeOf(attributes, inputs[0]));
  return std::vector<TensorType>{{inputs[0].dtype, std::move(shape.out)}};
}

// Where position `at`, which may lie outside of [0, extent), takes its value from.
Expr PaddedSource(const std::string& mode, const Expr& at, int64_t extent) {
  // The floor modulus, which is right for positions below 0 as well.
  if (mode == "wrap") return Mod(at, extent);
  if (mode == "edge") return Min(Max(at, Int(0)), Int(extent - 1));
  const Expr below = Max(at, Int(0) - at);  // Mirrored at 0, then at the last element.
  return Min(below, Int(2 * (extent - 1)) - below);
}

std::vector<Tensor> DefinePad(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& x = inputs[0];
  const PadShape shape = *PadShapeOf(attributes, x.type);
  const std::string mode = attributes.String("mode", "constant");
  const bool constant = mode == "constant";
  return {te.Compute("Y", {x.type.dtype, shape.out}, [&](const Indices& i) {
    Indices at;
    Expr inside = Bool(true);
    for (int d = 0; d < x.rank(); ++d) {
      const auto [below, above] = shape.pads[d];
      Expr source = i[d] - below;
      if (below > 0) inside = And(inside, Le(Int(0), source));
      if (above > 0) inside = And(inside, Lt(source, Int(x.dim(d))));
      at.push_back(constant || (below <= 0 && above <= 0) ? source
                                                          : PaddedSource(mode, source, x.dim(d)));
    }
    if (!constant) return x(at);
    return Select(inside, x(at), Number(attributes.Float("value", 0), x.type.dtype));
  })};
}

}  // namespace

std::vector<OperatorDef> TransformOperators() {
  const FusionKind moves = FusionKind::kInjective;
  const LayoutRule fixed = LayoutRule::kFixed;
  const LayoutRule any = LayoutRule::kAnyOrder;
  const DimensionAttribute axis = {"axis", DimensionAttribute::Kind::kAxis};
  const DimensionAttribute axes = {"axes", DimensionAttribute::Kind::kAxes};
  const DimensionAttribute pads = {"pads", DimensionAttribute::Kind::kPairs};
  return {
      Row<&InferTranspose, &DefineTranspose>(OpId::kTranspose, moves, fixed,
                                             {.movement = Movement::kIndexed}),
      Row<&InferReshape, &DefineReshape>(OpId::kReshape, moves, fixed,
                                         {.movement = Movement::kView}),
      Row<&InferExpand, &DefineExpand>(OpId::kExpand, moves, fixed,
                                       {.movement = Movement::kIndexed}),
      Row<&InferConcat, &DefineConcat>(OpId::kConcat, moves, any, {{axis}, Movement::kView}),
      Row<&InferSplit, &DefineSplit>(OpId::kSplit, moves, any, {{axis}, Movement::kView}),
      Row<&InferSlice, &DefineSlice>(OpId::kSlice, moves, any, {{axes}, Movement::kIndexed}),
      Row<&InferPad, &DefinePad>(OpId::kPad, moves, any, {{pads}, Movement::kSelected}),
  };
}

}  // namespace burnish::ops
