// Softmax and log-softmax over one axis, stable: the maximum is subtracted first.
#include "compiler/te/ops/families.h"
#include "compiler/te/ops/reduce.h"

namespace burnish::ops {
namespace {

InferResult Infer(const Attributes& attributes, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 1, 1));
  RETURN_IF_ERROR(CheckFloat(inputs[0], "the input"));
  RETURN_IF_ERROR(
      CheckAxis(attributes.Int("axis", -1), static_cast<int>(inputs[0].shape.size())).status());
  return std::vector<TensorType>{inputs[0]};
}

// Block M: the maximum along the axis, with the axis kept.
Tensor Maximum(TeBuilder& te, const Tensor& x, int axis) {
  AxesReduction maximum{.axes = {axis}, .combiner = Combiner::kMax, .dtype = x.type.dtype};
  maximum.term = [&](const Indices& full, const Indices&) { return x(full); };
  return ReduceAxes(te, "M", x.type.shape, maximum);
}

Expr ExpOf(const Expr& x) { return Unary(ExprKind::kExp, x); }

// Blocks M, E = exp(x - M), S = sum E, Y = E * (1 / S): one division a row and not one a vector,
// of which a CPU does one in the time of ten to twenty products, for half a unit in the last place.
// S is 1 at least, so that 1 / S is a number. E is a block so that a schedule may choose between
// keeping the exponentials and computing them twice.
std::vector<Tensor> DefineSoftmax(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& x = inputs[0];
  const int axis = NormalizeAxis(attributes.Int("axis", -1), x.rank());
  const Tensor m = Maximum(te, x, axis);
  const Tensor e =
      te.Compute("E", x.type, [&](const Indices& i) { return ExpOf(x(i) - AtKept(m, {axis}, i)); });
  AxesReduction sum{.axes = {axis}, .dtype = x.type.dtype};
  sum.term = [&](const Indices& full, const Indices&) { return e(full); };
  const Tensor s = ReduceAxes(te, "S", x.type.shape, sum);
  return {te.Compute("Y", x.type, [&](const Indices& i) {
    return e(i) * Binary(ExprKind::kDiv, Float(1, e(i)->dtype), AtKept(s, {axis}, i));
  })};
}

// Blocks M, S = log(sum exp(x - M)), Y = x - M - S.
std::vector<Tensor> DefineLogSoftmax(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& x = inputs[0];
  const int axis = NormalizeAxis(attributes.Int("axis", -1), x.rank());
  const Tensor m = Maximum(te, x, axis);
  AxesReduction sum{.axes = {axis}, .dtype = x.type.dtype};
  sum.term = [&](const Indices& full, const Indices&) {
    return ExpOf(x(full) - AtKept(m, {axis}, full));
  };
  // One logarithm a row and not one an element; and log(E / S) would be -infinity where E is 0.
  sum.finish = [](const Indices&, const Expr& self) { return Unary(ExprKind::kLog, self); };
  const Tensor s = ReduceAxes(te, "S", x.type.shape, sum);
  return {te.Compute("Y", x.type, [&](const Indices& i) {
    return x(i) - AtKept(m, {axis}, i) - AtKept(s, {axis}, i);
  })};
}

}  // namespace

std::vector<OperatorDef> SoftmaxOperators() {
  const OperatorTraits along_axis = {
      .dimension_attributes = {{"axis", DimensionAttribute::Kind::kAxis, /*fallback=*/-1}}};
  return {
      Row<&Infer, &DefineSoftmax>(OpId::kSoftmax, FusionKind::kOpaque, LayoutRule::kAnyOrder,
                                  along_axis),
      Row<&Infer, &DefineLogSoftmax>(OpId::kLogSoftmax, FusionKind::kOpaque, LayoutRule::kAnyOrder,
                                     along_axis),
  };
}

}  // namespace burnish::ops
