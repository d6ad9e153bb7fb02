#include "compiler/ir/interpreter_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace burnish::interpreter {
namespace {

uint64_t Bits(int64_t a) { return static_cast<uint64_t>(a); }

// By squaring, wrapping. Negative exponents: the reciprocal, truncated (0 but for bases 1 and -1).
int64_t IntPow(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  }
  uint64_t result = 1;
  for (uint64_t power = Bits(base); exponent > 0; exponent >>= 1, power *= power) {
    if (exponent & 1) result *= power;
  }
  return static_cast<int64_t>(result);
}

double MinOrNan(double a, double b) { return std::isnan(a) || a < b ? a : b; }
double MaxOrNan(double a, double b) { return std::isnan(a) || a > b ? a : b; }

double SignOf(double a) { return std::isnan(a) ? a : static_cast<double>((a > 0) - (a < 0)); }

// |derivative| at x of the functions whose magnitude follows the general rule; f is the value.
double Slope(ExprKind kind, double x, double f) {
  switch (kind) {
    case ExprKind::kSqrt:
      return 0.5 / f;
    case ExprKind::kExp:
      return f;
    case ExprKind::kLog:
      return 1 / std::abs(x);
    case ExprKind::kTanh:
      return 1 - f * f;
    case ExprKind::kErf:
      return 2 / std::sqrt(M_PI) * std::exp(-x * x);
    case ExprKind::kSin:
      return std::abs(std::cos(x));
    case ExprKind::kCos:
      return std::abs(std::sin(x));
    default:
      return 0;
  }
}

// Slope times magnitude, where an infinite slope at an exact zero says nothing.
double Scaled(double slope, double magnitude) { return magnitude == 0 ? 0 : slope * magnitude; }

double FloatUnaryValue(ExprKind kind, double x) {
  switch (kind) {
    case ExprKind::kNeg:
      return -x;
    case ExprKind::kAbs:
      return std::abs(x);
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
    case ExprKind::kRound:  // Half to even: the default rounding mode.
      return std::nearbyint(x);
    case ExprKind::kSign:
      return SignOf(x);
    default:
      CHECK(false) << "not a unary operation on floats: " << static_cast<int>(kind);
  }
  return 0;
}

double FloatBinaryValue(ExprKind kind, double a, double b) {
  switch (kind) {
    case ExprKind::kDiv:
      return a / b;
    case ExprKind::kFloorDiv:
      return std::floor(a / b);
    case ExprKind::kMod:
      return std::fmod(a, b);
    case ExprKind::kMin:
      return MinOrNan(a, b);
    case ExprKind::kMax:
      return MaxOrNan(a, b);
    case ExprKind::kPow:
      return std::pow(a, b);
    default:
      CHECK(false) << "not a binary operation on floats: " << static_cast<int>(kind);
  }
  return 0;
}

double BinaryMagnitude(ExprKind kind, const Slot& a, const Slot& b, double f) {
  const double x = a.value.f;
  const double y = b.value.f;
  switch (kind) {
    case ExprKind::kDiv:
      return std::abs(f) + Scaled(1 / std::abs(y), a.magnitude) +
             Scaled(std::abs(f / y), b.magnitude);
    case ExprKind::kMod:
      return a.magnitude + Scaled(std::abs(std::trunc(x / y)), b.magnitude);
    case ExprKind::kMin:
    case ExprKind::kMax:
      return std::max(a.magnitude, b.magnitude);
    case ExprKind::kPow:
      return std::abs(f) + Scaled(std::abs(y * std::pow(x, y - 1)), a.magnitude) +
             (x == 0 ? 0 : Scaled(std::abs(f * std::log(std::abs(x))), b.magnitude));
    default:
      return std::abs(f);
  }
}

}  // namespace

int64_t IntUnary(ExprKind kind, int64_t a) {
  switch (kind) {
    case ExprKind::kNeg:
      return static_cast<int64_t>(0 - Bits(a));
    case ExprKind::kAbs:
      return a < 0 ? static_cast<int64_t>(0 - Bits(a)) : a;
    case ExprKind::kFloor:
    case ExprKind::kCeil:
    case ExprKind::kRound:
      return a;
    case ExprKind::kSign:
      return (a > 0) - (a < 0);
    case ExprKind::kNot:
      return a == 0;
    case ExprKind::kIsNan:
      return 0;
    default:
      CHECK(false) << "not a unary operation on integers: " << static_cast<int>(kind);
  }
  return 0;
}

int64_t IntBinary(ExprKind kind, int64_t a, int64_t b) {
  switch (kind) {
    case ExprKind::kDiv:  // By -1: the least integer has no negative, and wraps.
      return b == -1 ? static_cast<int64_t>(0 - Bits(a)) : a / b;
    case ExprKind::kFloorDiv:
      if (b == -1) return static_cast<int64_t>(0 - Bits(a));
      return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
    case ExprKind::kMod:
      if (b == -1) return 0;
      return a % b + ((a % b != 0 && (a % b < 0) != (b < 0)) ? b : 0);
    case ExprKind::kMin:
      return std::min(a, b);
    case ExprKind::kMax:
      return std::max(a, b);
    case ExprKind::kPow:
      return IntPow(a, b);
    case ExprKind::kLt:
      return a < b;
    case ExprKind::kLe:
      return a <= b;
    case ExprKind::kEq:
      return a == b;
    case ExprKind::kNe:
      return a != b;
    case ExprKind::kAnd:
      return (a != 0) & (b != 0);
    case ExprKind::kOr:
      return (a != 0) | (b != 0);
    default:
      CHECK(false) << "not a binary operation on integers: " << static_cast<int>(kind);
  }
  return 0;
}

int64_t FloatCompare(ExprKind kind, double a, double b) {
  switch (kind) {
    case ExprKind::kLt:
      return a < b;
    case ExprKind::kLe:
      return a <= b;
    case ExprKind::kEq:
      return a == b;
    case ExprKind::kNe:
      return a != b;
    default:
      CHECK(false) << "not a comparison of floats: " << static_cast<int>(kind);
  }
  return 0;
}

void FloatUnary(ExprKind kind, bool with_magnitude, Slot* slot) {
  const double x = slot->value.f;
  if (kind == ExprKind::kIsNan || kind == ExprKind::kNot) {
    slot->value.i = kind == ExprKind::kIsNan ? std::isnan(x) : x == 0;
    return;
  }
  const double f = FloatUnaryValue(kind, x);
  if (with_magnitude && kind != ExprKind::kNeg && kind != ExprKind::kAbs) {
    // At 0 the slope of the square root is infinite; the root of the error is what remains.
    slot->magnitude = kind == ExprKind::kSqrt && f == 0
                          ? std::sqrt(slot->magnitude)
                          : std::abs(f) + Scaled(Slope(kind, x, f), slot->magnitude);
  }
  slot->value.f = f;
}

void FloatBinary(ExprKind kind, bool with_magnitude, Slot* slot) {
  const double f = FloatBinaryValue(kind, slot[0].value.f, slot[1].value.f);
  if (with_magnitude) slot->magnitude = BinaryMagnitude(kind, slot[0], slot[1], f);
  slot->value.f = f;
}

void CastSlot(DType from, DType to, Slot* slot) {
  if (IsFloat(from) && IsFloat(to)) return;
  if (IsFloat(to)) {
    slot->value.f = static_cast<double>(slot->value.i);
    slot->magnitude = std::abs(slot->value.f);
    return;
  }
  if (!IsFloat(from)) {
    slot->value.i = WrapInt(to, slot->value.i);
    return;
  }
  const double x = slot->value.f;
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (to == DType::kBool) {
    slot->value.i = x != 0;
  } else if (std::isnan(x)) {
    slot->value.i = 0;
  } else {
    const int64_t whole = x >= kLimit   ? std::numeric_limits<int64_t>::max()
                          : x < -kLimit ? std::numeric_limits<int64_t>::min()
                                        : static_cast<int64_t>(x);
    int64_t least = std::numeric_limits<int64_t>::min();
    int64_t greatest = std::numeric_limits<int64_t>::max();
    if (to == DType::kU8) {
      least = 0;
      greatest = 255;
    } else if (to != DType::kI64) {
      greatest = to == DType::kI8 ? 127 : std::numeric_limits<int32_t>::max();
      least = -greatest - 1;
    }
    slot->value.i = std::clamp(whole, least, greatest);
  }
}

int64_t WrapInt(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::kI32:
      return static_cast<int32_t>(value);
    case DType::kI8:
      return static_cast<int8_t>(value);
    case DType::kU8:
      return static_cast<uint8_t>(value);
    case DType::kBool:
      return value != 0;
    default:
      return value;
  }
}

Slot CombineSlots(Combiner combiner, DType dtype, const Slot& a, const Slot& b) {
  if (combiner == Combiner::kAssign) return b;
  Slot pair[2] = {a, b};
  if (IsFloat(dtype)) {
    if (combiner == Combiner::kSum) {
      return {{.f = a.value.f + b.value.f}, a.magnitude + b.magnitude};
    }
    if (combiner == Combiner::kProd) {
      return {{.f = a.value.f * b.value.f}, a.magnitude * b.magnitude};
    }
    FloatBinary(combiner == Combiner::kMax ? ExprKind::kMax : ExprKind::kMin, true, pair);
    return pair[0];
  }
  int64_t value = 0;
  switch (combiner) {
    case Combiner::kSum:
      value = static_cast<int64_t>(Bits(a.value.i) + Bits(b.value.i));
      break;
    case Combiner::kProd:
      value = static_cast<int64_t>(Bits(a.value.i) * Bits(b.value.i));
      break;
    case Combiner::kMax:
      value = std::max(a.value.i, b.value.i);
      break;
    default:
      value = std::min(a.value.i, b.value.i);
      break;
  }
  return {{.i = WrapInt(dtype, value)}, 0};
}

}  // namespace burnish::interpreter
