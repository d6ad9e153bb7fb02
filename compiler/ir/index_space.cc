#include "compiler/ir/index_space.h"

#include <algorithm>

namespace burnish {
namespace {

// Sums and products of two 64-bit numbers are exact in 128 bits, so that a result that wrapped is
// seen.
using Wide = __int128;

Interval RangeOfType(DType dtype) {
  if (IsFloat(dtype)) return {};
  const IntLimits limits = LimitsOf(dtype);
  return {limits.least, limits.greatest};
}

// A result that its type cannot hold has wrapped: nothing is known but the type.
Interval Fit(Wide min, Wide max, DType dtype) {
  const Interval whole = RangeOfType(dtype);
  if (min < whole.min || max > whole.max) return whole;
  return {static_cast<int64_t>(min), static_cast<int64_t>(max)};
}

template <typename T>
T FloorDivOf(T a, T b) {
  const T q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

Interval FitCorners(std::initializer_list<Wide> corners, DType dtype) {
  return Fit(std::min(corners), std::max(corners), dtype);
}

Interval Hull(const Interval& a, const Interval& b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max)};
}

Interval Truth(bool always, bool never) { return always ? Interval{1, 1} : Interval{0, !never}; }

Interval RangeOfComparison(ExprKind kind, const Interval& a, const Interval& b) {
  const bool apart = a.max < b.min || b.max < a.min;
  const bool equal = a.IsPoint() && b.IsPoint() && a.min == b.min;
  switch (kind) {
    case ExprKind::kLt:
      return Truth(a.max < b.min, a.min >= b.max);
    case ExprKind::kLe:
      return Truth(a.max <= b.min, a.min > b.max);
    case ExprKind::kEq:
      return Truth(equal, apart);
    default:
      return Truth(apart, equal);
  }
}

}  // namespace

IndexSpace::IndexSpace(const Program& program, VarView view)
    : program_(program), view_(view), fixed_(program.vars.size()), confined_(program.vars.size()) {}

Interval IndexSpace::RangeOfVar(VarId var) const {
  if (fixed_[var].has_value()) return {*fixed_[var], *fixed_[var]};
  if (confined_[var].has_value()) return *confined_[var];
  const Var& v = program_.vars[var];
  // At least one value: an extent that may be 0 is another rule's to refuse.
  const Interval own = {0, std::max<int64_t>(RangeOf(v.extent).max, 1) - 1};
  if (v.def == nullptr || view_ == VarView::kOwnRange) return own;
  const Interval mapped = RangeOf(v.def);
  const Interval cut = {std::max(own.min, mapped.min), std::min(own.max, mapped.max)};
  // Disjoint: all iterations are skipped. An interval must hold something, and what runs nowhere
  // may have any value.
  return cut.min <= cut.max ? cut : own;
}

bool IndexSpace::IsSkipped(const Expr& e) const {
  bool skipped = false;
  VisitExpr(e, [&](const ExprNode& node) {
    if (skipped || node.kind != ExprKind::kVar || view_ == VarView::kOwnRange) return;
    const Var& var = program_.vars[node.id];
    if (var.def == nullptr) return;
    // Surely beyond: also the least value is not below the greatest extent.
    skipped = RangeOf(var.def).min >= RangeOf(var.extent).max || IsSkipped(var.def);
  });
  return skipped;
}

Interval IndexSpace::RangeOf(const Expr& e) const {
  const auto at = [&](int i) { return RangeOf(e->operands[i]); };
  if (IsFloat(e->dtype)) return {};
  switch (e->kind) {
    case ExprKind::kIntImm:
      return {e->int_value, e->int_value};
    case ExprKind::kVar:
      return RangeOfVar(e->id);
    case ExprKind::kTable:
      return RangeOfTable(*e);
    case ExprKind::kBoundsCheck:
      return {0, std::max<int64_t>(at(1).max, 1) - 1};
    case ExprKind::kNeg: {
      const Interval a = at(0);
      return Fit(-Wide{a.max}, -Wide{a.min}, e->dtype);
    }
    case ExprKind::kNot: {
      const Interval a = at(0);
      return {1 - a.max, 1 - a.min};
    }
    case ExprKind::kCast: {
      const Interval a = at(0);
      if (e->dtype == DType::kBool) return {0, 1};
      return Fit(a.min, a.max, e->dtype);
    }
    case ExprKind::kSelect: {
      const Interval condition = at(0);
      // Decided: the other branch, which padding makes wide, says nothing.
      if (condition.IsPoint()) return at(condition.min != 0 ? 1 : 2);
      return Hull(at(1), at(2));
    }
    default:
      return IsBinary(e->kind) ? RangeOfBinary(*e) : RangeOfType(e->dtype);
  }
}

Interval IndexSpace::RangeOfBinary(const ExprNode& e) const {
  // The order of a u64 is not that of the numbers it is computed in.
  const DType type = e.operands[0]->dtype;
  if (IsFloat(type) || type == DType::kU64) return RangeOfType(e.dtype);
  const Interval a = RangeOf(e.operands[0]), b = RangeOf(e.operands[1]);
  switch (e.kind) {
    case ExprKind::kAdd:
      return Fit(Wide{a.min} + b.min, Wide{a.max} + b.max, e.dtype);
    case ExprKind::kSub:
      return Fit(Wide{a.min} - b.max, Wide{a.max} - b.min, e.dtype);
    case ExprKind::kMul:
      return FitCorners(
          {Wide{a.min} * b.min, Wide{a.min} * b.max, Wide{a.max} * b.min, Wide{a.max} * b.max},
          e.dtype);
    case ExprKind::kDiv:
    case ExprKind::kFloorDiv: {
      if (b.min <= 0) return RangeOfType(e.dtype);
      const auto quotient = [&](int64_t x, int64_t y) {
        return Wide{e.kind == ExprKind::kDiv ? x / y : FloorDivOf(x, y)};
      };
      return FitCorners({quotient(a.min, b.min), quotient(a.min, b.max), quotient(a.max, b.min),
                         quotient(a.max, b.max)},
                        e.dtype);
    }
    case ExprKind::kMod: {
      if (b.min <= 0) return RangeOfType(e.dtype);
      // All of `a` in one period: the modulus is then a shift, and stays as narrow as `a`.
      if (b.IsPoint() && FloorDivOf(a.min, b.min) == FloorDivOf(a.max, b.min)) {
        const Wide base = Wide{FloorDivOf(a.min, b.min)} * b.min;
        return Fit(a.min - base, a.max - base, e.dtype);
      }
      return {0, b.max - 1};
    }
    case ExprKind::kMin:
      return {std::min(a.min, b.min), std::min(a.max, b.max)};
    case ExprKind::kMax:
      return {std::max(a.min, b.min), std::max(a.max, b.max)};
    case ExprKind::kAnd:
      return {std::min(a.min, b.min), std::min(a.max, b.max)};
    case ExprKind::kOr:
      return {std::max(a.min, b.min), std::max(a.max, b.max)};
    case ExprKind::kLt:
    case ExprKind::kLe:
    case ExprKind::kEq:
    case ExprKind::kNe:
      return RangeOfComparison(e.kind, a, b);
    default:
      return RangeOfType(e.dtype);
  }
}

Interval IndexSpace::RangeOfTable(const ExprNode& e) const {
  const ConstTable& table = *e.table;
  // Row-major: everything between the least and the greatest indices, and all there is at a point.
  int64_t first = 0, last = 0;
  for (size_t d = 0; d < e.operands.size(); ++d) {
    const Interval index = RangeOf(e.operands[d]);
    const int64_t size = table.shape[d];
    // Outside of the table whatever the value. Nothing is said of it, and the rule of bounds
    // refuses the access itself.
    if (index.min > size - 1 || index.max < 0) return {};
    first = first * size + std::max<int64_t>(index.min, 0);
    last = last * size + std::min(index.max, size - 1);
  }
  const auto [low, high] =
      std::minmax_element(table.values.begin() + first, table.values.begin() + last + 1);
  return {static_cast<int64_t>(*low), static_cast<int64_t>(*high)};
}

std::optional<int64_t> IndexSpace::EvalVar(VarId var) const {
  if (fixed_[var].has_value()) return fixed_[var];
  const Var& v = program_.vars[var];
  if (v.def == nullptr || view_ == VarView::kOwnRange) return std::nullopt;
  return Eval(v.def);
}

std::optional<int64_t> IndexSpace::Eval(const Expr& e) const {
  if (IsFloat(e->dtype)) return std::nullopt;
  switch (e->kind) {
    case ExprKind::kIntImm:
      return e->int_value;
    case ExprKind::kVar:
      return EvalVar(e->id);
    case ExprKind::kTable:
      return EvalTable(*e);
    case ExprKind::kSelect: {
      const std::optional<int64_t> condition = Eval(e->operands[0]);
      if (!condition.has_value()) return std::nullopt;
      return Eval(e->operands[*condition != 0 ? 1 : 2]);
    }
    case ExprKind::kNeg:
    case ExprKind::kNot:
    case ExprKind::kCast: {
      const std::optional<int64_t> a = Eval(e->operands[0]);
      if (!a.has_value() || *a == std::numeric_limits<int64_t>::min()) return std::nullopt;
      if (e->kind == ExprKind::kNot) return *a == 0;
      if (e->kind == ExprKind::kNeg) return -*a;
      if (e->dtype == DType::kBool) return *a != 0;
      const Interval whole = RangeOfType(e->dtype);
      if (*a < whole.min || *a > whole.max) return std::nullopt;
      return a;
    }
    default:
      return IsBinary(e->kind) ? EvalBinary(*e) : std::nullopt;
  }
}

std::optional<int64_t> IndexSpace::EvalBinary(const ExprNode& e) const {
  const std::optional<int64_t> x = Eval(e.operands[0]);
  if (!x.has_value()) return std::nullopt;
  const std::optional<int64_t> y = Eval(e.operands[1]);
  if (!y.has_value()) return std::nullopt;
  const int64_t a = *x, b = *y;
  int64_t result = 0;
  switch (e.kind) {
    case ExprKind::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
      return result;
    case ExprKind::kSub:
      if (__builtin_sub_overflow(a, b, &result)) return std::nullopt;
      return result;
    case ExprKind::kMul:
      if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
      return result;
    case ExprKind::kDiv:
    case ExprKind::kFloorDiv:
    case ExprKind::kMod: {
      // -1 as well: the least integer has no positive. Index arithmetic does not divide by it.
      if (b == 0 || b == -1) return std::nullopt;
      if (e.kind == ExprKind::kDiv) return a / b;
      const int64_t quotient = FloorDivOf(a, b);
      return e.kind == ExprKind::kMod ? a - quotient * b : quotient;
    }
    case ExprKind::kMin:
      return std::min(a, b);
    case ExprKind::kMax:
      return std::max(a, b);
    case ExprKind::kLt:
      return a < b;
    case ExprKind::kLe:
      return a <= b;
    case ExprKind::kEq:
      return a == b;
    case ExprKind::kNe:
      return a != b;
    case ExprKind::kAnd:
      return a != 0 && b != 0;
    case ExprKind::kOr:
      return a != 0 || b != 0;
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> IndexSpace::EvalTable(const ExprNode& e) const {
  int64_t flat = 0;
  for (size_t d = 0; d < e.operands.size(); ++d) {
    const std::optional<int64_t> index = Eval(e.operands[d]);
    if (!index.has_value() || *index < 0 || *index >= e.table->shape[d]) return std::nullopt;
    flat = flat * e.table->shape[d] + *index;
  }
  return static_cast<int64_t>(e.table->values[flat]);
}

void IndexSpace::AddVars(const Expr& e, std::vector<VarId>& order, std::vector<bool>& seen) const {
  VisitExpr(e, [&](const ExprNode& node) {
    if (node.kind != ExprKind::kVar || seen[node.id]) return;
    seen[node.id] = true;
    const Var& var = program_.vars[node.id];
    if (var.def != nullptr && view_ == VarView::kExpanded) return AddVars(var.def, order, seen);
    // First what the extent mentions: Enumerate asks for the extent when the outer variables are
    // fixed.
    AddVars(var.extent, order, seen);
    order.push_back(node.id);
  });
}

std::vector<VarId> IndexSpace::VarsOf(absl::Span<const Expr> expressions) const {
  std::vector<VarId> order;
  std::vector<bool> seen(program_.vars.size());
  for (const Expr& e : expressions) AddVars(e, order, seen);
  return order;
}

IndexSpace::Walk IndexSpace::Enumerate(absl::Span<const VarId> vars, int64_t* budget,
                                       const std::function<bool()>& visit) {
  if (vars.empty()) {
    if (--*budget < 0) return Walk::kOverBudget;
    return visit() ? Walk::kDone : Walk::kStopped;
  }
  const VarId var = vars[0];
  const std::optional<int64_t> extent = Eval(program_.vars[var].extent);
  if (!extent.has_value()) return Walk::kStopped;
  Walk walk = Walk::kDone;
  for (int64_t value = 0; value < *extent && walk == Walk::kDone; ++value) {
    fixed_[var] = value;
    // Also for points that have no points inside them: the walk ends on every input.
    walk = --*budget < 0 ? Walk::kOverBudget : Enumerate(vars.subspan(1), budget, visit);
  }
  fixed_[var].reset();
  return walk;
}

}  // namespace burnish
