// Reductions over axes, argmax and argmin.
#include "compiler/te/ops/reduce.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "compiler/te/ops/families.h"

namespace burnish::ops {
namespace {

bool Contains(const std::vector<int>& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

}  // namespace

std::vector<int64_t> ReducedShape(const std::vector<int64_t>& shape, const std::vector<int>& axes,
                                  bool keep_dims) {
  std::vector<int64_t> reduced;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!Contains(axes, static_cast<int>(d))) {
      reduced.push_back(shape[d]);
    } else if (keep_dims) {
      reduced.push_back(1);
    }
  }
  return reduced;
}

Expr AtKept(const Tensor& reduced, const std::vector<int>& axes, const Indices& full) {
  Indices at = full;
  for (const int axis : axes) at[axis] = Int(0);
  return reduced(at);
}

Tensor ReduceAxes(TeBuilder& te, const std::string& name, const std::vector<int64_t>& shape,
                  const AxesReduction& reduction) {
  TeBuilder::ReduceSpec spec;
  spec.combiner = reduction.combiner;
  for (const int axis : reduction.axes) spec.reduction_extents.push_back(shape[axis]);
  spec.step = [&](const Indices& kept, const Indices& reduced) {
    Indices full;
    size_t next_kept = 0;
    size_t next_reduced = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (Contains(reduction.axes, static_cast<int>(d))) {
        full.push_back(reduced[next_reduced++]);
        if (reduction.keep_dims) ++next_kept;
      } else {
        full.push_back(kept[next_kept++]);
      }
    }
    return reduction.term(full, kept);
  };
  spec.finish = reduction.finish;
  return te.Reduce(
      name, {reduction.dtype, ReducedShape(shape, reduction.axes, reduction.keep_dims)}, spec);
}

namespace {

// Axes of the attribute, normalized and ascending; an empty list reduces nothing.
absl::StatusOr<std::vector<int>> AxesOf(const Attributes& attributes, int rank) {
  std::vector<int> axes;
  for (const int64_t axis : attributes.Ints("axes", {})) {
    ASSIGN_OR_RETURN(const int normalized, CheckAxis(axis, rank));
    if (Contains(axes, normalized)) return Bad("got axis ", axis, " twice, want each once");
    axes.push_back(normalized);
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

bool KeepsDims(const Attributes& attributes) { return attributes.Int("keepdims", 1) != 0; }

InferResult InferReduce(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 1, 1));
  ASSIGN_OR_RETURN(const std::vector<int> axes,
                   AxesOf(attributes, static_cast<int>(inputs[0].shape.size())));
  return std::vector<TensorType>{
      {inputs[0].dtype, ReducedShape(inputs[0].shape, axes, KeepsDims(attributes))}};
}

InferResult InferNumber(const Attributes& attributes, Types inputs) {
  ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferReduce(attributes, inputs));
  RETURN_IF_ERROR(CheckNumber(inputs[0], "the input"));
  return types;
}

InferResult InferFloat(const Attributes& attributes, Types inputs) {
  ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferReduce(attributes, inputs));
  RETURN_IF_ERROR(CheckFloat(inputs[0], "the input"));
  return types;
}

// One term from x, and the result from the reduced terms and their count. Null: as it is.
struct Rule {
  Combiner combiner;
  Expr (*term)(const Expr& x);
  Expr (*finish)(const Expr& self, int64_t count);
};

Expr AbsoluteOf(const Expr& x) { return Unary(ExprKind::kAbs, x); }
Expr SquareOf(const Expr& x) { return x * x; }
Expr MeanOf(const Expr& self, int64_t count) {
  return Binary(ExprKind::kDiv, self, Number(static_cast<double>(count), self->dtype));
}
Expr RootOf(const Expr& self, int64_t) { return Unary(ExprKind::kSqrt, self); }
Expr LogOf(const Expr& self, int64_t) { return Unary(ExprKind::kLog, self); }

constexpr Rule kSumRule = {Combiner::kSum, nullptr, nullptr};
constexpr Rule kMeanRule = {Combiner::kSum, nullptr, &MeanOf};
constexpr Rule kMaxRule = {Combiner::kMax, nullptr, nullptr};
constexpr Rule kMinRule = {Combiner::kMin, nullptr, nullptr};
constexpr Rule kProdRule = {Combiner::kProd, nullptr, nullptr};
constexpr Rule kL1Rule = {Combiner::kSum, &AbsoluteOf, nullptr};
constexpr Rule kL2Rule = {Combiner::kSum, &SquareOf, &RootOf};
constexpr Rule kLogSumRule = {Combiner::kSum, nullptr, &LogOf};
constexpr Rule kSumSquareRule = {Combiner::kSum, &SquareOf, nullptr};

template <const Rule& rule>
std::vector<Tensor> Define(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& x = inputs[0];
  AxesReduction reduction{.axes = *AxesOf(attributes, x.rank()),
                          .keep_dims = KeepsDims(attributes),
                          .combiner = rule.combiner,
                          .dtype = x.type.dtype};
  int64_t count = 1;
  for (const int axis : reduction.axes) count *= x.dim(axis);
  reduction.term = [&](const Indices& full, const Indices&) {
    return rule.term == nullptr ? x(full) : rule.term(x(full));
  };
  if (rule.finish != nullptr) {
    reduction.finish = [&](const Indices&, const Expr& self) { return rule.finish(self, count); };
  }
  return {ReduceAxes(te, "Y", x.type.shape, reduction)};
}

// log(sum(exp(x))) as m + log(sum(exp(x - m))) with m the maximum, or 0 where that is infinite.
std::vector<Tensor> DefineLogSumExp(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& x = inputs[0];
  const DType dtype = x.type.dtype;
  AxesReduction maximum{
      .axes = *AxesOf(attributes, x.rank()), .combiner = Combiner::kMax, .dtype = dtype};
  maximum.term = [&](const Indices& full, const Indices&) { return x(full); };
  maximum.finish = [&](const Indices&, const Expr& self) {
    // There x - m would be infinity less infinity, a NaN, and the result is infinite.
    const Expr infinity = Float(std::numeric_limits<double>::infinity(), dtype);
    return Select(Eq(Unary(ExprKind::kAbs, self), infinity), Float(0, dtype), self);
  };
  const Tensor m = ReduceAxes(te, "M", x.type.shape, maximum);
  AxesReduction sum{.axes = maximum.axes, .keep_dims = KeepsDims(attributes), .dtype = dtype};
  sum.term = [&](const Indices& full, const Indices&) {
    return Unary(ExprKind::kExp, x(full) - AtKept(m, sum.axes, full));
  };
  sum.finish = [&](const Indices& kept, const Expr& self) {
    Indices at;
    size_t next = 0;
    for (int d = 0; d < x.rank(); ++d) {
      const bool reduced = Contains(sum.axes, d);
      at.push_back(reduced ? Int(0) : kept[next]);
      if (!reduced || sum.keep_dims) ++next;
    }
    return Unary(ExprKind::kLog, self) + m(at);
  };
  return {ReduceAxes(te, "Y", x.type.shape, sum)};
}

InferResult InferArg(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 1, 1));
  RETURN_IF_ERROR(CheckNumber(inputs[0], "the input"));
  ASSIGN_OR_RETURN(const int axis,
                   CheckAxis(attributes.Int("axis", 0), static_cast<int>(inputs[0].shape.size())));
  return std::vector<TensorType>{
      {DType::kI64, ReducedShape(inputs[0].shape, {axis}, KeepsDims(attributes))}};
}

// Two reductions: the extreme value M, then the least (or greatest) position that holds it. NaN
// counts as extreme, as in numpy.
template <Combiner combiner>
std::vector<Tensor> DefineArg(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& x = inputs[0];
  const int axis = NormalizeAxis(attributes.Int("axis", 0), x.rank());
  const bool last = attributes.Int("select_last_index", 0) != 0;
  AxesReduction extreme{.axes = {axis}, .combiner = combiner, .dtype = x.type.dtype};
  extreme.term = [&](const Indices& full, const Indices&) { return x(full); };
  const Tensor m = ReduceAxes(te, "M", x.type.shape, extreme);
  AxesReduction position{.axes = {axis},
                         .keep_dims = KeepsDims(attributes),
                         .combiner = last ? Combiner::kMax : Combiner::kMin,
                         .dtype = DType::kI64};
  // Beyond every position: it loses against each that holds the extreme.
  const int64_t none = last ? -1 : x.dim(axis);
  position.term = [&](const Indices& full, const Indices&) {
    const Expr value = x(full);
    Expr found = Eq(value, AtKept(m, {axis}, full));
    if (IsFloat(value->dtype)) {
      // The extreme is NaN then, which equals nothing.
      found = Binary(ExprKind::kOr, found, Unary(ExprKind::kIsNan, value));
    }
    return Select(found, full[axis], Int(none));
  };
  return {ReduceAxes(te, "Y", x.type.shape, position)};
}

}  // namespace

std::vector<OperatorDef> ReduceOperators() {
  const FusionKind reduction = FusionKind::kReduction;
  const FusionKind opaque = FusionKind::kOpaque;
  // Where dimensions are dropped (keepdims=0) the result has another rank, so that its order stays.
  const LayoutRule any = LayoutRule::kAnyOrder;
  const std::vector<DimensionAttribute> axes = {{"axes", DimensionAttribute::Kind::kAxes}};
  const OperatorTraits once = {.dimension_attributes = axes, .reads_once = true};
  const OperatorTraits twice = {.dimension_attributes = axes};
  const OperatorTraits along_axis = {
      .dimension_attributes = {{"axis", DimensionAttribute::Kind::kAxis}}};
  return {
      Row<&InferNumber, &Define<kSumRule>>(OpId::kReduceSum, reduction, any, once),
      Row<&InferNumber, &Define<kMeanRule>>(OpId::kReduceMean, reduction, any, once),
      Row<&InferReduce, &Define<kMaxRule>>(OpId::kReduceMax, reduction, any, once),
      Row<&InferReduce, &Define<kMinRule>>(OpId::kReduceMin, reduction, any, once),
      Row<&InferNumber, &Define<kProdRule>>(OpId::kReduceProd, reduction, any, once),
      Row<&InferNumber, &Define<kL1Rule>>(OpId::kReduceL1, reduction, any, once),
      Row<&InferFloat, &Define<kL2Rule>>(OpId::kReduceL2, reduction, any, once),
      Row<&InferFloat, &Define<kLogSumRule>>(OpId::kReduceLogSum, reduction, any, once),
      Row<&InferFloat, &DefineLogSumExp>(OpId::kReduceLogSumExp, opaque, any, twice),
      Row<&InferNumber, &Define<kSumSquareRule>>(OpId::kReduceSumSquare, reduction, any, once),
      Row<&InferArg, &DefineArg<Combiner::kMax>>(OpId::kArgmax, opaque, any, along_axis),
      Row<&InferArg, &DefineArg<Combiner::kMin>>(OpId::kArgmin, opaque, any, along_axis),
  };
}

}  // namespace burnish::ops
