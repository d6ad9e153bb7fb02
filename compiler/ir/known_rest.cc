#include "compiler/ir/known_rest.h"

#include <cmath>
#include <limits>
#include <vector>

#include "compiler/ir/expr_kinds.h"

namespace burnish {
namespace {

using Known = std::optional<double>;

bool IsZero(const Known& value) { return value.has_value() && *value == 0; }
bool IsInfinite(const Known& value) { return value.has_value() && std::isinf(*value); }

// Where one operand says it all.
Known OfEither(const ExprNode& e, const Known& a, const Known& b) {
  switch (e.kind) {
    case ExprKind::kMul:
      if (IsZero(a) || IsZero(b)) return 0;
      return std::nullopt;
    case ExprKind::kDiv:
      if (IsZero(a) && IsFloat(e.dtype)) return 0;
      return std::nullopt;
    case ExprKind::kAnd:
      if (IsZero(a) || IsZero(b)) return 0;
      return std::nullopt;
    case ExprKind::kAdd:
      if (IsInfinite(a)) return a;
      if (IsInfinite(b)) return b;
      return std::nullopt;
    case ExprKind::kSub:
      if (IsInfinite(a)) return a;
      if (IsInfinite(b)) return -*b;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// Of floats and bools: integers of 64 bits are no doubles.
Known Computed(const ExprNode& e, const std::vector<Known>& operands) {
  const ExprMeaning& meaning = InfoOf(e.kind).meaning;
  const bool of_floats = IsFloat(e.operands[0]->dtype);
  if (operands.size() == 1) {
    if (e.kind == ExprKind::kNot) return *operands[0] == 0 ? 1 : 0;
    if (!of_floats || meaning.float_unary == nullptr) return std::nullopt;
    return meaning.float_unary(*operands[0]);
  }
  if (operands.size() != 2) return std::nullopt;
  if (e.kind == ExprKind::kAnd || e.kind == ExprKind::kOr) {
    const bool a = *operands[0] != 0, b = *operands[1] != 0;
    return e.kind == ExprKind::kAnd ? a && b : a || b;
  }
  if (!of_floats) return std::nullopt;
  if (meaning.float_test != nullptr) return meaning.float_test(*operands[0], *operands[1]) ? 1 : 0;
  if (meaning.float_binary == nullptr) return std::nullopt;
  return meaning.float_binary(*operands[0], *operands[1]);
}

}  // namespace

std::optional<double> KnownValue(
    const Expr& e, const std::function<std::optional<double>(const ExprNode& load)>& of_load) {
  switch (e->kind) {
    case ExprKind::kFloatImm:
      return e->float_value;
    case ExprKind::kIntImm:
      if (e->dtype == DType::kBool) return e->int_value != 0 ? 1 : 0;
      return std::nullopt;
    case ExprKind::kLoad:
      return of_load(*e);
    case ExprKind::kSelect: {
      const Known condition = KnownValue(e->operands[0], of_load);
      if (condition.has_value()) return KnownValue(e->operands[*condition != 0 ? 1 : 2], of_load);
      // As a rest of a vector has it, behind which the neutral element is.
      const Known either = KnownValue(e->operands[1], of_load);
      return either == KnownValue(e->operands[2], of_load) ? either : std::nullopt;
    }
    case ExprKind::kCast:
      // 0 and infinities are the same in every type of floats.
      if (!IsFloat(e->dtype) || !IsFloat(e->operands[0]->dtype)) return std::nullopt;
      return KnownValue(e->operands[0], of_load);
    default:
      break;
  }
  if (e->operands.empty()) return std::nullopt;
  std::vector<Known> operands;
  bool all_known = true;
  for (const Expr& operand : e->operands) {
    operands.push_back(KnownValue(operand, of_load));
    all_known = all_known && operands.back().has_value();
  }
  const Known either = operands.size() == 2 ? OfEither(*e, operands[0], operands[1]) : std::nullopt;
  if (either.has_value()) return either;
  return all_known ? Computed(*e, operands) : std::nullopt;
}

bool IsNeutral(Combiner combiner, double value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (combiner) {
    case Combiner::kAssign:
      return false;
    case Combiner::kSum:
      return value == 0;
    case Combiner::kProd:
      return value == 1;
    case Combiner::kMax:
      return value == -kInfinity;
    case Combiner::kMin:
      return value == kInfinity;
  }
  return false;
}

}  // namespace burnish
