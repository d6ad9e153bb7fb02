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
      if (condition.has_value() && FailsInShare(*condition, ranges_, kPointsMax, kSkippedMin)) {
        Guard(id, *condition);
      }
    }
  }

 private:
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
      // A tile and its ragged rest mostly read the same rows.
      if (!inside.has_value()) {
        inside = condition;
      } else if (!StructurallyEqual(*inside, condition)) {
        inside = Binary(ExprKind::kOr, *inside, condition);
      }
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
    Expr touches = Bool(true);
    for (size_t d = 0; d < buffer.shape.size(); ++d) {
      if (BorderOf(buffer, static_cast<int>(d)) == std::pair<int64_t, int64_t>{0, 0} ||
          !MentionsVar(load.operands[d], program_.nodes[loop].var)) {
        continue;
      }
      const std::optional<Bounds> bounds = BoundsIn(loop, load.operands[d]);
      if (!bounds.has_value()) continue;
      const std::optional<Range> low = RangeOf(FromLinear(bounds->low), ranges_);
      const std::optional<Range> high = RangeOf(FromLinear(bounds->high), ranges_);
      if (!low.has_value() || !high.has_value()) continue;
      // Both by the same constant, so that the two comparisons share their sum where they can.
      LinearForm last = bounds->high;
      last.constant = bounds->low.constant;
      const int64_t from = bounds->low.constant - bounds->high.constant;
      if (high->min < 0) touches = And(touches, Le(Int(from), FromLinear(last)));
      const int64_t to = buffer.shape[d] - 1;
      if (low->max > to) touches = And(touches, Le(FromLinear(bounds->low), Int(to)));
    }
    return touches;
  }

  // The least and the greatest value of an expression in an iteration of a loop, by what has one
  // value there. They need not be taken.
  struct Bounds {
    LinearForm low, high;
  };

  // Nullopt where they are unknown.
  std::optional<Bounds> BoundsIn(NodeId loop, const Expr& e) const {
    const LinearForm form = ToLinear(e, ranges_);
    Bounds bounds{{.constant = form.constant}, {.constant = form.constant}};
    for (const auto& [atom, scale] : form.terms) {
      if (IsFixedIn(atom, loop)) {
        AddLinear(bounds.low, atom, scale, ranges_);
        AddLinear(bounds.high, atom, scale, ranges_);
        continue;
      }
      const std::optional<Bounds> of_atom = BoundsOfAtom(loop, atom);
      if (!of_atom.has_value()) return std::nullopt;
      const auto& [low, high] = *of_atom;
      AddLinear(bounds.low, FromLinear(scale > 0 ? low : high), scale, ranges_);
      AddLinear(bounds.high, FromLinear(scale > 0 ? high : low), scale, ranges_);
    }
    return bounds;
  }

  // A tile of a flat loop over rows and columns has row (a + i) / n and column (a + i) % n. The
  // first never falls as i grows; nor does the second while the first stays.
  std::optional<Bounds> BoundsOfAtom(NodeId loop, const Expr& atom) const {
    if (atom->kind == ExprKind::kFloorDiv || atom->kind == ExprKind::kMod) {
      const Expr& divisor = atom->operands[1];
      const std::optional<Bounds> x = BoundsIn(loop, atom->operands[0]);
      if (x.has_value() && divisor->kind == ExprKind::kIntImm && divisor->int_value > 0) {
        const Expr low = FromLinear(x->low), high = FromLinear(x->high);
        const Bounds quotients{ToLinear(FloorDiv(low, divisor), ranges_),
                               ToLinear(FloorDiv(high, divisor), ranges_)};
        if (atom->kind == ExprKind::kFloorDiv) return quotients;
        if (quotients.low.constant == quotients.high.constant &&
            HaveSameTerms(quotients.low, quotients.high)) {
          return Bounds{ToLinear(Mod(low, divisor), ranges_),
                        ToLinear(Mod(high, divisor), ranges_)};
        }
      }
    }
    const std::optional<Range> range = RangeOf(atom, ranges_);
    if (!range.has_value()) return std::nullopt;
    return Bounds{{.constant = range->min}, {.constant = range->max}};
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
  const VarRanges ranges_ = [this](VarId var) {
    return std::optional(Range{0, MaxExtent(program_, var) - 1});
  };
};

}  // namespace

void SkipBorders(Program& lowered) { Skipper(lowered).Run(); }

}  // namespace burnish
