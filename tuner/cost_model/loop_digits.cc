#include "tuner/cost_model/loop_digits.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

namespace burnish {
namespace {

// Three loops and a tile of each are fused at most; programs of others have addresses of any form.
constexpr size_t kDigitsMax = 6;

// `var / low % (high / low)`: the digits from `low` up to below `high`.
struct Part {
  VarId var = -1;
  int64_t low = 1;
  int64_t high = std::numeric_limits<int64_t>::max();  // None above.
};

std::optional<Part> PartOf(const ExprNode& e) {
  if (e.kind == ExprKind::kVar) return Part{.var = e.id};
  const bool divides = e.kind == ExprKind::kFloorDiv || e.kind == ExprKind::kDiv;
  if (!divides && e.kind != ExprKind::kMod) return std::nullopt;
  const ExprNode& right = *e.operands[1];
  if (right.kind != ExprKind::kIntImm || right.int_value < 1) return std::nullopt;
  std::optional<Part> part = PartOf(*e.operands[0]);
  if (!part.has_value()) return std::nullopt;
  // Values of loops are far below where this would overflow.
  const int64_t at = part->low * right.int_value;
  if (divides) {
    if (at >= part->high) return std::nullopt;
    part->low = at;
  } else {
    part->high = std::min(part->high, at);
  }
  return part;
}

}  // namespace

std::vector<std::vector<int64_t>> DigitUnits(const Program& lowered,
                                             const std::vector<int64_t>& extents) {
  std::vector<std::set<int64_t>> cuts(lowered.vars.size());
  const auto look = [&](const ExprNode& e) {
    const std::optional<Part> part = PartOf(e);
    if (!part.has_value()) return;
    cuts[part->var].insert(part->low);
    cuts[part->var].insert(part->high);
  };
  const auto look_under = [&](const std::vector<Expr>& indices) {
    for (const Expr& index : indices) VisitExpr(index, look);
  };
  for (const Node& node : lowered.nodes) {
    if (node.kind != NodeKind::kStore) continue;
    look_under(node.indices);
    VisitExpr(node.value, [&](const ExprNode& e) {
      if (e.kind == ExprKind::kLoad) look_under(e.operands);
    });
  }
  std::vector<std::vector<int64_t>> units(lowered.vars.size(), {1});
  for (size_t var = 0; var < units.size(); ++var) {
    for (const int64_t cut : cuts[var]) {
      if (cut <= 1 || cut >= extents[var]) continue;
      // Two ways of fusing that do not nest: one loop says as much as can be said.
      if (cut % units[var].back() != 0 || units[var].size() == kDigitsMax) {
        units[var] = {1};
        break;
      }
      units[var].push_back(cut);
    }
  }
  return units;
}

bool VisitDigits(const ExprNode& e, VarId var, const std::vector<int64_t>& units, int64_t extent,
                 const std::function<void(int64_t unit, int64_t step)>& add) {
  const std::optional<Part> part = PartOf(e);
  if (!part.has_value() || part->var != var) return false;
  const auto is_cut = [&](int64_t at) {
    return at >= extent || std::find(units.begin(), units.end(), at) != units.end();
  };
  if (!is_cut(part->low) || !is_cut(part->high)) return false;
  for (const int64_t unit : units) {
    if (unit >= part->low && unit < part->high) add(unit, unit / part->low);
  }
  return true;
}

}  // namespace burnish
