#include "compiler/ir/interpreter_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "compiler/ir/expr_kinds.h"

namespace burnish::interpreter {
namespace {

uint64_t Bits(int64_t a) { return static_cast<uint64_t>(a); }
int64_t Signed(uint64_t a) { return static_cast<int64_t>(a); }

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

// The value is rounded as the machine's is. Its magnitude grows by one unit in the last place, in
// units of f32's rounding (2^-24 of the value), because two f32 that differ by their own rounding
// may fall to both sides of a tie.
void RoundSlot(DType to, Slot* slot) {
  slot->value.f = RoundToStorage(to, slot->value.f);
  if (!std::isfinite(slot->value.f)) return;
  const double size = std::abs(slot->value.f);
  // A unit is 2^-7 of a bfloat16 and 2^-10 of a float16, at least 2^-24 there (subnormals).
  slot->magnitude +=
      to == DType::kBf16 ? std::ldexp(size, 17) : std::max(std::ldexp(size, 14), 1.0);
}

// What compiled code would have: where a value is made a whole number, a difference of the last
// digit makes one of 1. So quantized results are the same bits.
double AsTyped(DType dtype, double x) { return dtype == DType::kF32 ? static_cast<float>(x) : x; }

}  // namespace

int64_t FloatCompare(ExprKind kind, double a, double b) {
  const auto test = InfoOf(kind).meaning.float_test;
  CHECK(test != nullptr) << "not a comparison of floats: " << static_cast<int>(kind);
  return test(a, b);
}

void FloatUnary(ExprKind kind, DType dtype, bool with_magnitude, Slot* slot) {
  const double x = kind == ExprKind::kRound ? AsTyped(dtype, slot->value.f) : slot->value.f;
  const ExprMeaning& meaning = InfoOf(kind).meaning;
  if (meaning.float_test != nullptr) {
    slot->value.i = meaning.float_test(x, x);
    return;
  }
  CHECK(meaning.float_unary != nullptr)
      << "not a unary operation on floats: " << static_cast<int>(kind);
  const double f = meaning.float_unary(x);
  if (with_magnitude && kind != ExprKind::kNeg && kind != ExprKind::kAbs) {
    // At 0 the slope of the square root is infinite; the root of the error is what remains.
    slot->magnitude = kind == ExprKind::kSqrt && f == 0
                          ? std::sqrt(slot->magnitude)
                          : std::abs(f) + Scaled(Slope(kind, x, f), slot->magnitude);
  }
  slot->value.f = f;
}

void FloatBinary(ExprKind kind, bool with_magnitude, Slot* slot) {
  const auto function = InfoOf(kind).meaning.float_binary;
  CHECK(function != nullptr) << "not a binary operation on floats: " << static_cast<int>(kind);
  const double f = function(slot[0].value.f, slot[1].value.f);
  if (with_magnitude) slot->magnitude = BinaryMagnitude(kind, slot[0], slot[1], f);
  slot->value.f = f;
}

void CastSlot(DType from, DType to, Slot* slot) {
  if (IsFloat(from) && IsFloat(to)) {
    if (IsStorageFloat(to)) RoundSlot(to, slot);
    return;
  }
  if (IsFloat(to)) {
    slot->value.f = from == DType::kU64 ? static_cast<double>(Bits(slot->value.i))
                                        : static_cast<double>(slot->value.i);
    if (to == DType::kF32) slot->value.f = static_cast<float>(slot->value.f);
    slot->magnitude = std::abs(slot->value.f);
    return;
  }
  if (!IsFloat(from)) {
    slot->value.i = WrapInt(to, slot->value.i);
    return;
  }
  const double x = AsTyped(from, slot->value.f);
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (to == DType::kBool) {
    slot->value.i = x != 0;
  } else if (std::isnan(x)) {
    slot->value.i = 0;
  } else if (to == DType::kU64) {
    slot->value.i = x >= 2 * kLimit ? -1 : x <= 0 ? 0 : Signed(static_cast<uint64_t>(x));
  } else {
    const IntLimits limits = LimitsOf(to);
    const int64_t whole = x >= kLimit   ? std::numeric_limits<int64_t>::max()
                          : x < -kLimit ? std::numeric_limits<int64_t>::min()
                                        : static_cast<int64_t>(x);
    slot->value.i = std::clamp(whole, limits.least, limits.greatest);
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
  const ExprKind kind = combiner == Combiner::kSum    ? ExprKind::kAdd
                        : combiner == Combiner::kProd ? ExprKind::kMul
                        : combiner == Combiner::kMax  ? ExprKind::kMax
                                                      : ExprKind::kMin;
  return {{.i = WrapInt(dtype, IntBinaryOf(kind, dtype, a.value.i, b.value.i))}, 0};
}

}  // namespace burnish::interpreter
