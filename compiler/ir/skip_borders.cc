#include "compiler/ir/skip_borders.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/ir/simplify.h"

namespace burnish {
namespace {

// Products that an iteration has at least: the comparison, a branch and what the
// compiler may no longer move out of the loop cost some ten cycles, these a hundred.
constexpr double kStepsMin = 1024;
// Of a loop's iterations, those that are left out at least.
constexpr double kSkippedMin = 0.04;
// Combinations of the variables that decide, which are counted; beyond it nothing is known.
constexpr int64_t kPointsMax = 1 << 16;

class Skipper {
 public:
  explicit Skipper(Program& program) : program_(program) {}

  void Run() {
    for (const NodeId id : Subtree(program_, program_.root)) {
      const Node& node = program_.nodes[id];
      if (node.kind != NodeKind::kLoop || node.loop_kind != LoopKind::kSerial ||
          MaxExtent(program_, node.var) < 2) {
        continue;
      }
      const std::optional<Inside> inside = ReadsInside(id);
      if (inside.has_value() && SkippedShare(*inside) >= kSkippedMin) Guard(id, inside->condition);
    }
  }

 private:
  // least <= value <= greatest.
  struct Bound {
    LinearForm value;
    int64_t least, greatest;
  };

  // Where elements lie inside of a buffer's shape: where all bounds hold.
  struct Inside {
    Expr condition;
    std::vector<Bound> bounds;
  };

  Range RangeOfVar(VarId var) const { return {0, MaxExtent(program_, var) - 1}; }

  // Whether `value` is 0 where the load is.
  static bool IsFactor(const ExprNode& load, const Expr& value) {
    if (value.get() == &load) return true;
    if (value->kind == ExprKind::kCast) return IsFactor(load, value->operands[0]);
    return value->kind == ExprKind::kMul &&
           (IsFactor(load, value->operands[0]) || IsFactor(load, value->operands[1]));
  }

  // The factor of a product that is added which has a border of zeros; null: it is no such store.
  const ExprNode* BorderedFactor(const Node& store) const {
    const ExprNode* found = nullptr;
    if (store.combiner != Combiner::kSum) return found;
    VisitExpr(store.value, [&](const ExprNode& e) {
      if (e.kind != ExprKind::kLoad) return;
      const Storage& storage = program_.buffers[e.id].storage;
      if (!storage.border.empty() && storage.border_value == 0 && IsFactor(e, store.value)) {
        found = &e;
      }
    });
    return found;
  }

  // Where an iteration of `loop` reads something else than borders. Nullopt: it does more than add
  // products, or too few of them to ask for it.
  std::optional<Inside> ReadsInside(NodeId loop) const {
    std::optional<Inside> inside;
    double steps = 0;
    for (const NodeId id : Subtree(program_, loop)) {
      const Node& node = program_.nodes[id];
      if (node.kind != NodeKind::kStore) continue;
      const ExprNode* const load = BorderedFactor(node);
      if (load == nullptr) return std::nullopt;
      Inside touches = TouchesShape(*load, loop);
      if (IsInt(touches.condition, 1)) return std::nullopt;
      // The tile and its ragged rest read the same rows: anything else is not worth two conditions.
      if (inside.has_value() && !StructurallyEqual(inside->condition, touches.condition)) {
        return std::nullopt;
      }
      inside = std::move(touches);
      steps += StepsBetween(loop, id);
    }
    if (steps < kStepsMin) return std::nullopt;
    return inside;
  }

  double StepsBetween(NodeId loop, NodeId store) const {
    double steps = 1;
    for (NodeId at = program_.nodes[store].parent; at != loop; at = program_.nodes[at].parent) {
      const Node& node = program_.nodes[at];
      if (node.kind == NodeKind::kLoop) {
        steps *= static_cast<double>(MaxExtent(program_, node.var));
      }
    }
    return steps;
  }

  // Whether the elements that an iteration of `loop` loads can lie inside of the buffer's shape, by
  // those of its dimensions along which the loop goes. Constantly true where nothing is known.
  Inside TouchesShape(const ExprNode& load, NodeId loop) const {
    const Buffer& buffer = program_.buffers[load.id];
    const VarRanges ranges = [this](VarId var) { return std::optional(RangeOfVar(var)); };
    Inside touches{.condition = Bool(true)};
    for (size_t d = 0; d < buffer.shape.size(); ++d) {
      if (BorderOf(buffer, static_cast<int>(d)) == std::pair<int64_t, int64_t>{0, 0} ||
          !MentionsVar(load.operands[d], program_.nodes[loop].var)) {
        continue;
      }
      LinearForm outer = ToLinear(load.operands[d], ranges);
      Range inner{0, 0};
      bool known = true;
      const auto is_outer = [&](const std::pair<Expr, int64_t>& term) {
        return IsFixedIn(term.first, loop);
      };
      for (const auto& term : outer.terms) {
        if (is_outer(term)) continue;
        const std::optional<Range> range = RangeOf(term.first, ranges);
        known = known && range.has_value();
        if (!known) break;
        inner.min += std::min(range->min * term.second, range->max * term.second);
        inner.max += std::max(range->min * term.second, range->max * term.second);
      }
      if (!known) continue;
      outer.terms.erase(std::remove_if(outer.terms.begin(), outer.terms.end(),
                                       [&](const auto& term) { return !is_outer(term); }),
                        outer.terms.end());
      const Expr first = FromLinear(outer);
      const std::optional<Range> range = RangeOf(first, ranges);
      if (!range.has_value()) continue;
      const int64_t least = -inner.max, greatest = buffer.shape[d] - 1 - inner.min;
      Expr& condition = touches.condition;
      if (range->min < least) condition = And(condition, Le(Int(least), first));
      if (range->max > greatest) condition = And(condition, Le(first, Int(greatest)));
      if (range->min < least || range->max > greatest) {
        touches.bounds.push_back({std::move(outer), least, greatest});
      }
    }
    return touches;
  }

  // Whether an expression has one value in an iteration of `loop`.
  bool IsFixedIn(const Expr& e, NodeId loop) const {
    const std::vector<VarId> vars = FreeVars(e);
    const std::vector<NodeId> around = LoopsAround(program_, loop);
    return std::all_of(vars.begin(), vars.end(), [&](VarId var) {
      return std::any_of(around.begin(), around.end(),
                         [&](NodeId id) { return program_.nodes[id].var == var; });
    });
  }

  // Of all iterations, those in which the condition does not hold; 0 where they are too many.
  double SkippedShare(const Inside& inside) const {
    const std::vector<VarId> vars = FreeVars(inside.condition);
    std::vector<int64_t> extents;
    for (const VarId var : vars) extents.push_back(MaxExtent(program_, var));
    double all = 1;
    for (const int64_t extent : extents) all *= static_cast<double>(extent);
    if (all > kPointsMax) return 0;
    if (inside.bounds.size() == 1) {
      const std::optional<double> held = CountWithin(inside.bounds[0]);
      if (held.has_value()) return 1 - *held / all;
    }
    double skipped = 0;
    EnumerateBox(extents, kPointsMax, [&](const std::vector<int64_t>& point) {
      const bool holds = EvalInt(inside.condition, [&](VarId var) {
                           return point[static_cast<size_t>(
                               std::lower_bound(vars.begin(), vars.end(), var) - vars.begin())];
                         }) != 0;
      skipped += holds ? 0 : 1;
    });
    return skipped / all;
  }

  // For how many combinations of its variables the bound holds. Terms that share no variables are
  // independent: how often each group of them has which value is enough. Nothing where values are
  // far apart.
  std::optional<double> CountWithin(const Bound& bound) const {
    struct Group {
      std::vector<VarId> vars;
      LinearForm sum;
    };
    std::vector<Group> groups;
    for (const auto& term : bound.value.terms) {
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
    // How many combinations give each sum, from the least on.
    int64_t least = bound.value.constant;
    std::vector<double> counts = {1};
    for (const Group& group : groups) {
      const std::vector<int64_t> values = ValuesOf(group.sum, group.vars);
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      const int64_t span = *high - *low + static_cast<int64_t>(counts.size());
      if (span > kPointsMax) return std::nullopt;
      std::vector<double> apart(static_cast<size_t>(*high - *low) + 1, 0);
      for (const int64_t value : values) ++apart[static_cast<size_t>(value - *low)];
      std::vector<double> sums(static_cast<size_t>(span), 0);
      for (size_t i = 0; i < apart.size(); ++i) {
        if (apart[i] == 0) continue;
        for (size_t j = 0; j < counts.size(); ++j) sums[i + j] += apart[i] * counts[j];
      }
      least += *low;
      counts = std::move(sums);
    }
    double held = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      const int64_t sum = least + static_cast<int64_t>(i);
      if (sum >= bound.least && sum <= bound.greatest) held += counts[i];
    }
    return held;
  }

  // Of a sum, for all combinations of its variables.
  std::vector<int64_t> ValuesOf(const LinearForm& sum, const std::vector<VarId>& vars) const {
    std::vector<int64_t> extents, values;
    for (const VarId var : vars) extents.push_back(MaxExtent(program_, var));
    EnumerateBox(extents, kPointsMax, [&](const std::vector<int64_t>& point) {
      const auto value = [&](VarId var) {
        return point[static_cast<size_t>(std::lower_bound(vars.begin(), vars.end(), var) -
                                         vars.begin())];
      };
      int64_t total = 0;
      for (const auto& [atom, coefficient] : sum.terms) total += coefficient * EvalInt(atom, value);
      values.push_back(total);
    });
    return values;
  }

  void Guard(NodeId loop, const Expr& condition) {
    const NodeId body = AddNode(program_, {.kind = NodeKind::kSeq});
    const std::vector<NodeId> children = std::move(program_.nodes[loop].children);
    program_.nodes[loop].children.clear();
    for (const NodeId child : children) AppendChild(program_, body, child);
    const NodeId branch = AddNode(program_, {.kind = NodeKind::kIf, .cond = condition});
    AppendChild(program_, branch, body);
    AppendChild(program_, loop, branch);
  }

  Program& program_;
};

}  // namespace

void SkipBorders(Program& lowered) { Skipper(lowered).Run(); }

}  // namespace burnish
