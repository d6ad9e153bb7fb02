// Operators with two or three inputs, element for element, with numpy's broadcasting.
#include "compiler/te/ops/common.h"
#include "compiler/te/ops/families.h"

namespace burnish::ops {
namespace {

// ---- One function each: the value of the operator at a and b.

template <ExprKind kind>
Expr Function(const Attributes&, const Expr& a, const Expr& b) {
  return Binary(kind, a, b);
}
template <ExprKind kind>
Expr Swapped(const Attributes&, const Expr& a, const Expr& b) {
  return Binary(kind, b, a);
}

Expr Xor(const Attributes&, const Expr& a, const Expr& b) { return Binary(ExprKind::kNe, a, b); }

// fmod=0, for integers only: the sign of the divisor. fmod=1: the sign of the dividend, as in C.
Expr ModOf(const Attributes& attributes, const Expr& a, const Expr& b) {
  if (IsFloat(a->dtype) || attributes.Int("fmod", 0) == 0) return Mod(a, b);
  return a - Binary(ExprKind::kDiv, a, b) * b;
}

// a^b of integers, which no instruction computes: by the low six bits of b. Products wrap: from 64
// on the power of an even number is 0, that of 1 and -1 depends on the lowest bit, and all others
// are beyond every type. Powers below 0 are 0 unless a is 1 or -1.
Expr IntegerPow(const Expr& a, const Expr& b) {
  const Expr one = Int(1, a->dtype);
  Expr result = one, square = a;
  for (int bit = 0; bit < 6; ++bit) {
    const Expr shifted = FloorDiv(b, Int(int64_t{1} << bit, b->dtype));
    const Expr is_set = Eq(Mod(shifted, Int(2, b->dtype)), Int(1, b->dtype));
    result = result * Select(is_set, square, one);
    square = square * square;
  }
  const Expr is_even = Eq(Mod(a, Int(2, a->dtype)), Int(0, a->dtype));
  result = Select(And(Le(Int(64, b->dtype), b), is_even), Int(0, a->dtype), result);
  if (IsUnsigned(b->dtype)) return result;
  const Expr unit = Binary(ExprKind::kOr, Eq(a, one), Eq(a, Unary(ExprKind::kNeg, one)));
  const Expr below = And(Lt(b, Int(0, b->dtype)), Unary(ExprKind::kNot, unit));
  return Select(below, Int(0, a->dtype), result);
}

// The exponent may be of another type; the result has the base's. Where one is a float, in floats
// that hold the values of both: 24 bits are no 32-bit integer.
Expr PowOf(const Attributes&, const Expr& a, const Expr& b) {
  if (!IsFloat(a->dtype) && !IsFloat(b->dtype)) return IntegerPow(a, b);
  const auto fits = [](DType type) {
    return type == DType::kF32 || (!IsFloat(type) && SizeBytes(type) < 4);
  };
  const DType wide = fits(a->dtype) && fits(b->dtype) ? DType::kF32 : DType::kF64;
  return Cast(a->dtype, Binary(ExprKind::kPow, Cast(wide, a), Cast(wide, b)));
}

Expr Prelu(const Attributes&, const Expr& x, const Expr& slope) {
  return Select(Lt(x, Number(0, x->dtype)), x * slope, x);
}

// ---- Rules.

InferResult InferBroadcast(Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 2, 2));
  ASSIGN_OR_RETURN(std::vector<int64_t> shape, BroadcastShapes(inputs[0].shape, inputs[1].shape));
  return std::vector<TensorType>{{inputs[0].dtype, std::move(shape)}};
}

InferResult InferArithmetic(const Attributes&, Types inputs) {
  ASSIGN_OR_RETURN(std::vector<TensorType> types, InferBroadcast(inputs));
  RETURN_IF_ERROR(CheckSameDType(inputs));
  RETURN_IF_ERROR(CheckNumber(inputs[0], "the inputs"));
  return types;
}

InferResult InferMod(const Attributes& attributes, Types inputs) {
  ASSIGN_OR_RETURN(std::vector<TensorType> types, InferArithmetic(attributes, inputs));
  if (IsFloat(inputs[0].dtype) && attributes.Int("fmod", 0) == 0) {
    return Bad("got fmod=0 for ", TypeText(inputs[0]), ", want fmod=1 for floating point");
  }
  return types;
}

InferResult InferPow(const Attributes&, Types inputs) {
  ASSIGN_OR_RETURN(std::vector<TensorType> types, InferBroadcast(inputs));
  RETURN_IF_ERROR(CheckNumber(inputs[0], "the base"));
  RETURN_IF_ERROR(CheckNumber(inputs[1], "the exponent"));
  return types;
}

InferResult InferCompare(const Attributes& attributes, Types inputs) {
  ASSIGN_OR_RETURN(std::vector<TensorType> types, InferArithmetic(attributes, inputs));
  types[0].dtype = DType::kBool;
  return types;
}

InferResult InferEqual(const Attributes&, Types inputs) {
  ASSIGN_OR_RETURN(std::vector<TensorType> types, InferBroadcast(inputs));
  RETURN_IF_ERROR(CheckSameDType(inputs));
  types[0].dtype = DType::kBool;
  return types;
}

InferResult InferLogical(const Attributes&, Types inputs) {
  ASSIGN_OR_RETURN(std::vector<TensorType> types, InferBroadcast(inputs));
  for (const TensorType& type : inputs) {
    if (type.dtype != DType::kBool) return Bad("got ", TypeText(type), ", want bool");
  }
  return types;
}

InferResult InferPrelu(const Attributes& attributes, Types inputs) {
  ASSIGN_OR_RETURN(std::vector<TensorType> types, InferArithmetic(attributes, inputs));
  if (types[0].shape != inputs[0].shape) {
    return Bad("got a slope of shape ", ListText(inputs[1].shape), ", want one that broadcasts to ",
               ListText(inputs[0].shape));
  }
  return types;
}

InferResult InferWhere(const Attributes&, Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 3, 3));
  if (inputs[0].dtype != DType::kBool) {
    return Bad("got ", TypeText(inputs[0]), ", want bool, for the condition");
  }
  if (inputs[1].dtype != inputs[2].dtype) {
    return Bad("got ", TypeText(inputs[1]), " and ", TypeText(inputs[2]), ", want one type");
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> values,
                   BroadcastShapes(inputs[1].shape, inputs[2].shape));
  ASSIGN_OR_RETURN(std::vector<int64_t> shape, BroadcastShapes(inputs[0].shape, values));
  return std::vector<TensorType>{{inputs[1].dtype, std::move(shape)}};
}

template <auto value>
std::vector<Tensor> Define(TeBuilder& te, const Attributes& attributes, Tensors inputs) {
  const Tensor& a = inputs[0];
  const Tensor& b = inputs[1];
  const Indices zero_a(a.type.shape.size(), Int(0));
  const Indices zero_b(b.type.shape.size(), Int(0));
  // At element 0 for its type alone, which comparisons change.
  const TensorType type = {value(attributes, a(zero_a), b(zero_b))->dtype,
                           *BroadcastShapes(a.type.shape, b.type.shape)};
  return {te.Compute("Y", type, [&](const Indices& i) {
    return value(attributes, AtBroadcast(a, i), AtBroadcast(b, i));
  })};
}

std::vector<Tensor> DefineWhere(TeBuilder& te, const Attributes&, Tensors inputs) {
  const std::vector<int64_t> values = *BroadcastShapes(inputs[1].type.shape, inputs[2].type.shape);
  const TensorType type = {inputs[1].type.dtype, *BroadcastShapes(inputs[0].type.shape, values)};
  return {te.Compute("Y", type, [&](const Indices& i) {
    return Select(AtBroadcast(inputs[0], i), AtBroadcast(inputs[1], i), AtBroadcast(inputs[2], i));
  })};
}

template <auto infer, auto value>
OperatorDef Elementwise(OpId id) {
  return Row<infer, &Define<value>>(id, FusionKind::kElementwise, LayoutRule::kAnyOrder);
}

}  // namespace

std::vector<OperatorDef> ElementwiseOperators() {
  return {
      Elementwise<&InferArithmetic, &Function<ExprKind::kAdd>>(OpId::kAdd),
      Elementwise<&InferArithmetic, &Function<ExprKind::kSub>>(OpId::kSub),
      Elementwise<&InferArithmetic, &Function<ExprKind::kMul>>(OpId::kMul),
      Elementwise<&InferArithmetic, &Function<ExprKind::kDiv>>(OpId::kDiv),
      Elementwise<&InferArithmetic, &Function<ExprKind::kMin>>(OpId::kMin),
      Elementwise<&InferArithmetic, &Function<ExprKind::kMax>>(OpId::kMax),
      Elementwise<&InferMod, &ModOf>(OpId::kMod),
      Elementwise<&InferPow, &PowOf>(OpId::kPow),
      Elementwise<&InferEqual, &Function<ExprKind::kEq>>(OpId::kEqual),
      Elementwise<&InferCompare, &Function<ExprKind::kLt>>(OpId::kLess),
      Elementwise<&InferCompare, &Function<ExprKind::kLe>>(OpId::kLessEqual),
      // Expressions have < and <= only.
      Elementwise<&InferCompare, &Swapped<ExprKind::kLt>>(OpId::kGreater),
      Elementwise<&InferCompare, &Swapped<ExprKind::kLe>>(OpId::kGreaterEqual),
      Elementwise<&InferLogical, &Function<ExprKind::kAnd>>(OpId::kAnd),
      Elementwise<&InferLogical, &Function<ExprKind::kOr>>(OpId::kOr),
      Elementwise<&InferLogical, &Xor>(OpId::kXor),
      Elementwise<&InferPrelu, &Prelu>(OpId::kPrelu),
      Row<&InferWhere, &DefineWhere>(OpId::kWhere, FusionKind::kElementwise, LayoutRule::kAnyOrder),
  };
}

}  // namespace burnish::ops
