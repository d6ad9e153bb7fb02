#include "tuner/cost_model/address_walk.h"

#include <cmath>
#include <optional>

#include "compiler/ir/access.h"
#include "compiler/ir/simplify.h"
#include "tuner/cost_model/loop_digits.h"

namespace burnish {

double AddressWalk::InstructionsOfColumn(const Buffer& buffer, const WalkAccess& access,
                                         size_t vector_loop, int64_t vector_lanes) const {
  const AccessLoop& lanes = access.loops[vector_loop];
  const bool never_changes =
      buffer.role == BufferRole::kInput || buffer.role == BufferRole::kConstant;
  if (lanes.hidden || lanes.stride < vector_lanes || !never_changes ||
      !IsSquareOfLanes(vector_lanes, SizeBytes(buffer.dtype))) {
    return 0;
  }
  for (size_t i = access.body_depth; i < access.loops.size(); ++i) {
    const AccessLoop& loop = access.loops[i];
    const bool walks_columns = i != vector_loop && !loop.hidden && loop.stride == 1;
    if (walks_columns && loop.trips >= static_cast<double>(vector_lanes)) {
      return 1 + std::log2(static_cast<double>(vector_lanes));
    }
  }
  return 0;
}

double AddressWalk::RunsOfLanes(const Buffer& buffer, const std::vector<Expr>& indices,
                                const WalkLoop& loop, int64_t lanes) const {
  // Among the lanes of the loop's first vector; with `place`, where all other loops have done that
  // share of their iterations. Nullopt where that depends on other loops, or on data.
  const auto runs_at = [&](std::optional<double> place) -> std::optional<double> {
    const std::optional<LanePlaces> known = PlacesOfLanes(lanes, [&](int64_t lane) {
      return AddressOf(buffer.storage, indices, [&](VarId var) {
        if (var == loop.var) return std::optional<Range>({lane, lane});
        if (!place.has_value()) return std::optional<Range>({0, extents_[var] - 1});
        const auto at = static_cast<int64_t>(*place * static_cast<double>(extents_[var]));
        return std::optional<Range>({at, at});
      });
    });
    if (!known.has_value()) return std::nullopt;
    return static_cast<double>(VectorsOfRuns(known->places).size());
  };
  if (const std::optional<double> same = runs_at(std::nullopt); same.has_value()) {
    return LoadsPay(static_cast<int64_t>(*same), lanes) ? *same : 0;
  }
  // The order differs from place to place, as at mirrored or repeated ends of a row: a loop
  // around the vectors is cut there (compiler/codegen/llvm/loop_cuts.h). The mean of three
  // places.
  double runs = 0;
  for (const double place : {1.0 / 6, 1.0 / 2, 5.0 / 6}) {
    const std::optional<double> here = runs_at(place);
    if (!here.has_value()) return 0;
    runs += *here / 3;
  }
  return LoadsPay(static_cast<int64_t>(std::ceil(runs)), lanes) ? runs : 0;
}

void AddressWalk::SetStrides(const Buffer& buffer, const std::vector<Expr>& indices,
                             WalkAccess& access) const {
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!AddSum(*indices[d], buffer.storage.strides[d], access)) {
      SetStridesSlowly(buffer, indices, access);
      return;
    }
  }
}

// Adds scale * e where e is a sum of multiples of variables: what most simplified indices are.
bool AddressWalk::AddSum(const ExprNode& e, int64_t scale, WalkAccess& access) const {
  switch (e.kind) {
    case ExprKind::kIntImm:
      return true;
    case ExprKind::kVar:
      if (extents_[e.id] == 1) return true;
      for (AccessLoop& loop : access.loops) {
        if (loop.var == e.id) loop.stride += scale * loop.unit;
      }
      return true;
    case ExprKind::kAdd:
      return AddSum(*e.operands[0], scale, access) && AddSum(*e.operands[1], scale, access);
    case ExprKind::kMul:
      return IsConstInt(e.operands[1]) &&
             AddSum(*e.operands[0], scale * e.operands[1]->int_value, access);
    default:
      return false;
  }
}

// By the canonical sum of the whole address, in which quotient and rest of one dividend meet.
void AddressWalk::SetStridesSlowly(const Buffer& buffer, const std::vector<Expr>& indices,
                                   WalkAccess& access) const {
  const VarRanges ranges = [this](VarId var) {
    return std::optional<Range>(Range{0, extents_[var] - 1});
  };
  LinearForm form;
  for (size_t d = 0; d < indices.size(); ++d) {
    AddSimplified(form, indices[d], buffer.storage.strides[d], ranges);
  }
  for (AccessLoop& loop : access.loops) loop.stride = 0;
  for (const auto& [atom, coefficient] : form.terms) {
    for (const VarId var : FreeVars(atom)) {
      // The last of some tiles begins early, where the row would end in it: it goes on, too.
      if (atom->kind == ExprKind::kMin && !MentionsVar(atom->operands[1], var)) {
        const std::optional<int64_t> step = ToLinear(atom->operands[0], ranges).StepOf(var);
        if (step.has_value()) {
          for (AccessLoop& loop : access.loops) {
            if (loop.var == var) loop.stride += coefficient * *step * loop.unit;
          }
          continue;
        }
      }
      const bool apart =
          VisitDigits(*atom, var, units_[var], extents_[var], [&](int64_t unit, int64_t step) {
            for (AccessLoop& loop : access.loops) {
              if (loop.var == var && loop.unit == unit) loop.stride += coefficient * step;
            }
          });
      for (AccessLoop& loop : access.loops) loop.hidden |= !apart && loop.var == var;
    }
  }
}

}  // namespace burnish
