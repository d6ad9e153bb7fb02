// Operators on the bits of integers, by the arithmetic that expressions have. Exact; a conjunction
// costs a few operations a bit, which is fine for the masks and hashes that models have.
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {
namespace {

int64_t BitsOf(DType dtype) { return 8 * SizeBytes(dtype); }

bool IsInteger(DType dtype) { return !IsFloat(dtype) && dtype != DType::kBool; }

ValueId FloorModulo(Composer& c, ValueId a, ValueId b) {
  Attributes floors;
  floors.Set("fmod", int64_t{0});
  return c.Op("mod", {a, b}, std::move(floors));
}

// The remainder goes first: a division of integers rounds toward 0.
ValueId FloorQuotient(Composer& c, ValueId a, ValueId b) {
  return c.Div(c.Sub(a, FloorModulo(c, a, b)), b);
}

// ONNX: a shift by less than 0 or by all bits leaves what the sign fills in.
absl::Status BitShift(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0), by = c.In(1);
  RETURN_IF_ERROR(c.status());
  const DType dtype = c.DTypeOf(x);
  const std::string direction = node.String("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return node.Invalid(absl::StrCat("direction: got '", direction, "'"));
  }
  if (!IsInteger(dtype)) return node.Invalid("wants integers");
  const bool is_signed = !IsUnsigned(dtype);
  // To the right by all bits but one only the sign is left; and as a factor that is negative.
  const int64_t end = BitsOf(dtype) - (direction == "RIGHT" && is_signed ? 1 : 0);
  ValueId inside = c.Less(by, static_cast<double>(end));
  if (is_signed) inside = c.And(inside, c.Op("greater_equal", {by, c.NumberLike(by, 0)}));
  const ValueId zero = c.NumberLike(x, 0);
  const ValueId factor = c.Op("pow", {c.NumberLike(x, 2), c.Where(inside, by, zero)});
  if (direction == "LEFT") {
    c.Output(0, c.Where(inside, c.Mul(x, factor), zero));
    return c.status();
  }
  const ValueId sign = is_signed ? c.Where(c.Less(x, 0), c.NumberLike(x, -1), zero) : zero;
  c.Output(0, c.Where(inside, FloorQuotient(c, x, factor), sign));
  return c.status();
}

// 0 or 1, as the operand's type.
ValueId Bit(Composer& c, ValueId x, int64_t bit) {
  const DType dtype = c.DTypeOf(x);
  const ValueId two = c.NumberLike(x, 2);
  if (bit == BitsOf(dtype) - 1 && !IsUnsigned(dtype)) return c.Cast(c.Less(x, 0), dtype);
  if (bit == 0) return FloorModulo(c, x, two);
  const ValueId weight = c.NumberLike(x, std::ldexp(1.0, static_cast<int>(bit)));
  return FloorModulo(c, FloorQuotient(c, x, weight), two);
}

ValueId Conjunction(Composer& c, ValueId a, ValueId b) {
  const DType dtype = c.DTypeOf(a);
  const int64_t bits = BitsOf(dtype);
  ValueId sum = -1;
  for (int64_t bit = 0; bit < bits; ++bit) {
    const bool is_sign = bit == bits - 1 && !IsUnsigned(dtype);
    const double weight = std::ldexp(is_sign ? -1.0 : 1.0, static_cast<int>(bit));
    const ValueId term = c.Mul(c.Mul(Bit(c, a, bit), Bit(c, b, bit)), c.Number(dtype, weight));
    sum = sum < 0 ? term : c.Add(sum, term);
  }
  return sum;
}

// Sums wrap: a | b = a + b - (a & b), a ^ b = a | b less a & b.
OnnxTranslator Bitwise(int64_t ors, int64_t ands) {
  return [ors, ands](OnnxNode& node) -> absl::Status {
    Composer c(node);
    const ValueId a = c.In(0), b = c.In(1);
    RETURN_IF_ERROR(c.status());
    if (!IsInteger(c.DTypeOf(a))) return node.Invalid("wants integers");
    const ValueId both = Conjunction(c, a, b);
    c.Output(0, ors == 0 ? both : c.Sub(c.Add(a, b), c.Mul(both, static_cast<double>(ands))));
    return c.status();
  };
}

absl::Status BitwiseNot(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  if (!IsInteger(c.DTypeOf(x))) return node.Invalid("wants integers");
  c.Output(0, c.Sub(c.NumberLike(x, -1), x));
  return c.status();
}

absl::Status BitCast(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(const DType to, DTypeOfOnnx(static_cast<int>(node.Int("to", 0)), node.Label()));
  const DType from = c.DTypeOf(x);
  if (SizeBytes(from) != SizeBytes(to)) return node.Invalid("want a type of as many bits");
  if (from != to && (IsFloat(from) || IsFloat(to))) {
    return node.Unsupported("the bits of a floating-point number");
  }
  // Not every byte is a bool. Between integers a cast keeps the bits.
  if (from != to && to == DType::kBool) return node.Unsupported("bytes as bools");
  c.Output(0, c.Cast(x, to));
  return c.status();
}

}  // namespace

void AddBitwiseTranslators(OnnxTranslators& t) {
  t["BitShift"] = BitShift;
  t["BitwiseAnd"] = Bitwise(0, 1);
  t["BitwiseOr"] = Bitwise(1, 1);
  t["BitwiseXor"] = Bitwise(1, 2);
  t["BitwiseNot"] = BitwiseNot;
  t["BitCast"] = BitCast;
}

}  // namespace burnish
