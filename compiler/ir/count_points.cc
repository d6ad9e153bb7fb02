#include "compiler/ir/count_points.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

namespace burnish {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
constexpr int64_t kConstantMax = int64_t{1} << 62;

// least <= sum <= greatest.
struct Bound {
  LinearForm sum;  // Without a constant.
  int64_t least = -kNone, greatest = kNone;
};

class Box {
 public:
  Box(const std::vector<VarId>& vars, const VarRanges& ranges) {
    for (const VarId var : vars) axes_.push_back({var, *ranges(var)});
  }

  // In `double`, since extents of hostile programs multiply to more than fits.
  double Points() const {
    double points = 1;
    for (const auto& [var, range] : axes_) points *= static_cast<double>(range.max - range.min + 1);
    return points;
  }

  // visit(value) for the first `count` of a sequence that fills the box evenly however many of its
  // points are taken, and in step with none of the periods that indices have. Each axis goes on by
  // a power of 1 / g, where g^(n + 1) = g + 1 for n axes (Roberts, "The unreasonable effectiveness
  // of quasirandom sequences", 2018).
  void VisitSample(int count,
                   const std::function<void(const std::function<int64_t(VarId)>&)>& visit) const {
    double g = 2;
    for (int round = 0; round < 32; ++round) {
      g = std::pow(1 + g, 1.0 / static_cast<double>(axes_.size() + 1));
    }
    std::vector<double> steps;
    for (size_t k = 0; k < axes_.size(); ++k) {
      steps.push_back(std::pow(g, -static_cast<double>(k + 1)));
    }
    std::vector<int64_t> point(axes_.size());
    for (int i = 0; i < count; ++i) {
      for (size_t k = 0; k < axes_.size(); ++k) {
        double whole = 0;
        const double at = std::modf(0.5 + i * steps[k], &whole);
        const Range& range = axes_[k].second;
        const auto extent = static_cast<double>(range.max - range.min + 1);
        point[k] = std::min(range.max - range.min, static_cast<int64_t>(at * extent));
      }
      visit(ValueAt(point));
    }
  }

  // visit(value) for each point; `limit` is at least the number of points.
  void Visit(int64_t limit,
             const std::function<void(const std::function<int64_t(VarId)>&)>& visit) const {
    std::vector<int64_t> extents;
    for (const auto& [var, range] : axes_) extents.push_back(range.max - range.min + 1);
    EnumerateBox(extents, limit, [&](const std::vector<int64_t>& point) { visit(ValueAt(point)); });
  }

 private:
  // `point`: by axis, from its least value on; outlives what is returned.
  std::function<int64_t(VarId)> ValueAt(const std::vector<int64_t>& point) const {
    return [this, &point](VarId var) {
      const auto axis = std::find_if(axes_.begin(), axes_.end(),
                                     [&](const auto& each) { return each.first == var; });
      return axis->second.min + point[static_cast<size_t>(axis - axes_.begin())];
    };
  }

  std::vector<std::pair<VarId, Range>> axes_;
};

// Makes `bound` hold where the comparison holds, too. False: it is none of the bound's sum.
bool Narrow(const Expr& comparison, const VarRanges& ranges, Bound& bound) {
  const ExprKind kind = comparison->kind;
  if (kind != ExprKind::kLe && kind != ExprKind::kLt && kind != ExprKind::kEq) return false;
  if (comparison->operands[0]->dtype != DType::kI64) return false;
  // 0 <= sum, where a <= b.
  LinearForm sum = ToLinear(comparison->operands[1], ranges);
  AddLinear(sum, comparison->operands[0], -1, ranges);
  // Integers of programs wrap; what comes near that is counted as it is computed.
  if (sum.constant < -kConstantMax || sum.constant > kConstantMax) return false;
  int64_t least = -sum.constant + (kind == ExprKind::kLt ? 1 : 0);
  int64_t greatest = kind == ExprKind::kEq ? least : kNone;
  sum.constant = 0;
  // The same sum whichever side it stands on.
  if (!sum.terms.empty() && sum.terms[0].second < 0) {
    for (auto& term : sum.terms) term.second = -term.second;
    std::swap(least, greatest);
    least = least == kNone ? -kNone : -least;
    greatest = -greatest;
  }
  if (bound.least == -kNone && bound.greatest == kNone) {
    bound.sum = std::move(sum);
  } else if (!HaveSameTerms(bound.sum, sum)) {
    return false;
  }
  bound.least = std::max(bound.least, least);
  bound.greatest = std::min(bound.greatest, greatest);
  return true;
}

// A conjunction of comparisons of one sum, as guards of borders and of ragged tiles are.
std::optional<Bound> AsBound(const Expr& condition, const VarRanges& ranges) {
  Bound bound;
  std::vector<const Expr*> left = {&condition};
  while (!left.empty()) {
    const Expr& e = *left.back();
    left.pop_back();
    if (e->kind == ExprKind::kAnd) {
      left.push_back(&e->operands[0]);
      left.push_back(&e->operands[1]);
    } else if (!Narrow(e, ranges, bound)) {
      return std::nullopt;
    }
  }
  return bound;
}

// Terms that share no variables with those of other groups.
struct Group {
  std::vector<VarId> vars;
  LinearForm sum;
};

std::vector<Group> GroupsOf(const LinearForm& sum) {
  std::vector<Group> groups;
  for (const auto& term : sum.terms) {
    Group joined{.vars = FreeVars(term.first)};
    joined.sum.terms.push_back(term);
    std::vector<Group> apart;
    for (Group& group : groups) {
      std::vector<VarId> both;
      std::set_union(group.vars.begin(), group.vars.end(), joined.vars.begin(), joined.vars.end(),
                     std::back_inserter(both));
      if (both.size() == group.vars.size() + joined.vars.size()) {
        apart.push_back(std::move(group));
        continue;
      }
      joined.vars = std::move(both);
      for (auto& other : group.sum.terms) joined.sum.terms.push_back(std::move(other));
    }
    apart.push_back(std::move(joined));
    groups = std::move(apart);
  }
  return groups;
}

// The share of points for which the bound holds. Groups are independent, so that it is enough to
// know how often each has which value. Nothing where values are so far apart that a table of them
// has over `limit` entries.
std::optional<double> ShareWithin(const Bound& bound, const VarRanges& ranges, int64_t limit) {
  int64_t least = 0;
  double points = 1;
  std::vector<double> counts = {1};  // Of the values from `least` on; exact, as integers are.
  for (const Group& group : GroupsOf(bound.sum)) {
    const Box box(group.vars, ranges);
    points *= box.Points();
    std::vector<int64_t> values;
    bool wraps = false;
    box.Visit(limit, [&](const std::function<int64_t(VarId)>& value) {
      int64_t sum = 0, term = 0;
      for (const auto& [atom, coefficient] : group.sum.terms) {
        wraps = wraps || __builtin_mul_overflow(coefficient, EvalInt(atom, value), &term) ||
                __builtin_add_overflow(sum, term, &sum);
      }
      values.push_back(sum);
    });
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    int64_t span = 0;
    if (wraps || __builtin_sub_overflow(*high, *low, &span) ||
        span > limit - static_cast<int64_t>(counts.size()) ||
        __builtin_add_overflow(least, *low, &least)) {
      return std::nullopt;
    }
    std::vector<double> times(static_cast<size_t>(span) + 1, 0);
    for (const int64_t value : values) ++times[static_cast<size_t>(value - *low)];
    std::vector<double> sums(times.size() + counts.size() - 1, 0);
    for (size_t i = 0; i < times.size(); ++i) {
      if (times[i] == 0) continue;
      for (size_t j = 0; j < counts.size(); ++j) sums[i + j] += times[i] * counts[j];
    }
    counts = std::move(sums);
  }
  double within = 0;
  if (least > std::numeric_limits<int64_t>::max() - limit) return std::nullopt;
  for (size_t i = 0; i < counts.size(); ++i) {
    const int64_t sum = least + static_cast<int64_t>(i);
    if (sum >= bound.least && sum <= bound.greatest) within += counts[i];
  }
  return within / points;
}

// Between which two the share lies of points at which a condition does not hold.
struct Failures {
  double least = 0, most = 1;
};

Failures FailuresOf(const Expr& condition, const VarRanges& ranges, int64_t limit) {
  if (const std::optional<Bound> bound = AsBound(condition, ranges)) {
    const std::optional<double> share = ShareWithin(*bound, ranges, limit);
    if (share.has_value()) return {1 - *share, 1 - *share};
  }
  if (condition->kind != ExprKind::kAnd && condition->kind != ExprKind::kOr) return {};
  const Failures a = FailuresOf(condition->operands[0], ranges, limit);
  const Failures b = FailuresOf(condition->operands[1], ranges, limit);
  if (condition->kind == ExprKind::kAnd) {
    return {std::max(a.least, b.least), std::min(1.0, a.most + b.most)};
  }
  return {std::max(0.0, a.least + b.least - 1), std::min(a.most, b.most)};
}

}  // namespace

std::optional<double> ShareOfPoints(const Expr& condition, const VarRanges& ranges, int64_t limit) {
  const Box box(FreeVars(condition), ranges);
  const double points = box.Points();
  if (points > static_cast<double>(limit)) return std::nullopt;
  if (const std::optional<Bound> bound = AsBound(condition, ranges)) {
    // Variables that the sum does not have do not change its share.
    const std::optional<double> share = ShareWithin(*bound, ranges, limit);
    if (share.has_value()) return share;
  }
  double held = 0;
  box.Visit(limit, [&](const std::function<int64_t(VarId)>& value) {
    held += EvalInt(condition, value) != 0 ? 1 : 0;
  });
  return held / points;
}

bool FailsInShare(const Expr& condition, const VarRanges& ranges, int64_t limit, double share) {
  if (Box(FreeVars(condition), ranges).Points() > static_cast<double>(limit)) return false;
  // Shares are quotients of counts: those that differ by less may be equal.
  constexpr double kRounding = 1e-9;
  const Failures fails = FailuresOf(condition, ranges, limit);
  if (fails.least >= share + kRounding) return true;
  if (fails.most < share - kRounding) return false;
  return 1 - ShareOfPoints(condition, ranges, limit).value_or(1) >= share;
}

double ShareOfSample(const Expr& condition, const VarRanges& ranges, int count) {
  double held = 0;
  Box(FreeVars(condition), ranges).VisitSample(count, [&](const auto& value) {
    held += EvalInt(condition, value) != 0 ? 1 : 0;
  });
  return held / count;
}

}  // namespace burnish
