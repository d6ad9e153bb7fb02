// Every access lies inside its buffer and border, and every map inside its variable's extent. What
// cannot be proved is refused: generated code does not check again.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/index_space.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verify_rules.h"

namespace burnish {

void AddGuard(const Expr& condition, bool holds, Guards& guards) {
  if (condition->kind == ExprKind::kNot) return AddGuard(condition->operands[0], !holds, guards);
  const ExprKind splits = holds ? ExprKind::kAnd : ExprKind::kOr;
  // a && b holds: both hold. !(a || b): neither does. The other two say nothing of one operand
  // alone.
  if (condition->kind == splits) {
    for (const Expr& operand : condition->operands) AddGuard(operand, holds, guards);
    return;
  }
  guards.emplace_back(condition, holds);
}

void VisitAccesses(const Expr& e, const Guards& outer,
                   const std::function<void(const ExprNode&, const Guards&)>& visit) {
  if (e == nullptr) return;
  if (e->kind == ExprKind::kSelect) {
    VisitAccesses(e->operands[0], outer, visit);
    for (const bool holds : {true, false}) {
      Guards guards = outer;
      AddGuard(e->operands[0], holds, guards);
      VisitAccesses(e->operands[holds ? 1 : 2], guards, visit);
    }
    return;
  }
  for (const Expr& operand : e->operands) VisitAccesses(operand, outer, visit);
  if (e->kind == ExprKind::kLoad || e->kind == ExprKind::kTable) visit(*e, outer);
}

namespace {

// Looks, at a range of values or at one, that one proof and all proofs together may take: a million
// points, of which each was in a range that was looked at in vain.
constexpr int64_t kProofBudget = int64_t{1} << 21;
constexpr int64_t kTotalBudget = int64_t{1} << 24;

class BoundsVerifier {
 public:
  explicit BoundsVerifier(const Program& program)
      : program_(program),
        own_(program, VarView::kOwnRange),
        expanded_(program, VarView::kExpanded) {}

  absl::Status CheckVar(const Var& var) {
    where_ = absl::StrCat("variable ", var.name);
    RETURN_IF_ERROR(CheckAccesses(expanded_, var.extent, {}));
    return CheckAccesses(expanded_, var.def, {});
  }

  // The map of an axis, and the maps of the variables in it.
  absl::Status CheckMap(VarId id) {
    const Var& var = program_.vars[id];
    if (var.def == nullptr) return absl::OkStatus();
    for (const VarId use : FreeVars(var.def)) RETURN_IF_ERROR(CheckMap(use));
    where_ = absl::StrCat("variable ", var.name);
    const auto holds = [&] {
      const Interval value = expanded_.RangeOf(var.def), extent = expanded_.RangeOf(var.extent);
      if (expanded_.IsSkipped(var.def)) return true;
      // A guarded variable may go beyond its extent: nothing runs there. Below 0 none may.
      return value.min >= 0 && (var.guarded || value.max < extent.min);
    };
    return Prove(expanded_, {var.def, var.extent}, {}, holds, [&] {
      return absl::StrCat("its map ", PrintExpr(program_, var.def), " takes values",
                          Text(expanded_.RangeOf(var.def)), ", want [0, ",
                          expanded_.RangeOf(var.extent).min - 1, "]");
    });
  }

  // In terms of the axes where that is enough: then the proof is short, and the same for every
  // schedule. Windows that move with outer loops need the maps.
  absl::Status CheckBlock(const Block& block) {
    where_ = absl::StrCat("block ", block.name);
    const auto is_axis = [&](VarId var) {
      return std::find(block.spatial.begin(), block.spatial.end(), var) != block.spatial.end() ||
             std::find(block.reduction.begin(), block.reduction.end(), var) !=
                 block.reduction.end();
    };
    const auto space_of = [&](const Expr& e) -> IndexSpace& {
      const std::vector<VarId> vars = e == nullptr ? std::vector<VarId>() : FreeVars(e);
      return std::all_of(vars.begin(), vars.end(), is_axis) ? own_ : expanded_;
    };
    const Buffer& output = program_.buffers[block.output];
    for (size_t d = 0; d < block.output_indices.size(); ++d) {
      const Expr& index = block.output_indices[d];
      RETURN_IF_ERROR(CheckAccesses(space_of(index), index, {}));
      RETURN_IF_ERROR(
          CheckIndex(space_of(index), index, {}, {0, output.shape[d] - 1}, output.name, d));
    }
    for (const Expr& e : {block.init, block.step, block.finish}) {
      RETURN_IF_ERROR(CheckAccesses(space_of(e), e, {}));
    }
    return absl::OkStatus();
  }

  absl::Status CheckNode(NodeId id, const Guards& guards) {
    const Node& node = program_.nodes[id];
    if (node.kind == NodeKind::kIf) {
      where_ = "if";
      RETURN_IF_ERROR(CheckAccesses(expanded_, node.cond, guards));
      for (size_t i = 0; i < node.children.size(); ++i) {
        Guards inner = guards;
        AddGuard(node.cond, i == 0, inner);
        RETURN_IF_ERROR(CheckNode(node.children[i], inner));
      }
      return absl::OkStatus();
    }
    if (node.kind == NodeKind::kStore) {
      const Buffer& buffer = program_.buffers[node.buffer];
      where_ = absl::StrCat("store to ", buffer.name);
      for (size_t d = 0; d < node.indices.size(); ++d) {
        RETURN_IF_ERROR(CheckAccesses(expanded_, node.indices[d], guards));
        // The border too is written by stores.
        RETURN_IF_ERROR(
            CheckIndex(expanded_, node.indices[d], guards, Readable(buffer, d), buffer.name, d));
      }
      return CheckAccesses(expanded_, node.value, guards);
    }
    for (const NodeId child : node.children) RETURN_IF_ERROR(CheckNode(child, guards));
    return absl::OkStatus();
  }

 private:
  static std::string Text(const Interval& range) {
    return absl::StrCat(" [", range.min, ", ", range.max, "]");
  }

  static Interval Readable(const Buffer& buffer, size_t dim) {
    const auto [below, above] = BorderOf(buffer, static_cast<int>(dim));
    return {-below, buffer.shape[dim] - 1 + above};
  }

  absl::Status CheckAccesses(IndexSpace& space, const Expr& e, const Guards& outer) {
    absl::Status status;
    VisitAccesses(e, outer, [&](const ExprNode& access, const Guards& guards) {
      for (size_t d = 0; d < access.operands.size() && status.ok(); ++d) {
        const bool table = access.kind == ExprKind::kTable;
        const Interval want = table ? Interval{0, access.table->shape[d] - 1}
                                    : Readable(program_.buffers[access.id], d);
        status = CheckIndex(space, access.operands[d], guards, want,
                            table ? "a table" : program_.buffers[access.id].name, d);
      }
    });
    return status;
  }

  absl::Status CheckIndex(IndexSpace& space, const Expr& index, const Guards& guards,
                          const Interval& want, absl::string_view of, size_t dim) {
    return Prove(
        space, {index}, guards, [&] { return want.Contains(space.RangeOf(index)); },
        [&] {
          return absl::StrCat("index ", dim, " of ", of, ", ", PrintExpr(program_, index),
                              ", takes values", Text(space.RangeOf(index)), ", want", Text(want));
        });
  }

  // Whether `holds()` for all points where the guards hold. It looks at ranges, which narrow as
  // variables are fixed one by one: those of `about`, then those of the guards. Where it holds for
  // a range, nothing inside it is looked at.
  absl::Status Prove(IndexSpace& space, const std::vector<Expr>& about, const Guards& guards,
                     const std::function<bool()>& holds,
                     const std::function<std::string()>& describe) {
    // Ranges alone settle nearly all accesses; no point is looked at.
    if (holds()) return absl::OkStatus();
    std::vector<VarId> vars = space.VarsOf(about);
    // Only guards that speak of the same variables can settle anything, and each further variable
    // multiplies the points.
    const Guards near = GuardsNear(space, guards, vars);
    const auto settled = [&] {
      for (const Expr& e : about) {
        if (space.IsSkipped(e)) return true;
      }
      for (const auto& [condition, expected] : near) {
        const Interval value = space.RangeOf(condition);
        if (value.IsPoint() && (value.min != 0) != expected) return true;  // Not evaluated here.
      }
      return holds();
    };
    int64_t budget = std::min(kProofBudget, budget_);
    const int64_t before = budget;
    const absl::Status status = Narrow(space, vars, settled, describe, &budget);
    // One budget over all proofs: a program of many accesses that are each just within bounds must
    // not take for ever.
    budget_ -= before - std::max<int64_t>(budget, 0);
    return status;
  }

  using Settled = std::function<bool()>;
  using Describe = std::function<std::string()>;

  absl::Status Narrow(IndexSpace& space, absl::Span<const VarId> vars, const Settled& settled,
                      const Describe& describe, int64_t* budget) {
    if (settled()) return absl::OkStatus();
    if (vars.empty()) return absl::InvalidArgumentError(absl::StrCat(where_, ": ", describe()));
    const Interval extent = space.RangeOf(program_.vars[vars[0]].extent);
    // No iteration.
    if (extent.max < 1) return absl::OkStatus();
    return Halve(space, vars, {0, extent.max - 1}, settled, describe, budget);
  }

  // The same for some values of the first variable. By halves: conditions such as i < 1000 are
  // settled for all values on one side, and an axis may be as long as a tensor.
  absl::Status Halve(IndexSpace& space, absl::Span<const VarId> vars, const Interval& values,
                     const Settled& settled, const Describe& describe, int64_t* budget) {
    if (--*budget < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(where_, ": cannot prove that ", describe(), " (too many points)"));
    }
    if (values.IsPoint()) {
      space.Fix(vars[0], values.min);
      const absl::Status status = Narrow(space, vars.subspan(1), settled, describe, budget);
      space.Unfix(vars[0]);
      return status;
    }
    const int64_t middle = values.min + (values.max - values.min) / 2;
    for (const Interval& half : {Interval{values.min, middle}, Interval{middle + 1, values.max}}) {
      space.Confine(vars[0], half);
      const bool all = settled();
      space.Release(vars[0]);
      if (!all) RETURN_IF_ERROR(Halve(space, vars, half, settled, describe, budget));
    }
    return absl::OkStatus();
  }

  // Guards that share a variable with `all`, directly or through other guards; adds theirs to it.
  static Guards GuardsNear(const IndexSpace& space, const Guards& guards, std::vector<VarId>& all) {
    Guards near;
    std::vector<bool> taken(guards.size());
    for (bool grew = true; grew;) {
      grew = false;
      for (size_t i = 0; i < guards.size(); ++i) {
        if (taken[i]) continue;
        const std::vector<VarId> more = space.VarsOf({guards[i].first});
        const auto known = [&](VarId var) {
          return std::find(all.begin(), all.end(), var) != all.end();
        };
        if (std::none_of(more.begin(), more.end(), known)) continue;
        taken[i] = grew = true;
        near.push_back(guards[i]);
        for (const VarId var : more) {
          if (!known(var)) all.push_back(var);
        }
      }
    }
    return near;
  }

  const Program& program_;
  IndexSpace own_;
  IndexSpace expanded_;
  std::string where_;
  int64_t budget_ = kTotalBudget;
};

}  // namespace

absl::Status VerifyExtents(const Program& program) {
  // One budget for all: lowering and the cost model ask for each of them.
  int64_t budget = kExtentPointsMax;
  for (size_t i = 0; i < program.vars.size(); ++i) {
    if (FindExtentValues(program, static_cast<VarId>(i), budget).has_value()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("variable ", program.vars[i].name,
                     ": its extent depends on more iterations than can be looked at"));
  }
  return absl::OkStatus();
}

absl::Status VerifyBounds(const Program& program) {
  BoundsVerifier verifier(program);
  for (const Var& var : program.vars) RETURN_IF_ERROR(verifier.CheckVar(var));
  if (program.lowered) {
    RETURN_IF_ERROR(verifier.CheckNode(program.root, {}));
    return program.pack_root < 0 ? absl::OkStatus() : verifier.CheckNode(program.pack_root, {});
  }
  for (const Block& block : program.blocks) {
    for (const VarId axis : block.spatial) RETURN_IF_ERROR(verifier.CheckMap(axis));
    for (const VarId axis : block.reduction) RETURN_IF_ERROR(verifier.CheckMap(axis));
    RETURN_IF_ERROR(verifier.CheckBlock(block));
  }
  return absl::OkStatus();
}

}  // namespace burnish
