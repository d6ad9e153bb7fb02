// Which values the extents of ragged loops take together with the loops that they depend on.
#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "compiler/ir/program.h"
#include "compiler/ir/simplify.h"

namespace burnish {
namespace {

// How a variable with a map counts.
enum class Maps {
  kExpanded,  // By its loops: exact.
  kOwnRange,  // By itself, with every value below its extent, as do quotients and rests: values
              // that it never takes together with those of others, or never at all, are taken for
              // possible.
};

Expr Written(const Program& program, const Expr& e, Maps maps) {
  return maps == Maps::kExpanded ? ExpandDefs(program, e) : e;
}

// The variables that `e` depends on, each after those that its own extent depends on.
std::vector<VarId> VarsUnder(const Program& program, const Expr& e, Maps maps) {
  std::vector<VarId> vars;
  const auto add = [&](const Expr& mentions, const auto& self) -> void {
    for (VarId v : FreeVars(Written(program, mentions, maps))) {
      if (std::find(vars.begin(), vars.end(), v) != vars.end()) continue;
      self(program.vars[v].extent, self);
      vars.push_back(v);
    }
  };
  add(e, add);
  return vars;
}

// Up to this many points evaluating each is quicker than reasoning about all. Not tuned.
constexpr int64_t kPointsMax = 1 << 8;
// Of the budget, for simplifying one expression: about the time of so many evaluations.
constexpr int64_t kBoxCost = 64;

// The value of a look-up that is the same for all of these indices; null: it is not.
Expr SameEverywhere(const ExprNode& look_up, const VarRanges& ranges) {
  const ConstTable& table = *look_up.table;
  // Row-major: what lies between the least indices and the greatest ones, and some more.
  int64_t first = 0, last = 0;
  for (size_t d = 0; d < look_up.operands.size(); ++d) {
    const std::optional<Range> index = RangeOf(look_up.operands[d], ranges);
    if (!index.has_value() || index->min < 0 || index->max >= table.shape[d]) return nullptr;
    first = first * table.shape[d] + index->min;
    last = last * table.shape[d] + index->max;
  }
  const auto begin = table.values.begin() + first, end = table.values.begin() + last + 1;
  const bool same = std::all_of(begin, end, [&](double value) { return value == *begin; });
  return same ? Int(static_cast<int64_t>(*begin), look_up.dtype) : nullptr;
}

// Simplify, and tables by what they hold in the box: of balanced tiles of balanced tiles two sizes,
// each in one stretch.
Expr SimplifyInBox(const Expr& e, const VarRanges& ranges) {
  const Expr without_tables = RewriteExpr(e, [&](const Expr& node) -> Expr {
    return node->kind == ExprKind::kTable ? SameEverywhere(*node, ranges) : nullptr;
  });
  return Simplify(without_tables, ranges);
}

// Halves the box of all iterations until the extent is a constant in each part: nearly all
// iterations of a loop that is cut into tiles have one size of tile, however many there are.
class ValueFinder {
 public:
  ValueFinder(const Program& program, int64_t& budget) : program_(program), budget_(budget) {}

  // False: the budget is spent.
  bool Find(const Expr& extent) {
    const bool few = SetBox(extent, Maps::kExpanded) && Points() <= kExtentPointsMax;
    // Where a fused loop is taken apart into rows of tiles, every so many iterations are of a row's
    // last tile. No half of them is without, and nothing but the quotient's own range says that its
    // values are few.
    if (!few && !SetBox(extent, Maps::kOwnRange)) return false;
    // Few iterations, as most extents have: no need to reason about them.
    return Divide(extent_, conditions_, /*simplified=*/false);
  }

  std::vector<int64_t> values() const { return {values_.begin(), values_.end()}; }

 private:
  bool SetBox(const Expr& extent, Maps maps) {
    extent_ = Written(program_, extent, maps);
    conditions_.clear();
    box_.assign(program_.vars.size(), std::nullopt);
    for (const VarId var : VarsUnder(program_, extent, maps)) {
      const std::optional<std::vector<int64_t>> sizes = FindExtentValues(program_, var, budget_);
      // A loop that never runs is another rule's to refuse, and no box.
      if (!sizes.has_value() || sizes->empty() || sizes->back() < 1) return false;
      box_[var] = Range{0, sizes->back() - 1};
      // The box is that of the greatest extents: of a ragged loop not all of it is visited.
      if (sizes->size() > 1) {
        conditions_.push_back(Lt(VarRef(var), Written(program_, program_.vars[var].extent, maps)));
      }
    }
    if (maps == Maps::kExpanded) return true;
    extent_ = WithoutQuotients(extent_);
    for (Expr& condition : conditions_) condition = WithoutQuotients(condition);
    return true;
  }

  // `e` with a variable in the place of each quotient and rest, in the box with its range.
  Expr WithoutQuotients(const Expr& e) {
    return RewriteExpr(e, [this](const Expr& node) -> Expr {
      if (node->kind != ExprKind::kFloorDiv && node->kind != ExprKind::kMod) return nullptr;
      for (const auto& [known, var] : quotients_) {
        if (StructurallyEqual(known, node)) return VarRef(var);
      }
      const std::optional<Range> range = RangeOf(node, [this](VarId v) { return box_[v]; });
      if (!range.has_value()) return nullptr;
      quotients_.emplace_back(node, static_cast<VarId>(box_.size()));
      box_.push_back(range);
      return VarRef(quotients_.back().second);
    });
  }

  // Of the whole box, up to one more than are ever looked at.
  int64_t Points() const {
    int64_t points = 1;
    for (size_t var = 0; var < box_.size() && points <= kExtentPointsMax; ++var) {
      if (!box_[var].has_value()) continue;
      const int64_t size = SizeOf(static_cast<VarId>(var));
      points = points > kExtentPointsMax / size ? kExtentPointsMax + 1 : points * size;
    }
    return points;
  }

  // Adds the values of `extent` in the box, where all conditions hold.
  bool Visit(const Expr& extent, const std::vector<Expr>& conditions) {
    const VarRanges ranges = [this](VarId var) { return box_[var]; };
    // In their order: a later one may look something up that an earlier one keeps in bounds.
    std::vector<Expr> open;
    for (const Expr& condition : conditions) {
      const Expr simple = SimplifyInBox(condition, ranges);
      if (IsInt(simple, 0)) return true;
      if (!IsInt(simple, 1)) open.push_back(simple);
    }
    const Expr simple = SimplifyInBox(extent, ranges);
    budget_ -= kBoxCost * static_cast<int64_t>(1 + conditions.size());
    if (budget_ < 0) return false;
    if (IsConstInt(simple) && (open.empty() || values_.contains(simple->int_value))) {
      values_.insert(simple->int_value);
      return true;
    }
    return Divide(simple, open, /*simplified=*/true);
  }

  // The same by points, where these are few, or else by halves of the box.
  bool Divide(const Expr& extent, const std::vector<Expr>& conditions, bool simplified) {
    std::set<VarId> vars;
    for (const VarId var : FreeVars(extent)) vars.insert(var);
    for (const Expr& condition : conditions) {
      for (const VarId var : FreeVars(condition)) vars.insert(var);
    }
    VarId longest = -1;
    int64_t points = 1;
    for (const VarId var : vars) {
      const int64_t size = SizeOf(var);
      points = points > kPointsMax / size ? kPointsMax + 1 : points * size;
      if (longest < 0 || size > SizeOf(longest)) longest = var;
    }
    if (points <= kPointsMax) return VisitPoints(extent, conditions, {vars.begin(), vars.end()});
    if (!simplified) return Visit(extent, conditions);
    const Range whole = *box_[longest];
    const int64_t middle = whole.min + (whole.max - whole.min) / 2;
    bool done = true;
    for (const Range& half : {Range{whole.min, middle}, Range{middle + 1, whole.max}}) {
      box_[longest] = half;
      done = done && Visit(extent, conditions);
    }
    box_[longest] = whole;
    return done;
  }

  bool VisitPoints(const Expr& extent, const std::vector<Expr>& conditions,
                   const std::vector<VarId>& vars) {
    std::vector<int64_t> sizes, at(box_.size(), 0);
    for (const VarId var : vars) sizes.push_back(SizeOf(var));
    const std::function<int64_t(VarId)> value = [&at](VarId v) { return at[v]; };
    return EnumerateBox(sizes, kPointsMax,
                        [&](const std::vector<int64_t>& point) {
                          --budget_;
                          for (size_t i = 0; i < vars.size(); ++i)
                            at[vars[i]] = box_[vars[i]]->min + point[i];
                          for (const Expr& condition : conditions) {
                            if (EvalInt(condition, value) == 0) return;
                          }
                          values_.insert(EvalInt(extent, value));
                        }) &&
           budget_ >= 0;
  }

  int64_t SizeOf(VarId var) const { return box_[var]->max - box_[var]->min + 1; }

  const Program& program_;
  int64_t& budget_;
  Expr extent_;
  std::vector<Expr> conditions_;           // Of the points of the box that are visited.
  std::vector<std::optional<Range>> box_;  // By variable; nothing: the extent does not need it.
  std::vector<std::pair<Expr, VarId>> quotients_;  // See WithoutQuotients.
  std::set<int64_t> values_;
};

}  // namespace

bool ForEachIteration(const Program& program, const Expr& e, int64_t limit,
                      const std::function<void(const std::function<int64_t(VarId)>&)>& visit) {
  const std::vector<VarId> loops = VarsUnder(program, e, Maps::kExpanded);
  std::vector<int64_t> greatest;
  // Loops whose extent is not the same everywhere, and that extent.
  std::vector<std::pair<size_t, Expr>> ragged;
  for (size_t i = 0; i < loops.size(); ++i) {
    greatest.push_back(MaxExtent(program, loops[i]));
    const Expr extent = ExpandDefs(program, program.vars[loops[i]].extent);
    if (!IsConstInt(extent)) ragged.emplace_back(i, extent);
  }
  std::vector<int64_t> at(program.vars.size(), 0);
  const std::function<int64_t(VarId)> value = [&at](VarId v) { return at[v]; };
  return EnumerateBox(greatest, limit, [&](const std::vector<int64_t>& point) {
    for (size_t i = 0; i < loops.size(); ++i) at[loops[i]] = point[i];
    // The box is that of the greatest extents: points that no iteration visits are left out.
    for (const auto& [i, extent] : ragged) {
      if (point[i] >= EvalInt(extent, value)) return;
    }
    visit(value);
  });
}

std::optional<std::vector<int64_t>> FindExtentValues(const Program& program, VarId var,
                                                     int64_t& budget) {
  const Expr& extent = program.vars[var].extent;
  if (IsConstInt(extent)) return std::vector<int64_t>{extent->int_value};
  ValueFinder finder(program, budget);
  if (!finder.Find(extent)) return std::nullopt;
  return finder.values();
}

std::vector<int64_t> ExtentValues(const Program& program, VarId var) {
  int64_t budget = kExtentPointsMax;
  std::optional<std::vector<int64_t>> values = FindExtentValues(program, var, budget);
  CHECK(values.has_value()) << "the values of " << program.vars[var].name;
  return *std::move(values);
}

int64_t MaxExtent(const Program& program, VarId var) {
  const Expr& extent = program.vars[var].extent;
  return IsConstInt(extent) ? extent->int_value : ExtentValues(program, var).back();
}

}  // namespace burnish
