#include "compiler/ir/simplify.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "compiler/ir/expr_kinds.h"

namespace burnish {
namespace {

// A total order on trees; terms are kept in it. By content, not by address: the same program must
// give the same text and the same hash in every process.
int Compare(const Expr& a, const Expr& b) {
  if (a == b) return 0;
  const auto order = [](auto x, auto y) { return x < y ? -1 : (y < x ? 1 : 0); };
  if (int c = order(a->kind, b->kind)) return c;
  if (int c = order(a->id, b->id)) return c;
  if (int c = order(a->int_value, b->int_value)) return c;
  if (int c = order(a->float_value, b->float_value)) return c;
  if (int c = order(a->operands.size(), b->operands.size())) return c;
  for (size_t i = 0; i < a->operands.size(); ++i) {
    if (int c = Compare(a->operands[i], b->operands[i])) return c;
  }
  if (a->table != b->table && a->table != nullptr && b->table != nullptr) {
    if (int c = order(a->table->values, b->table->values)) return c;
  }
  return 0;
}

void AddTerm(LinearForm& form, const Expr& atom, int64_t coefficient) {
  if (coefficient == 0) return;
  auto it = std::lower_bound(
      form.terms.begin(), form.terms.end(), atom,
      [](const auto& term, const Expr& key) { return Compare(term.first, key) < 0; });
  if (it != form.terms.end() && Compare(it->first, atom) == 0) {
    it->second += coefficient;
    // A term of coefficient 0 would keep a variable in the expression that no longer matters to it.
    if (it->second == 0) form.terms.erase(it);
    return;
  }
  form.terms.insert(it, {atom, coefficient});
}

void AddScaled(LinearForm& form, const LinearForm& other, int64_t scale) {
  if (form.terms.empty() && scale == 1) {
    form.constant += other.constant;
    form.terms = other.terms;
    return;
  }
  form.constant += other.constant * scale;
  for (const auto& [atom, coefficient] : other.terms) AddTerm(form, atom, coefficient * scale);
}

// Whether `e` is made of variables and constants by sums and constant factors: it has no atoms but
// its variables, and nothing to join.
bool IsPlainSum(const ExprNode& e) {
  switch (e.kind) {
    case ExprKind::kIntImm:
    case ExprKind::kVar:
      return true;
    case ExprKind::kNeg:
      return IsPlainSum(*e.operands[0]);
    case ExprKind::kAdd:
    case ExprKind::kSub:
      return IsPlainSum(*e.operands[0]) && IsPlainSum(*e.operands[1]);
    case ExprKind::kMul:
      return IsConstInt(e.operands[1]) && IsPlainSum(*e.operands[0]);
    default:
      return false;
  }
}

// Adds the terms where they stand, without a form for each node in between.
void AddPlainSum(LinearForm& form, const Expr& e, int64_t scale, const VarRanges& ranges) {
  switch (e->kind) {
    case ExprKind::kIntImm:
      form.constant += e->int_value * scale;
      return;
    case ExprKind::kVar:
      // A variable with one value is that value.
      if (const auto range = ranges(e->id); range.has_value() && range->min == range->max) {
        form.constant += range->min * scale;
      } else {
        AddTerm(form, e, scale);
      }
      return;
    case ExprKind::kNeg:
      AddPlainSum(form, e->operands[0], -scale, ranges);
      return;
    case ExprKind::kMul:
      AddPlainSum(form, e->operands[0], scale * e->operands[1]->int_value, ranges);
      return;
    default:
      AddPlainSum(form, e->operands[0], scale, ranges);
      AddPlainSum(form, e->operands[1], e->kind == ExprKind::kSub ? -scale : scale, ranges);
  }
}

// Adds a sum as FromLinear writes it, whose atoms are what they are.
void AddAtoms(LinearForm& form, const Expr& e, int64_t scale) {
  if (e->kind == ExprKind::kIntImm) {
    form.constant += e->int_value * scale;
  } else if (e->kind == ExprKind::kAdd) {
    AddAtoms(form, e->operands[0], scale);
    AddAtoms(form, e->operands[1], scale);
  } else if (e->kind == ExprKind::kMul && IsConstInt(e->operands[1])) {
    AddAtoms(form, e->operands[0], scale * e->operands[1]->int_value);
  } else {
    AddTerm(form, e, scale);
  }
}

std::optional<Range> RangeOfLinear(const LinearForm& form, const VarRanges& ranges) {
  Range total{form.constant, form.constant};
  for (const auto& [atom, coefficient] : form.terms) {
    const std::optional<Range> range = RangeOf(atom, ranges);
    if (!range.has_value()) return std::nullopt;
    total.min += coefficient * (coefficient > 0 ? range->min : range->max);
    total.max += coefficient * (coefficient > 0 ? range->max : range->min);
  }
  return total;
}

// x = divisor * quotient + rest, with quotient taken term by term.
struct Divided {
  LinearForm quotient;
  LinearForm rest;
};

Divided DivideTerms(const LinearForm& x, int64_t divisor) {
  Divided result;
  result.quotient.constant = FloorDivide(x.constant, divisor);
  result.rest.constant = x.constant - result.quotient.constant * divisor;
  for (const auto& [atom, coefficient] : x.terms) {
    // floor((d * q + r) / d) = q + floor(r / d) for any integer q, so that multiples go out term by
    // term.
    // A part of a sorted list is sorted.
    if (coefficient % divisor == 0) {
      result.quotient.terms.emplace_back(atom, coefficient / divisor);
    } else {
      result.rest.terms.emplace_back(atom, coefficient);
    }
  }
  return result;
}

// rest = scale * reduced + low, 0 <= low < scale, scale the gcd of the divisor and all
// coefficients.
struct Reduced {
  int64_t scale = 1;
  int64_t low = 0;
  LinearForm reduced;
};

Reduced ReduceByGcd(const LinearForm& rest, int64_t divisor) {
  Reduced result;
  int64_t scale = divisor;
  // floor((s * y + low) / (s * c)) = floor(y / c) for 0 <= low < s: the smallest equal quotient is
  // the one that other expressions meet.
  for (const auto& term : rest.terms) scale = std::gcd(scale, term.second);
  result.scale = scale;
  result.low = rest.constant % scale;
  result.reduced.constant = rest.constant / scale;
  for (const auto& [atom, coefficient] : rest.terms) {
    result.reduced.terms.emplace_back(atom, coefficient / scale);
  }
  return result;
}

LinearForm FloorDivLinear(const LinearForm& x, int64_t divisor, const VarRanges& ranges) {
  Divided divided = DivideTerms(x, divisor);
  if (const auto range = RangeOfLinear(divided.rest, ranges)) {
    const int64_t low = FloorDivide(range->min, divisor);
    if (low == FloorDivide(range->max, divisor)) {
      divided.quotient.constant += low;
      return divided.quotient;
    }
  }
  const Reduced reduced = ReduceByGcd(divided.rest, divisor);
  const int64_t small = divisor / reduced.scale;
  if (small == 1) {
    AddScaled(divided.quotient, reduced.reduced, 1);
    return divided.quotient;
  }
  const LinearForm& r = reduced.reduced;
  // (y / d) / small = y / (d * small)
  if (r.constant == 0 && r.terms.size() == 1 && r.terms[0].second == 1 &&
      r.terms[0].first->kind == ExprKind::kFloorDiv && IsConstInt(r.terms[0].first->operands[1])) {
    const ExprNode& inner = *r.terms[0].first;
    AddScaled(divided.quotient,
              FloorDivLinear(ToLinear(inner.operands[0], ranges),
                             inner.operands[1]->int_value * small, ranges),
              1);
    return divided.quotient;
  }
  AddTerm(divided.quotient, FloorDiv(FromLinear(r), small), 1);
  return divided.quotient;
}

LinearForm ModLinear(const LinearForm& x, int64_t divisor, const VarRanges& ranges) {
  Divided divided = DivideTerms(x, divisor);
  if (const auto range = RangeOfLinear(divided.rest, ranges)) {
    const int64_t low = FloorDivide(range->min, divisor);
    if (low == FloorDivide(range->max, divisor)) {
      divided.rest.constant -= low * divisor;
      return divided.rest;
    }
  }
  const Reduced reduced = ReduceByGcd(divided.rest, divisor);
  LinearForm result;
  result.constant = reduced.low;
  const int64_t small = divisor / reduced.scale;
  if (small > 1) AddTerm(result, Mod(FromLinear(reduced.reduced), small), reduced.scale);
  return result;
}

// (x / c) * c * k + (x % c) * k = x * k, until there is no such pair.
void JoinDivMod(LinearForm& form, const VarRanges& ranges) {
  // Begins anew after each pair: joining adds x's terms, which may complete another one.
  for (bool joined = true; joined;) {
    joined = false;
    for (const auto& [atom, k] : form.terms) {
      if (atom->kind != ExprKind::kMod || !IsConstInt(atom->operands[1])) continue;
      const int64_t c = atom->operands[1]->int_value;
      // Cheap, and most rests have no partner: the rows of a padded image are no multiple of what
      // a row of outputs is. What stands in a rest leaves a quotient that is an atom.
      const auto is_partner = [&](const std::pair<Expr, int64_t>& term) {
        return term.second == k * c && term.first->kind == ExprKind::kFloorDiv;
      };
      if (std::none_of(form.terms.begin(), form.terms.end(), is_partner)) continue;
      const LinearForm x = ToLinear(atom->operands[0], ranges);
      // Most are quotients of what stands in the rest.
      auto match = std::find_if(form.terms.begin(), form.terms.end(), [&](const auto& term) {
        return is_partner(term) && IsInt(term.first->operands[1], c) &&
               Compare(term.first->operands[0], atom->operands[0]) == 0;
      });
      int64_t rest = 0;
      if (match == form.terms.end()) {
        const LinearForm quotient = FloorDivLinear(x, c, ranges);
        if (quotient.terms.size() != 1 || quotient.terms[0].second != 1) continue;
        const Expr& q = quotient.terms[0].first;
        match = std::find_if(form.terms.begin(), form.terms.end(), [&](const auto& term) {
          return is_partner(term) && Compare(term.first, q) == 0;
        });
        if (match == form.terms.end()) continue;
        rest = quotient.constant;
      }
      const Expr mod = atom, div = match->first;
      const int64_t scale = k;
      AddTerm(form, mod, -scale);
      AddTerm(form, div, -scale * c);
      AddScaled(form, x, scale);
      form.constant -= rest * c * scale;
      joined = true;
      break;
    }
  }
}

// Min and Max decided by ranges; -1: undecided, else the operand.
int DecideMinMax(ExprKind kind, const LinearForm& a, const LinearForm& b, const VarRanges& ranges) {
  LinearForm difference = b;
  AddScaled(difference, a, -1);
  const auto range = RangeOfLinear(difference, ranges);
  if (!range.has_value()) return -1;
  // On the difference b - a, where what both sides share cancels: separate ranges of i and i + 1
  // overlap.
  if (range->min >= 0) return kind == ExprKind::kMin ? 0 : 1;
  if (range->max <= 0) return kind == ExprKind::kMin ? 1 : 0;
  return -1;
}

LinearForm AtomForm(Expr atom) {
  LinearForm form;
  if (IsConstInt(atom)) {
    form.constant = atom->int_value;
  } else {
    form.terms.emplace_back(std::move(atom), 1);
  }
  return form;
}

// An integer node that is no sum, product, quotient or minimum: an atom with simplified operands.
LinearForm OtherAtom(const Expr& e, const VarRanges& ranges) {
  Expr simplified = e;
  if (!e->operands.empty()) {
    // The operands only: e itself is what is being simplified.
    bool changed = false;
    std::vector<Expr> operands;
    for (const Expr& operand : e->operands) {
      operands.push_back(Simplify(operand, ranges));
      changed = changed || operands.back() != operand;
    }
    if (e->kind == ExprKind::kSelect) {
      simplified = Select(operands[0], operands[1], operands[2]);
      // Decided: the branch is simplified already, and only index arithmetic may be taken apart.
      if (simplified->kind != ExprKind::kSelect && simplified->dtype == DType::kI64) {
        return ToLinear(simplified, ranges);
      }
    } else if (changed) {
      if (e->kind == ExprKind::kTable) {
        simplified = TableLoad(e->table, std::move(operands));
      } else if (e->kind == ExprKind::kLoad) {
        simplified = Load(e->id, e->dtype, std::move(operands));
      } else if (e->kind == ExprKind::kCast) {
        simplified = Cast(e->dtype, operands[0]);
      } else if (e->kind == ExprKind::kBoundsCheck) {
        simplified = BoundsCheck(operands[0], operands[1]);
      } else if (IsUnary(e->kind)) {
        simplified = Unary(e->kind, operands[0]);
      } else {
        simplified = Binary(e->kind, operands[0], operands[1]);
      }
    }
  }
  return AtomForm(std::move(simplified));
}

Expr SimplifyComparison(const Expr& e, const VarRanges& ranges) {
  const LinearForm a = ToLinear(e->operands[0], ranges), b = ToLinear(e->operands[1], ranges);
  LinearForm difference = b;
  AddScaled(difference, a, -1);
  if (const auto range = RangeOfLinear(difference, ranges)) {
    switch (e->kind) {
      case ExprKind::kLt:
        if (range->min > 0) return Bool(true);
        if (range->max <= 0) return Bool(false);
        break;
      case ExprKind::kLe:
        if (range->min >= 0) return Bool(true);
        if (range->max < 0) return Bool(false);
        break;
      default: {
        const bool equal = range->min == 0 && range->max == 0;
        const bool apart = range->min > 0 || range->max < 0;
        if (equal || apart) return Bool(equal == (e->kind == ExprKind::kEq));
      }
    }
  }
  return Binary(e->kind, FromLinear(a), FromLinear(b));
}

}  // namespace

std::optional<int64_t> LinearForm::StepOf(VarId var) const {
  int64_t step = 0;
  for (const auto& [atom, coefficient] : terms) {
    if (!MentionsVar(atom, var)) continue;
    if (atom->kind != ExprKind::kVar) return std::nullopt;
    step = coefficient;
  }
  return step;
}

bool HaveSameTerms(const LinearForm& a, const LinearForm& b) {
  return std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(),
                    [](const auto& one, const auto& other) {
                      return one.second == other.second &&
                             StructurallyEqual(one.first, other.first);
                    });
}

void AddLinear(LinearForm& form, const Expr& e, int64_t scale, const VarRanges& ranges) {
  if (IsPlainSum(*e)) {
    AddPlainSum(form, e, scale, ranges);
  } else {
    AddScaled(form, ToLinear(e, ranges), scale);
  }
  JoinDivMod(form, ranges);
}

void AddSimplified(LinearForm& form, const Expr& e, int64_t scale, const VarRanges& ranges) {
  AddAtoms(form, e, scale);
  JoinDivMod(form, ranges);
}

LinearForm ToLinear(const Expr& e, const VarRanges& ranges) {
  // Numbers of other types are data: sums of them wrap.
  if (e->dtype != DType::kI64) return OtherAtom(e, ranges);
  LinearForm form;
  if (IsPlainSum(*e)) {
    AddPlainSum(form, e, 1, ranges);
    return form;
  }
  switch (e->kind) {
    case ExprKind::kNeg:
      AddScaled(form, ToLinear(e->operands[0], ranges), -1);
      return form;
    case ExprKind::kAdd:
    case ExprKind::kSub:
      form = ToLinear(e->operands[0], ranges);
      AddLinear(form, e->operands[1], e->kind == ExprKind::kAdd ? 1 : -1, ranges);
      return form;
    case ExprKind::kMul: {
      const LinearForm a = ToLinear(e->operands[0], ranges);
      const LinearForm b = ToLinear(e->operands[1], ranges);
      // A product of two sums is no sum: one of them must be a constant.
      if (a.terms.empty() || b.terms.empty()) {
        AddScaled(form, a.terms.empty() ? b : a, a.terms.empty() ? a.constant : b.constant);
        return form;
      }
      return AtomForm(FromLinear(a) * FromLinear(b));
    }
    case ExprKind::kFloorDiv:
    case ExprKind::kMod: {
      const LinearForm a = ToLinear(e->operands[0], ranges);
      const LinearForm b = ToLinear(e->operands[1], ranges);
      if (b.terms.empty() && b.constant > 0) {
        form = e->kind == ExprKind::kMod ? ModLinear(a, b.constant, ranges)
                                         : FloorDivLinear(a, b.constant, ranges);
        return form;
      }
      return AtomForm(Binary(e->kind, FromLinear(a), FromLinear(b)));
    }
    case ExprKind::kMin:
    case ExprKind::kMax: {
      const LinearForm a = ToLinear(e->operands[0], ranges);
      const LinearForm b = ToLinear(e->operands[1], ranges);
      const int decided = DecideMinMax(e->kind, a, b, ranges);
      if (decided >= 0) return decided == 0 ? a : b;
      return AtomForm(Binary(e->kind, FromLinear(a), FromLinear(b)));
    }
    default:
      return OtherAtom(e, ranges);
  }
}

Expr FromLinear(const LinearForm& form) {
  Expr sum;
  for (const auto& [atom, coefficient] : form.terms) {
    Expr term = coefficient == 1 ? atom : atom * coefficient;
    sum = sum == nullptr ? std::move(term) : std::move(sum) + std::move(term);
  }
  if (sum == nullptr) return Int(form.constant);
  return form.constant == 0 ? sum : std::move(sum) + form.constant;
}

Expr Simplify(const Expr& e, const VarRanges& ranges) {
  if (e == nullptr || e->kind == ExprKind::kIntImm) return e;
  // What most indices are, and the sum of it is itself.
  if (e->kind == ExprKind::kVar) {
    const auto range = ranges(e->id);
    return range.has_value() && range->min == range->max ? Int(range->min) : e;
  }
  if (e->dtype == DType::kI64) return FromLinear(ToLinear(e, ranges));
  if (e->operands.empty()) return e;
  const bool comparison = e->kind == ExprKind::kLt || e->kind == ExprKind::kLe ||
                          e->kind == ExprKind::kEq || e->kind == ExprKind::kNe;
  if (comparison && e->operands[0]->dtype == DType::kI64) return SimplifyComparison(e, ranges);
  LinearForm form = OtherAtom(e, ranges);
  return form.terms.empty() ? Int(form.constant, e->dtype) : form.terms[0].first;
}

}  // namespace burnish
