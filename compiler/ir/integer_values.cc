// Bounds and values of integer expressions.
#include <algorithm>
#include <initializer_list>

#include "base/check.h"
#include "compiler/ir/expr_kinds.h"
#include "compiler/ir/simplify.h"

namespace burnish {

namespace {

// What the type cannot hold has wrapped: nothing is known but the type.
std::optional<Range> RangeOfCast(const std::optional<Range>& range, DType to) {
  const IntLimits limits = LimitsOf(to);
  if (!range.has_value() || (range->min >= limits.least && range->max <= limits.greatest)) {
    return range;
  }
  return Range{limits.least, limits.greatest};
}

}  // namespace

std::optional<Range> RangeOf(const Expr& e, const VarRanges& ranges) {
  const auto operand = [&](int i) { return RangeOf(e->operands[i], ranges); };
  switch (e->kind) {
    case ExprKind::kIntImm:
      return Range{e->int_value, e->int_value};
    case ExprKind::kVar:
      return ranges(e->id);
    case ExprKind::kTable: {
      if (IsFloat(e->dtype)) return std::nullopt;
      const auto [low, high] =
          std::minmax_element(e->table->values.begin(), e->table->values.end());
      return Range{static_cast<int64_t>(*low), static_cast<int64_t>(*high)};
    }
    case ExprKind::kBoundsCheck: {
      const auto extent = operand(1);
      if (!extent.has_value()) return std::nullopt;
      return Range{0, std::max<int64_t>(extent->max - 1, 0)};
    }
    case ExprKind::kCast:
      if (e->operands[0]->dtype == DType::kBool) return Range{0, 1};
      return IsFloat(e->operands[0]->dtype) ? std::nullopt : RangeOfCast(operand(0), e->dtype);
    case ExprKind::kSelect: {
      const auto a = operand(1), b = operand(2);
      if (!a.has_value() || !b.has_value()) return std::nullopt;
      return Range{std::min(a->min, b->min), std::max(a->max, b->max)};
    }
    case ExprKind::kLt:
    case ExprKind::kLe:
    case ExprKind::kEq:
    case ExprKind::kNe:
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kNot:
      return Range{0, 1};
    case ExprKind::kNeg: {
      const auto a = operand(0);
      if (!a.has_value()) return std::nullopt;
      return Range{-a->max, -a->min};
    }
    default:
      break;
  }
  // The order of a u64 is not that of the numbers it is computed in.
  if (!IsBinary(e->kind) || IsFloat(e->dtype) || e->dtype == DType::kU64) return std::nullopt;
  const auto a = operand(0), b = operand(1);
  // Before the operands must have ranges: a modulus is bounded by its divisor alone.
  if (e->kind == ExprKind::kMod && b.has_value() && b->min == b->max && b->min > 0) {
    if (a.has_value() && FloorDivide(a->min, b->min) == FloorDivide(a->max, b->min)) {
      const int64_t base = FloorDivide(a->min, b->min) * b->min;
      return Range{a->min - base, a->max - base};
    }
    return Range{0, b->min - 1};
  }
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  const auto hull = [](std::initializer_list<int64_t> values) {
    return Range{std::min(values), std::max(values)};
  };
  switch (e->kind) {
    case ExprKind::kAdd:
      return Range{a->min + b->min, a->max + b->max};
    case ExprKind::kSub:
      return Range{a->min - b->max, a->max - b->min};
    case ExprKind::kMul:
      return hull({a->min * b->min, a->min * b->max, a->max * b->min, a->max * b->max});
    case ExprKind::kMin:
      return Range{std::min(a->min, b->min), std::min(a->max, b->max)};
    case ExprKind::kMax:
      return Range{std::max(a->min, b->min), std::max(a->max, b->max)};
    case ExprKind::kFloorDiv:
      // The quotient is monotonous in each operand only while the divisor keeps its sign; then
      // corners are the extremes.
      if (b->min <= 0) return std::nullopt;
      return hull({FloorDivide(a->min, b->min), FloorDivide(a->min, b->max),
                   FloorDivide(a->max, b->min), FloorDivide(a->max, b->max)});
    default:
      return std::nullopt;
  }
}

int64_t EvalInt(const Expr& e, const std::function<int64_t(VarId)>& value) {
  const auto at = [&](int i) { return EvalInt(e->operands[i], value); };
  switch (e->kind) {
    case ExprKind::kIntImm:
      return e->int_value;
    case ExprKind::kVar:
      return value(e->id);
    case ExprKind::kCast:
      return at(0);
    case ExprKind::kNeg:
    case ExprKind::kNot:
      return IntUnaryOf(e->kind, e->operands[0]->dtype, at(0));
    case ExprKind::kSelect:
      return at(0) != 0 ? at(1) : at(2);
    case ExprKind::kTable: {
      int64_t flat = 0;
      for (size_t d = 0; d < e->operands.size(); ++d) {
        flat = flat * e->table->shape[d] + at(static_cast<int>(d));
      }
      CHECK(flat >= 0 && flat < static_cast<int64_t>(e->table->values.size()));
      return static_cast<int64_t>(e->table->values[flat]);
    }
    default:
      break;
  }
  CHECK(IsBinary(e->kind));
  const int64_t a = at(0), b = at(1);
  if (DividesIntegers(e->kind)) CHECK_NE(b, 0);
  return IntBinaryOf(e->kind, e->operands[0]->dtype, a, b);
}

bool EnumerateBox(const std::vector<int64_t>& extents, int64_t limit,
                  const std::function<void(const std::vector<int64_t>&)>& visit) {
  int64_t count = 1;
  for (int64_t extent : extents) {
    if (extent <= 0) return true;
    // By division, since the product itself may overflow.
    if (count > limit / extent) return false;
    count *= extent;
  }
  std::vector<int64_t> point(extents.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    visit(point);
    for (int d = static_cast<int>(extents.size()) - 1; d >= 0; --d) {
      if (++point[d] < extents[d]) break;
      point[d] = 0;
    }
  }
  return true;
}

}  // namespace burnish
