#include "compiler/ir/expr_kinds.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace burnish {
namespace {

using K = ExprKind;
using T = OperandTypes;
using C = CostClass;
using I = int64_t;
using D = double;

// Signed overflow is undefined in C++; the IR's integers wrap.
uint64_t Bits(I a) { return static_cast<uint64_t>(a); }
I Signed(uint64_t a) { return static_cast<I>(a); }
I Negated(I a) { return Signed(0 - Bits(a)); }

// By squaring, wrapping.
uint64_t Power(uint64_t power, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, power *= power) {
    if (exponent & 1) result *= power;
  }
  return result;
}

// Negative exponents: the reciprocal, truncated (0 but for bases 1 and -1).
I IntPower(I base, I exponent) {
  if (exponent >= 0) return Signed(Power(Bits(base), Bits(exponent)));
  if (base == 1) return 1;
  return base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
}

I Same(I a) { return a; }
D SignOf(D a) { return std::isnan(a) ? a : static_cast<D>((a > 0) - (a < 0)); }

// ---- Rows by what kinds have in common.

// Constants, names, accesses: the verifier has a rule for each.
constexpr ExprKindInfo Own(K kind, int operand_count, C cost = C::kFree) {
  return {.kind = kind, .operand_count = operand_count, .cost = cost};
}

constexpr ExprKindInfo Sign(K kind, const char* call, C cost, I (*on_ints)(I), D (*on_floats)(D)) {
  return {.kind = kind,
          .call = call,
          .operand_count = 1,
          .operands = T::kNumbers,
          .cost = cost,
          .meaning = {.int_unary = on_ints, .float_unary = on_floats}};
}

constexpr ExprKindInfo Function(K kind, const char* call, D (*on_floats)(D),
                                C cost = C::kFunction) {
  return {.kind = kind,
          .call = call,
          .operand_count = 1,
          .operands = T::kFloats,
          .cost = cost,
          .is_function = true,
          .meaning = {.float_unary = on_floats}};
}

constexpr ExprKindInfo Rounding(K kind, const char* call, D (*on_floats)(D)) {
  return {.kind = kind,
          .call = call,
          .operand_count = 1,
          .operands = T::kFloats,
          .meaning = {.int_unary = &Same, .float_unary = on_floats}};
}

constexpr ExprKindInfo Test(K kind, const char* call, T operands, I (*on_ints)(I),
                            bool (*on_floats)(D, D)) {
  return {.kind = kind,
          .call = call,
          .operand_count = 1,
          .operands = operands,
          .gives_bool = true,
          .cost = C::kCompare,
          .meaning = {.int_unary = on_ints, .float_test = on_floats}};
}

constexpr ExprKindInfo Infix(K kind, const char* infix, int level, T operands, C cost,
                             I (*on_ints)(I, I), D (*on_floats)(D, D), bool is_function = false) {
  return {.kind = kind,
          .infix = infix,
          .infix_level = level,
          .operand_count = 2,
          .operands = operands,
          .cost = cost,
          .is_function = is_function,
          .meaning = {.int_binary = on_ints, .float_binary = on_floats}};
}

constexpr ExprKindInfo Call(K kind, const char* call, T operands, C cost, I (*on_ints)(I, I),
                            D (*on_floats)(D, D), bool is_function = false) {
  return {.kind = kind,
          .call = call,
          .operand_count = 2,
          .operands = operands,
          .cost = cost,
          .is_function = is_function,
          .meaning = {.int_binary = on_ints, .float_binary = on_floats}};
}

// Comparisons and logic.
constexpr ExprKindInfo Relation(K kind, const char* infix, int level, T operands,
                                I (*on_ints)(I, I), bool (*on_floats)(D, D)) {
  return {.kind = kind,
          .infix = infix,
          .infix_level = level,
          .operand_count = 2,
          .operands = operands,
          .gives_bool = true,
          .cost = C::kCompare,
          .meaning = {.int_binary = on_ints, .float_test = on_floats}};
}

constexpr bool kIsFunction = true;

// In the order of ExprKind.
constexpr std::array<ExprKindInfo, kExprKindCount> kTable = {{
    Own(K::kIntImm, 0),
    Own(K::kFloatImm, 0),
    Own(K::kVar, 0),
    Own(K::kSelf, 0),
    Sign(K::kNeg, nullptr, C::kNegate, &Negated, [](D a) { return -a; }),
    Sign(
        K::kAbs, "abs", C::kNegate, [](I a) { return a < 0 ? Negated(a) : a; },
        [](D a) { return std::abs(a); }),
    Function(
        K::kSqrt, "sqrt", [](D a) { return std::sqrt(a); }, C::kDivide),
    Function(K::kExp, "exp", [](D a) { return std::exp(a); }),
    Function(K::kLog, "log", [](D a) { return std::log(a); }),
    Function(K::kTanh, "tanh", [](D a) { return std::tanh(a); }),
    Function(K::kErf, "erf", [](D a) { return std::erf(a); }),
    Function(K::kSin, "sin", [](D a) { return std::sin(a); }),
    Function(K::kCos, "cos", [](D a) { return std::cos(a); }),
    Rounding(K::kFloor, "floor", [](D a) { return std::floor(a); }),
    Rounding(K::kCeil, "ceil", [](D a) { return std::ceil(a); }),
    // Half to even: the default rounding mode.
    Rounding(K::kRound, "round", [](D a) { return std::nearbyint(a); }),
    Sign(
        K::kSign, "sign", C::kFree, [](I a) -> I { return (a > 0) - (a < 0); }, &SignOf),
    Test(
        K::kNot, nullptr, T::kBools, [](I a) -> I { return a == 0; },
        [](D a, D) { return a == 0; }),
    Test(
        K::kIsNan, "is_nan", T::kFloats, [](I) -> I { return 0; },
        [](D a, D) { return std::isnan(a); }),
    Own(K::kCast, 1, C::kCast),
    Infix(
        K::kAdd, "+", 4, T::kNumbers, C::kAdd, [](I a, I b) { return Signed(Bits(a) + Bits(b)); },
        [](D a, D b) { return a + b; }),
    Infix(
        K::kSub, "-", 4, T::kNumbers, C::kAdd, [](I a, I b) { return Signed(Bits(a) - Bits(b)); },
        [](D a, D b) { return a - b; }),
    Infix(
        K::kMul, "*", 5, T::kNumbers, C::kMultiply,
        [](I a, I b) { return Signed(Bits(a) * Bits(b)); }, [](D a, D b) { return a * b; }),
    // By -1: the least integer has no negative, and wraps.
    Infix(
        K::kDiv, "/", 5, T::kNumbers, C::kDivide,
        [](I a, I b) { return b == -1 ? Negated(a) : a / b; }, [](D a, D b) { return a / b; },
        kIsFunction),
    Infix(
        K::kFloorDiv, "//", 5, T::kIntegers, C::kInteger, &FloorDivide,
        [](D a, D b) { return std::floor(a / b); }, kIsFunction),
    Infix(
        K::kMod, "%", 5, T::kNumbers, C::kInteger, &FloorModulo,
        [](D a, D b) { return std::fmod(a, b); }, kIsFunction),
    Call(
        K::kMin, "min", T::kValues, C::kMinMax, [](I a, I b) { return std::min(a, b); },
        [](D a, D b) { return std::isnan(a) || a < b ? a : b; }),
    Call(
        K::kMax, "max", T::kValues, C::kMinMax, [](I a, I b) { return std::max(a, b); },
        [](D a, D b) { return std::isnan(a) || a > b ? a : b; }),
    Call(
        K::kPow, "pow", T::kNumbers, C::kPower, &IntPower, [](D a, D b) { return std::pow(a, b); },
        kIsFunction),
    Relation(
        K::kLt, "<", 3, T::kValues, [](I a, I b) -> I { return a < b; },
        [](D a, D b) { return a < b; }),
    Relation(
        K::kLe, "<=", 3, T::kValues, [](I a, I b) -> I { return a <= b; },
        [](D a, D b) { return a <= b; }),
    Relation(
        K::kEq, "==", 3, T::kValues, [](I a, I b) -> I { return a == b; },
        [](D a, D b) { return a == b; }),
    Relation(
        K::kNe, "!=", 3, T::kValues, [](I a, I b) -> I { return a != b; },
        [](D a, D b) { return a != b; }),
    Relation(
        K::kAnd, "&&", 2, T::kBools, [](I a, I b) -> I { return (a != 0) & (b != 0); }, nullptr),
    Relation(
        K::kOr, "||", 1, T::kBools, [](I a, I b) -> I { return (a != 0) | (b != 0); }, nullptr),
    Own(K::kSelect, 3, C::kSelect),
    Own(K::kLoad, -1),
    Own(K::kTable, -1, C::kInteger),
    {.kind = K::kBoundsCheck, .call = "bounds_check", .operand_count = 2},
}};

constexpr bool InOrder() {
  for (int k = 0; k < kExprKindCount; ++k) {
    if (static_cast<int>(kTable[k].kind) != k) return false;
  }
  return true;
}
static_assert(InOrder(), "a row a kind, in the order of ExprKind");

}  // namespace

int64_t FloorDivide(int64_t a, int64_t b) {
  if (b == -1) return Negated(a);
  const int64_t q = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}

int64_t FloorModulo(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

int64_t IntUnaryOf(ExprKind kind, DType type, int64_t a) {
  if (type == DType::kU64 && kind == ExprKind::kAbs) return a;
  if (type == DType::kU64 && kind == ExprKind::kSign) return a != 0;
  const auto function = InfoOf(kind).meaning.int_unary;
  CHECK(function != nullptr) << "not a unary operation on integers: " << static_cast<int>(kind);
  return function(a);
}

int64_t IntBinaryOf(ExprKind kind, DType type, int64_t a, int64_t b) {
  const uint64_t x = Bits(a), y = Bits(b);
  if (type == DType::kU64) {
    switch (kind) {
      case ExprKind::kDiv:
      case ExprKind::kFloorDiv:
        return Signed(x / y);
      case ExprKind::kMod:
        return Signed(x % y);
      case ExprKind::kMin:
        return Signed(std::min(x, y));
      case ExprKind::kMax:
        return Signed(std::max(x, y));
      case ExprKind::kPow:
        return Signed(Power(x, y));
      case ExprKind::kLt:
        return x < y;
      case ExprKind::kLe:
        return x <= y;
      default:
        break;
    }
  }
  const auto function = InfoOf(kind).meaning.int_binary;
  CHECK(function != nullptr) << "not a binary operation on integers: " << static_cast<int>(kind);
  return function(a, b);
}

const ExprKindInfo& InfoOf(ExprKind kind) { return kTable[static_cast<int>(kind)]; }

}  // namespace burnish
