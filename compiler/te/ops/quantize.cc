// quantize, dequantize, requantize. Formulas: ONNX operator schemas QuantizeLinear and
// DequantizeLinear, version 1.16; scales and zero points broadcast to the input.
#include "compiler/te/ops/quantize.h"

#include <algorithm>

#include "compiler/te/ops/families.h"

namespace burnish::ops {

Expr Quantize(const Expr& value, const Expr& zero) {
  const DType type = zero->dtype;
  const IntLimits limits = LimitsOf(type);
  // Each value stands once: expressions have no names for parts, and chains of these would grow
  // with a power of their length. The sum is exact where it matters, below 2^24.
  const Expr moved = Unary(ExprKind::kRound, value) + Cast(DType::kF32, zero);
  const Expr least = Float(static_cast<double>(limits.least));
  const Expr greatest = Float(static_cast<double>(limits.greatest));
  // By way of 32 bits, where a NaN is 0 in its low bits.
  return Cast(type, Cast(DType::kI32, Min(greatest, Max(least, moved))));
}

namespace {

// x, scale, zero point. Scale and zero point broadcast to x.
absl::Status CheckParameters(Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 3, 3));
  if (inputs[1].dtype != DType::kF32) {
    return Bad("got ", TypeText(inputs[1]), ", want f32, for the scale");
  }
  for (int i = 1; i < 3; ++i) {
    const auto shape = BroadcastShapes(inputs[0].shape, inputs[i].shape);
    if (!shape.ok() || *shape != inputs[0].shape) {
      return Bad("got ", TypeText(inputs[i]), ", want one that broadcasts to ",
                 ListText(inputs[0].shape), ", for the ", i == 1 ? "scale" : "zero point");
    }
  }
  return absl::OkStatus();
}

// `sums`: of 32 bits, too.
template <bool sums>
InferResult InferQuantize(const Attributes&, Types inputs) {
  RETURN_IF_ERROR(CheckParameters(inputs));
  if (inputs[0].dtype != DType::kF32 && !(sums && inputs[0].dtype == DType::kI32)) {
    return Bad("got ", TypeText(inputs[0]), ", want f32", sums ? " or i32" : "");
  }
  if (!IsQuantized(inputs[2].dtype)) {
    return Bad("got ", TypeText(inputs[2]), ", want i8, u8, i16 or u16, for the zero point");
  }
  return std::vector<TensorType>{{inputs[2].dtype, inputs[0].shape}};
}

InferResult InferDequantize(const Attributes&, Types inputs) {
  RETURN_IF_ERROR(CheckParameters(inputs));
  if (!IsQuantized(inputs[0].dtype) && inputs[0].dtype != DType::kI32) {
    return Bad("got ", TypeText(inputs[0]), ", want i8, u8, i16, u16 or i32");
  }
  if (inputs[2].dtype != inputs[0].dtype) {
    return Bad("got ", TypeText(inputs[2]), ", want ", DTypeName(inputs[0].dtype),
               ", for the zero point");
  }
  return std::vector<TensorType>{{DType::kF32, inputs[0].shape}};
}

// A quotient, as ONNX says it: the product with the reciprocal rounds some halves another way.
Expr QuantizeOf(const Expr& x, const Expr& scale, const Expr& zero) {
  return Quantize(Binary(ExprKind::kDiv, x, scale), zero);
}

// The difference wraps for i32, whose zero point is 0 in ONNX.
Expr DequantizeOf(const Expr& x, const Expr& scale, const Expr& zero) {
  return Cast(DType::kF32, Cast(DType::kI32, x) - Cast(DType::kI32, zero)) * scale;
}

// Sums of 32 bits, with scale_a * scale_b / scale_y, or real numbers, with 1 / scale_y: one
// product.
Expr RequantizeOf(const Expr& x, const Expr& multiplier, const Expr& zero) {
  return Quantize(Cast(DType::kF32, x) * multiplier, zero);
}

template <auto value>
std::vector<Tensor> Define(TeBuilder& te, const Attributes&, Tensors inputs) {
  const auto first = [](const Tensor& t) { return t(Indices(t.type.shape.size(), Int(0))); };
  const DType dtype = value(first(inputs[0]), first(inputs[1]), first(inputs[2]))->dtype;
  return {te.Compute("Y", {dtype, inputs[0].type.shape}, [&](const Indices& i) {
    return value(inputs[0](i), AtBroadcast(inputs[1], i), AtBroadcast(inputs[2], i));
  })};
}

template <auto infer, auto value>
OperatorDef Elementwise(OpId id) {
  return Row<infer, &Define<value>>(id, FusionKind::kElementwise, LayoutRule::kAnyOrder);
}

}  // namespace

std::vector<OperatorDef> QuantizeOperators() {
  return {
      Elementwise<&InferQuantize<false>, &QuantizeOf>(OpId::kQuantize),
      Elementwise<&InferDequantize, &DequantizeOf>(OpId::kDequantize),
      Elementwise<&InferQuantize<true>, &RequantizeOf>(OpId::kRequantize),
  };
}

}  // namespace burnish::ops
