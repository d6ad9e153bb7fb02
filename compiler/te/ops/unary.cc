// Operators with one input, element for element: functions and activations.
// Formulas: ONNX operator schemas, version 1.16.
#include <cmath>
#include <optional>

#include "compiler/te/ops/common.h"
#include "compiler/te/ops/families.h"

namespace burnish::ops {
namespace {

Expr Constant(const Expr& x, double value) { return Float(value, x->dtype); }
Expr Apply(ExprKind kind, const Expr& x) { return Unary(kind, x); }
Expr Divide(const Expr& a, const Expr& b) { return Binary(ExprKind::kDiv, a, b); }
Expr Positive(const Expr& x) { return Max(x, Number(0, x->dtype)); }
Expr Exp(const Expr& x) { return Unary(ExprKind::kExp, x); }

// ---- One function each: the value of the operator at x.

template <ExprKind kind>
Expr Function(const Attributes&, const Expr& x) {
  return Apply(kind, x);
}

Expr Reciprocal(const Attributes&, const Expr& x) { return Divide(Constant(x, 1), x); }
Expr Identity(const Attributes&, const Expr& x) { return x; }
Expr Relu(const Attributes&, const Expr& x) { return Positive(x); }

Expr LeakyRelu(const Attributes& attributes, const Expr& x) {
  return Select(Lt(x, Constant(x, 0)), x * Constant(x, attributes.Float("alpha", 0.01)), x);
}

// exp(x) - 1 of x below 0, to as many digits as tanh has: the difference would lose them near 0.
Expr Expm1(const Expr& x) {
  const Expr t = Apply(ExprKind::kTanh, x * Constant(x, 0.5));
  return Divide(t + t, Constant(x, 1) - t);
}

Expr Elu(const Attributes& attributes, const Expr& x) {
  const Expr alpha = Constant(x, attributes.Float("alpha", 1));
  return Select(Lt(x, Constant(x, 0)), alpha * Expm1(x), x);
}

Expr Selu(const Attributes& attributes, const Expr& x) {
  const Expr alpha = Constant(x, attributes.Float("alpha", 1.67326319217681884765625));
  const Expr gamma = Constant(x, attributes.Float("gamma", 1.05070102214813232421875));
  return gamma * Select(Lt(x, Constant(x, 0)), alpha * Expm1(x), x);
}

Expr Celu(const Attributes& attributes, const Expr& x) {
  const double alpha = attributes.Float("alpha", 1);
  const Expr scaled = alpha == 1 ? x : x * Constant(x, 1 / alpha);
  // exp(y) - 1 = -(exp(-y) - 1) exp(y), where y is above 0.
  const Expr curve =
      alpha > 0 ? Constant(x, alpha) * Expm1(scaled)
                : Constant(x, -alpha) * (Expm1(Apply(ExprKind::kNeg, scaled)) * Exp(scaled));
  return Select(Lt(x, Constant(x, 0)), curve, x);
}

Expr ThresholdedRelu(const Attributes& attributes, const Expr& x) {
  return Select(Lt(Constant(x, attributes.Float("alpha", 1)), x), x, Constant(x, 0));
}

// min(max(x, lower), upper), as ONNX orders them: the upper bound wins.
Expr Clip(const Attributes& attributes, const Expr& x) {
  Expr value = x;
  if (attributes.Has("min")) value = Max(value, Number(attributes.Float("min", 0), x->dtype));
  if (attributes.Has("max")) value = Min(value, Number(attributes.Float("max", 0), x->dtype));
  return value;
}

// Far below 0 the exponential is infinite, and the quotient 0, as it should be.
Expr SigmoidOf(const Expr& x) {
  return Divide(Constant(x, 1), Constant(x, 1) + Exp(Apply(ExprKind::kNeg, x)));
}
Expr Sigmoid(const Attributes&, const Expr& x) { return SigmoidOf(x); }
Expr Silu(const Attributes&, const Expr& x) {
  return Divide(x, Constant(x, 1) + Exp(Apply(ExprKind::kNeg, x)));
}

Expr HardSigmoidOf(const Expr& x, double alpha, double beta) {
  const Expr line = x * Constant(x, alpha) + Constant(x, beta);
  return Min(Positive(line), Constant(x, 1));
}
Expr HardSigmoid(const Attributes& attributes, const Expr& x) {
  return HardSigmoidOf(x, attributes.Float("alpha", 0.2), attributes.Float("beta", 0.5));
}
Expr HardSwish(const Attributes&, const Expr& x) { return x * HardSigmoidOf(x, 1.0 / 6, 0.5); }

// log(1 + x) of x from 0 on. What the sum rounds away of x, the quotient gives back: W. Kahan's.
Expr Log1p(const Expr& x) {
  const Expr sum = Constant(x, 1) + x, rest = sum - Constant(x, 1);
  return Select(Lt(Constant(x, 0), rest), Apply(ExprKind::kLog, sum) * Divide(x, rest), x);
}

// log(1 + exp(x)) without overflow for large x.
Expr SoftplusOf(const Expr& x) {
  return Positive(x) + Log1p(Exp(Apply(ExprKind::kNeg, Apply(ExprKind::kAbs, x))));
}
Expr Softplus(const Attributes&, const Expr& x) { return SoftplusOf(x); }
Expr Mish(const Attributes&, const Expr& x) { return x * Apply(ExprKind::kTanh, SoftplusOf(x)); }
Expr Softsign(const Attributes&, const Expr& x) {
  return Divide(x, Constant(x, 1) + Apply(ExprKind::kAbs, x));
}

// Hendrycks and Gimpel, arXiv 1606.08415; approximate=tanh is their equation 2.
Expr Gelu(const Attributes& attributes, const Expr& x) {
  const Expr half = x * Constant(x, 0.5);
  if (attributes.String("approximate", "none") == "tanh") {
    const Expr cubic = x + Constant(x, 0.044715) * (x * x * x);
    const Expr inner = Constant(x, std::sqrt(2 / M_PI)) * cubic;
    return half * (Constant(x, 1) + Apply(ExprKind::kTanh, inner));
  }
  const Expr erf = Apply(ExprKind::kErf, x * Constant(x, std::sqrt(0.5)));
  return half * (Constant(x, 1) + erf);
}

DType CastTarget(const Attributes& attributes) {
  DType to = DType::kF32;
  ParseDType(attributes.String("to", "f32"), &to);
  return to;
}
Expr CastTo(const Attributes& attributes, const Expr& x) { return Cast(CastTarget(attributes), x); }

// ---- Rules.

InferResult InferAny(const Attributes&, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 1, 1));
  return std::vector<TensorType>{inputs[0]};
}

InferResult InferFloat(const Attributes& attributes, Types inputs) {
  ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferAny(attributes, inputs));
  RETURN_IF_ERROR(CheckFloat(inputs[0], "the input"));
  return types;
}

InferResult InferNumber(const Attributes& attributes, Types inputs) {
  ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferAny(attributes, inputs));
  RETURN_IF_ERROR(CheckNumber(inputs[0], "the input"));
  return types;
}

InferResult InferNot(const Attributes& attributes, Types inputs) {
  ASSIGN_OR_RETURN(const std::vector<TensorType> types, InferAny(attributes, inputs));
  if (inputs[0].dtype != DType::kBool) return Bad("got ", TypeText(inputs[0]), ", want bool");
  return types;
}

InferResult InferIsNan(const Attributes& attributes, Types inputs) {
  ASSIGN_OR_RETURN(std::vector<TensorType> types, InferFloat(attributes, inputs));
  types[0].dtype = DType::kBool;
  return types;
}

InferResult InferCast(const Attributes& attributes, Types inputs) {
  ASSIGN_OR_RETURN(std::vector<TensorType> types, InferAny(attributes, inputs));
  const std::string to = attributes.String("to", "");
  if (!ParseDType(to, &types[0].dtype)) {
    return Bad("got to=", to,
               ", want f32, f64, bf16, f16, i64, i32, i16, i8, u64, u32, u16, u8 or bool");
  }
  return types;
}

InferResult InferCelu(const Attributes& attributes, Types inputs) {
  if (attributes.Float("alpha", 1) == 0) return Bad("got alpha=0, want another value");
  return InferFloat(attributes, inputs);
}

InferResult InferGelu(const Attributes& attributes, Types inputs) {
  const std::string approximate = attributes.String("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    return Bad("got approximate=", approximate, ", want none or tanh");
  }
  return InferFloat(attributes, inputs);
}

template <auto value>
std::vector<Tensor> Define(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& x = inputs[0];
  TensorType type = x.type;
  const Indices probe(x.type.shape.size(), Int(0));
  type.dtype = value(attributes, x(probe))->dtype;
  return {te.Compute("Y", type, [&](const Indices& i) { return value(attributes, x(i)); })};
}

template <auto infer, auto value>
OperatorDef Elementwise(OpId id) {
  return Row<infer, &Define<value>>(id, FusionKind::kElementwise, LayoutRule::kAnyOrder);
}

}  // namespace

std::vector<OperatorDef> UnaryOperators() {
  return {
      Elementwise<&InferNumber, &Function<ExprKind::kNeg>>(OpId::kNeg),
      Elementwise<&InferNumber, &Function<ExprKind::kAbs>>(OpId::kAbs),
      Elementwise<&InferNumber, &Function<ExprKind::kSign>>(OpId::kSign),
      Elementwise<&InferFloat, &Function<ExprKind::kSqrt>>(OpId::kSqrt),
      Elementwise<&InferFloat, &Function<ExprKind::kExp>>(OpId::kExp),
      Elementwise<&InferFloat, &Function<ExprKind::kLog>>(OpId::kLog),
      Elementwise<&InferFloat, &Function<ExprKind::kTanh>>(OpId::kTanh),
      Elementwise<&InferFloat, &Function<ExprKind::kErf>>(OpId::kErf),
      Elementwise<&InferFloat, &Function<ExprKind::kSin>>(OpId::kSin),
      Elementwise<&InferFloat, &Function<ExprKind::kCos>>(OpId::kCos),
      Elementwise<&InferFloat, &Function<ExprKind::kFloor>>(OpId::kFloor),
      Elementwise<&InferFloat, &Function<ExprKind::kCeil>>(OpId::kCeil),
      Elementwise<&InferFloat, &Function<ExprKind::kRound>>(OpId::kRound),
      Elementwise<&InferNot, &Function<ExprKind::kNot>>(OpId::kNot),
      Elementwise<&InferIsNan, &Function<ExprKind::kIsNan>>(OpId::kIsNan),
      Elementwise<&InferFloat, &Reciprocal>(OpId::kReciprocal),
      Elementwise<&InferAny, &Identity>(OpId::kIdentity),
      Elementwise<&InferCast, &CastTo>(OpId::kCast),
      Elementwise<&InferNumber, &Relu>(OpId::kRelu),
      Elementwise<&InferFloat, &LeakyRelu>(OpId::kLeakyRelu),
      Elementwise<&InferFloat, &Elu>(OpId::kElu),
      Elementwise<&InferFloat, &Selu>(OpId::kSelu),
      Elementwise<&InferCelu, &Celu>(OpId::kCelu),
      Elementwise<&InferFloat, &ThresholdedRelu>(OpId::kThresholdedRelu),
      Elementwise<&InferNumber, &Clip>(OpId::kClip),
      Elementwise<&InferFloat, &Sigmoid>(OpId::kSigmoid),
      Elementwise<&InferFloat, &HardSigmoid>(OpId::kHardSigmoid),
      Elementwise<&InferFloat, &HardSwish>(OpId::kHardSwish),
      Elementwise<&InferFloat, &Silu>(OpId::kSilu),
      Elementwise<&InferGelu, &Gelu>(OpId::kGelu),
      Elementwise<&InferFloat, &Softplus>(OpId::kSoftplus),
      Elementwise<&InferFloat, &Softsign>(OpId::kSoftsign),
      Elementwise<&InferFloat, &Mish>(OpId::kMish),
  };
}

}  // namespace burnish::ops
