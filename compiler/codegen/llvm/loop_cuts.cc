#include "compiler/codegen/llvm/loop_cuts.h"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/ir/expr_kinds.h"

namespace burnish {
namespace {

// Each piece is code of its own. A row that is mirrored at both ends has four cuts.
constexpr size_t kCutsMax = 4;
// Stores of all pieces together. A choice: a body of 9 unrolled taps for 8 vectors still is cut.
constexpr int64_t kStoresMax = 2000;

class Cutter {
 public:
  Cutter(const Program& program, const Node& loop, int64_t extent, int64_t lanes,
         const VarRanges& bound)
      : program_(program), loop_(loop), extent_(extent), lanes_(lanes), bound_(bound) {
    inside_.resize(program.vars.size(), false);
    if (lanes > 1) diverging_.push_back(loop.var);
    for (const NodeId child : loop.children) Enter(child, 1);
  }

  std::vector<int64_t> Cuts() {
    if (diverging_.empty()) return {};
    // What is known in a piece may show where to cut it again: a mirrored row has the least of two
    // numbers, one of which is the greatest of two.
    size_t known = 0;
    do {
      known = cuts_.size();
      const std::set<int64_t> ends = cuts_;
      piece_ = {0, extent_ - 1};
      for (const int64_t end : ends) {
        piece_.max = end - 1;
        LookAtAll();
        piece_.min = end;
      }
      piece_.max = extent_ - 1;
      LookAtAll();
    } while (cuts_.size() > known && cuts_.size() <= kCutsMax);
    const bool small = static_cast<int64_t>(cuts_.size() + 1) * stores_ <= kStoresMax;
    if (cuts_.size() > kCutsMax || !small) return {};
    return {cuts_.begin(), cuts_.end()};
  }

 private:
  // Notes loops and counts stores, each as often as it is written out.
  void Enter(NodeId id, int64_t copies) {
    const Node& node = program_.nodes[id];
    if (node.kind == NodeKind::kStore) stores_ += copies;
    if (node.kind == NodeKind::kLoop) {
      inside_[static_cast<size_t>(node.var)] = true;
      if (node.loop_kind == LoopKind::kVectorized) diverging_.push_back(node.var);
      if (node.loop_kind == LoopKind::kUnrolled) copies *= MaxExtent(program_, node.var);
    }
    for (const NodeId child : node.children) Enter(child, copies);
  }

  void LookAtAll() {
    for (const NodeId child : loop_.children) {
      for (const NodeId id : Subtree(program_, child)) {
        const Node& node = program_.nodes[id];
        for (const Expr& index : node.indices) Look(index);
        Look(node.value);
        Look(node.cond);
      }
    }
  }

  void Look(const Expr& e) {
    if (e == nullptr) return;
    VisitExpr(e, [&](const ExprNode& node) {
      const bool compares = node.kind == ExprKind::kLt || node.kind == ExprKind::kLe ||
                            node.kind == ExprKind::kMin || node.kind == ExprKind::kMax;
      if (!compares || IsFloat(node.operands[0]->dtype)) return;
      const Expr& left = node.operands[0];
      const Expr& right = node.operands[1];
      const bool diverges = std::any_of(diverging_.begin(), diverging_.end(), [&](VarId var) {
        return MentionsVar(left, var) || MentionsVar(right, var);
      });
      if (diverges) AddCuts(left - right, node.kind == ExprKind::kLe ? 1 : 0);
    });
  }

  // Of difference < limit.
  void AddCuts(const Expr& difference, int64_t limit) {
    const VarRanges ranges = [this](VarId var) { return RangeIn(var); };
    const LinearForm form = ToLinear(difference, ranges);
    const int64_t factor = form.StepOf(loop_.var).value_or(0);
    if (factor == 0) return;
    // What is added to factor * variable, where that is what it is at lane 0.
    Range rest{form.constant - limit, form.constant - limit};
    const auto add = [&](const Range& term, int64_t times) {
      rest.min += std::min(term.min * times, term.max * times);
      rest.max += std::max(term.min * times, term.max * times);
    };
    for (const auto& [atom, times] : form.terms) {
      if (atom->kind == ExprKind::kVar && atom->id == loop_.var) continue;
      const std::optional<Range> range = RangeOf(atom, ranges);
      if (!range.has_value()) return;
      add(*range, times);
    }
    if (lanes_ > 1) add({0, lanes_ - 1}, factor);
    const int64_t step = factor * lanes_;
    // With the greatest rest the condition is true on one side of the cut, with the least it is
    // false on the other.
    for (const int64_t bound : {rest.max, rest.min}) {
      const int64_t cut = step > 0 ? -FloorDivide(bound, step) : FloorDivide(bound, -step) + 1;
      if (cut > piece_.min && cut <= piece_.max) cuts_.insert(cut);
    }
  }

  std::optional<Range> RangeIn(VarId var) const {
    if (var == loop_.var) return Range{piece_.min * lanes_, (piece_.max + 1) * lanes_ - 1};
    if (inside_[static_cast<size_t>(var)]) return Range{0, MaxExtent(program_, var) - 1};
    return bound_(var);
  }

  const Program& program_;
  const Node& loop_;
  const int64_t extent_, lanes_;
  const VarRanges& bound_;
  std::vector<bool> inside_;      // By variable: of a loop inside.
  std::vector<VarId> diverging_;  // Of vectorized loops.
  int64_t stores_ = 0;
  std::set<int64_t> cuts_;
  Range piece_;  // That is looked at; iterations.
};

}  // namespace

std::vector<int64_t> LoopCuts(const Program& program, const Node& loop, int64_t extent,
                              int64_t lanes, const VarRanges& bound) {
  return Cutter(program, loop, extent, lanes, bound).Cuts();
}

}  // namespace burnish
