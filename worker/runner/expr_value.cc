#include "worker/runner/expr_value.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace burnish {
namespace {

// Integers wrap in the language. Signed overflow would be undefined here, so arithmetic goes
// through unsigned ones.
uint64_t Bits(int64_t a) { return static_cast<uint64_t>(a); }
int64_t Signed(uint64_t a) { return static_cast<int64_t>(a); }

double FloatUnary(ExprKind kind, double x, ValueError* error) {
  switch (kind) {
    case ExprKind::kNeg:
      return -x;
    case ExprKind::kAbs:
      return std::fabs(x);
    case ExprKind::kSqrt:
      return std::sqrt(x);
    case ExprKind::kExp:
      return std::exp(x);
    case ExprKind::kLog:
      return std::log(x);
    case ExprKind::kTanh:
      return std::tanh(x);
    case ExprKind::kErf:
      return std::erf(x);
    case ExprKind::kSin:
      return std::sin(x);
    case ExprKind::kCos:
      return std::cos(x);
    case ExprKind::kFloor:
      return std::floor(x);
    case ExprKind::kCeil:
      return std::ceil(x);
    case ExprKind::kRound:
      // To even, as the hardware rounds; std::round goes away from zero.
      return std::nearbyint(x);
    case ExprKind::kSign:
      // x itself keeps NaN and the sign of zero.
      return x > 0 ? 1 : x < 0 ? -1 : x;
    default:
      *error = ValueError::kUnknownOperation;
  }
  return 0;
}

int64_t IntUnary(ExprKind kind, int64_t a, ValueError* error) {
  switch (kind) {
    case ExprKind::kNeg:
      return Signed(-Bits(a));
    case ExprKind::kAbs:
      return a < 0 ? Signed(-Bits(a)) : a;
    case ExprKind::kSign:
      return (a > 0) - (a < 0);
    case ExprKind::kNot:
      return a == 0;
    case ExprKind::kIsNan:
      return 0;
    case ExprKind::kFloor:
    case ExprKind::kCeil:
    case ExprKind::kRound:
      return a;
    default:
      *error = ValueError::kUnknownOperation;
  }
  return 0;
}

double FloatBinary(ExprKind kind, double a, double b, ValueError* error) {
  switch (kind) {
    case ExprKind::kAdd:
      return a + b;
    case ExprKind::kSub:
      return a - b;
    case ExprKind::kMul:
      return a * b;
    case ExprKind::kDiv:
      return a / b;
    case ExprKind::kFloorDiv:
      return std::floor(a / b);
    case ExprKind::kMod:
      return std::fmod(a, b);
    case ExprKind::kMin:
      // NaN wins, as in NumPy's minimum; std::min and the hardware's minps give either operand.
      return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b);
    case ExprKind::kMax:
      return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b);
    case ExprKind::kPow:
      return std::pow(a, b);
    default:
      *error = ValueError::kUnknownOperation;
  }
  return 0;
}

// `less`, `equal`: of the operands; both false for NaN.
bool Compare(ExprKind kind, bool less, bool equal) {
  switch (kind) {
    case ExprKind::kLt:
      return less;
    case ExprKind::kLe:
      return less || equal;
    case ExprKind::kEq:
      return equal;
    default:
      return !equal;  // kNe
  }
}

bool IsComparison(ExprKind kind) {
  return kind == ExprKind::kLt || kind == ExprKind::kLe || kind == ExprKind::kEq ||
         kind == ExprKind::kNe;
}

// Wrapping. A negative exponent: the reciprocal, truncated.
int64_t IntPower(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    // Of a negative power only 1 and -1 have a reciprocal that is not truncated to 0.
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  // By squaring: an exponent of 2^62 must not take 2^62 steps, and products wrap alike in any
  // order.
  uint64_t result = 1, power = Bits(base);
  while (exponent > 0) {
    if (exponent % 2 == 1) result *= power;
    power *= power;
    exponent /= 2;
  }
  return Signed(result);
}

int64_t IntDivide(ExprKind kind, int64_t a, int64_t b) {
  if (b == -1) {  // The least integer has no negative.
    return kind == ExprKind::kMod ? 0 : Signed(-Bits(a));
  }
  const int64_t quotient = a / b, remainder = a % b;
  // C++ truncates towards zero. Where the signs differ the floor is one less, and the remainder
  // takes the divisor's sign, as in Python.
  const bool rounds_up = remainder != 0 && (remainder < 0) != (b < 0);
  if (kind == ExprKind::kMod) return rounds_up ? remainder + b : remainder;
  return kind == ExprKind::kFloorDiv && rounds_up ? quotient - 1 : quotient;
}

int64_t IntBinary(ExprKind kind, int64_t a, int64_t b, ValueError* error) {
  switch (kind) {
    case ExprKind::kAdd:
      return Signed(Bits(a) + Bits(b));
    case ExprKind::kSub:
      return Signed(Bits(a) - Bits(b));
    case ExprKind::kMul:
      return Signed(Bits(a) * Bits(b));
    case ExprKind::kDiv:
    case ExprKind::kFloorDiv:
    case ExprKind::kMod:
      if (b == 0) {
        *error = ValueError::kDivisionByZero;
        return 0;
      }
      return IntDivide(kind, a, b);
    case ExprKind::kMin:
      return std::min(a, b);
    case ExprKind::kMax:
      return std::max(a, b);
    case ExprKind::kPow:
      return IntPower(a, b);
    case ExprKind::kAnd:
      return a != 0 && b != 0;
    case ExprKind::kOr:
      return a != 0 || b != 0;
    default:
      *error = ValueError::kUnknownOperation;
  }
  return 0;
}

// Of u64, where it differs.
int64_t UnsignedBinary(ExprKind kind, uint64_t a, uint64_t b, ValueError* error) {
  switch (kind) {
    case ExprKind::kDiv:
    case ExprKind::kFloorDiv:
    case ExprKind::kMod:
      if (b == 0) {
        *error = ValueError::kDivisionByZero;
        return 0;
      }
      return Signed(kind == ExprKind::kMod ? a % b : a / b);
    case ExprKind::kMin:
      return Signed(std::min(a, b));
    case ExprKind::kMax:
      return Signed(std::max(a, b));
    case ExprKind::kPow: {
      uint64_t result = 1;
      for (; b > 0; b >>= 1, a *= a) result *= (b & 1) != 0 ? a : 1;
      return Signed(result);
    }
    default:
      return IntBinary(kind, Signed(a), Signed(b), error);
  }
}

}  // namespace

int64_t WrapToType(DType type, int64_t value) {
  switch (type) {
    case DType::kI32:
      return static_cast<int32_t>(value);
    case DType::kI16:
      return static_cast<int16_t>(value);
    case DType::kI8:
      return static_cast<int8_t>(value);
    case DType::kU32:
      return static_cast<uint32_t>(value);
    case DType::kU16:
      return static_cast<uint16_t>(value);
    case DType::kU8:
      return static_cast<uint8_t>(value);
    case DType::kBool:
      return value != 0;
    default:
      return value;
  }
}

bool IsKnownUnary(ExprKind kind, DType type) {
  switch (kind) {
    case ExprKind::kNeg:
    case ExprKind::kAbs:
    case ExprKind::kFloor:
    case ExprKind::kCeil:
    case ExprKind::kRound:
    case ExprKind::kSign:
    case ExprKind::kNot:
    case ExprKind::kIsNan:
      return true;
    case ExprKind::kSqrt:
    case ExprKind::kExp:
    case ExprKind::kLog:
    case ExprKind::kTanh:
    case ExprKind::kErf:
    case ExprKind::kSin:
    case ExprKind::kCos:
      return IsFloat(type);
    default:
      return false;
  }
}

bool IsKnownBinary(ExprKind kind, DType type) {
  switch (kind) {
    case ExprKind::kAdd:
    case ExprKind::kSub:
    case ExprKind::kMul:
    case ExprKind::kDiv:
    case ExprKind::kFloorDiv:
    case ExprKind::kMod:
    case ExprKind::kMin:
    case ExprKind::kMax:
    case ExprKind::kPow:
      return true;
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return !IsFloat(type);
    default:
      return IsComparison(kind);
  }
}

ExprValue UnaryValue(ExprKind kind, DType type, ExprValue a, ValueError* error) {
  if (!IsFloat(type)) {
    // No u64 is below 0.
    const bool is_large_u64 = type == DType::kU64 && a.i < 0;
    if (is_large_u64 && kind == ExprKind::kAbs) return a;
    if (is_large_u64 && kind == ExprKind::kSign) return {.i = 1};
    const int64_t value = IntUnary(kind, a.i, error);
    // A truth value is 0 or 1 whatever the operand's type is.
    return {.i = kind == ExprKind::kNot ? value : WrapToType(type, value)};
  }
  if (kind == ExprKind::kIsNan) return {.i = std::isnan(a.f)};
  if (kind == ExprKind::kNot) return {.i = a.f == 0};
  return {.f = FloatUnary(kind, a.f, error)};
}

ExprValue CastValue(DType from, DType to, ExprValue a) {
  // f32 too stays in double: rounding is the kernel's, and the check's bound allows for it. What is
  // stored in 16 bits is what the definition says, and rounded.
  if (IsStorageFloat(to)) return {.f = RoundToStorage(to, a.f)};
  if (IsFloat(to) && from == DType::kU64) return {.f = static_cast<double>(Bits(a.i))};
  if (IsFloat(to)) return {.f = IsFloat(from) ? a.f : static_cast<double>(a.i)};
  if (!IsFloat(from)) return {.i = WrapToType(to, a.i)};
  if (to == DType::kBool) return {.i = a.f != 0};
  // Saturating, NaN to 0. In C++ a conversion out of range is undefined, and the hardware's answer
  // differs between instructions.
  if (std::isnan(a.f)) return {.i = 0};
  int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
  if (to == DType::kI32) {
    low = std::numeric_limits<int32_t>::min();
    high = std::numeric_limits<int32_t>::max();
  } else if (to == DType::kI8) {
    low = -128;
    high = 127;
  } else if (to == DType::kI16) {
    low = -32768;
    high = 32767;
  } else if (to == DType::kU8) {
    low = 0;
    high = 255;
  } else if (to == DType::kU16) {
    low = 0;
    high = 65535;
  } else if (to == DType::kU32) {
    low = 0;
    high = 4294967295;
  } else if (to == DType::kU64) {
    if (a.f >= 18446744073709551616.0) return {.i = -1};  // 2^64: all bits.
    return {.i = a.f <= 0 ? 0 : Signed(static_cast<uint64_t>(a.f))};
  }
  // 2^63 is a double; the greatest int64 is not.
  if (a.f >= static_cast<double>(high)) return {.i = high};
  if (a.f <= static_cast<double>(low)) return {.i = low};
  return {.i = static_cast<int64_t>(a.f)};
}

ExprValue BinaryValue(ExprKind kind, DType type, ExprValue a, ExprValue b, ValueError* error) {
  if (IsComparison(kind)) {
    const bool is_float = IsFloat(type);
    const bool is_less = is_float              ? a.f < b.f
                         : type == DType::kU64 ? Bits(a.i) < Bits(b.i)
                                               : a.i < b.i;
    return {.i = Compare(kind, is_less, is_float ? a.f == b.f : a.i == b.i)};
  }
  if (IsFloat(type)) return {.f = FloatBinary(kind, a.f, b.f, error)};
  const int64_t value = type == DType::kU64 ? UnsignedBinary(kind, Bits(a.i), Bits(b.i), error)
                                            : IntBinary(kind, a.i, b.i, error);
  return {.i = WrapToType(type, value)};
}

}  // namespace burnish
