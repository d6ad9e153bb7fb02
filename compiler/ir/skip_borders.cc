#include "compiler/ir/skip_borders.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/ir/count_points.h"
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
      const std::optional<Expr> condition = ReadsInside(id);
      if (condition.has_value() && SkippedShare(*condition) >= kSkippedMin) Guard(id, *condition);
    }
  }

 private:
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
  std::optional<Expr> ReadsInside(NodeId loop) const {
    std::optional<Expr> inside;
    double steps = 0;
    for (const NodeId id : Subtree(program_, loop)) {
      const Node& node = program_.nodes[id];
      if (node.kind != NodeKind::kStore) continue;
      const ExprNode* const load = BorderedFactor(node);
      if (load == nullptr) return std::nullopt;
      const Expr condition = TouchesShape(*load, loop);
      if (IsInt(condition, 1)) return std::nullopt;
      // The tile and its ragged rest read the same rows: anything else is not worth two conditions.
      if (inside.has_value() && !StructurallyEqual(*inside, condition)) return std::nullopt;
      inside = condition;
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
  Expr TouchesShape(const ExprNode& load, NodeId loop) const {
    const Buffer& buffer = program_.buffers[load.id];
    const VarRanges ranges = [this](VarId var) { return std::optional(RangeOfVar(var)); };
    Expr touches = Bool(true);
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
      if (range->min + inner.max < 0) touches = And(touches, Le(Int(-inner.max), first));
      const int64_t last = buffer.shape[d] - 1 - inner.min;
      if (range->max > last) touches = And(touches, Le(first, Int(last)));
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
  double SkippedShare(const Expr& condition) const {
    return 1 -
           ShareOfPoints(
               condition, [this](VarId var) { return std::optional(RangeOfVar(var)); }, kPointsMax)
               .value_or(1);
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
