// Ranges and values of integer expressions over the variables of one program, for the verifier.
// On purpose independent of simplify.h and expr_kinds.h, so that one can be wrong without the
// other, and safe on hostile input: arithmetic that may wrap is never trusted.
#ifndef COMPILER_IR_INDEX_SPACE_H_
#define COMPILER_IR_INDEX_SPACE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "compiler/ir/program.h"

namespace burnish {

// Inclusive. The whole of int64 where nothing is known.
struct Interval {
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
  bool IsPoint() const { return min == max; }
  bool Contains(const Interval& other) const { return min <= other.min && other.max <= max; }
};

// How a variable with a map stands in expressions.
enum class VarView : uint8_t {
  kOwnRange,  // 0 .. extent-1, as in a block's definition
  kExpanded,  // through its map to loop variables, cut to 0 .. extent-1 (beyond, nothing runs)
};

// The program must have passed the verifier's checks of ids and of cycles between variables.
class IndexSpace {
 public:
  IndexSpace(const Program& program, VarView view);

  // Gives a variable a value, or takes it away.
  void Fix(VarId var, int64_t value) { fixed_[var] = value; }
  void Unfix(VarId var) { fixed_[var].reset(); }
  // Some of its values only, or all again. For RangeOf: a value that is fixed counts before.
  void Confine(VarId var, const Interval& values) { confined_[var] = values; }
  void Release(VarId var) { confined_[var].reset(); }

  // Sound, not always tight. Of a bool: 0 .. 1.
  Interval RangeOf(const Expr& e) const;
  Interval RangeOfVar(VarId var) const;

  // Whether a variable in `e`, or in its map, surely lies beyond its extent: nothing runs there.
  bool IsSkipped(const Expr& e) const;

  // The value where all variables of `e` are fixed. Nullopt where that is undefined (division by
  // zero, overflow, outside of a table) or depends on tensors or floats.
  std::optional<int64_t> Eval(const Expr& e) const;

  // Variables that may be fixed to give `e` a value: those of `e`, of their extents, and so on,
  // each after the ones that its extent mentions. With kExpanded: loop variables only.
  std::vector<VarId> VarsOf(absl::Span<const Expr> expressions) const;

  enum class Walk : uint8_t { kDone, kStopped, kOverBudget };
  // Fixes `vars`, in this order, to each of their values and calls `visit` until it returns false.
  // Each value costs one of *budget. Afterwards `vars` are not fixed. An extent that has no value
  // stops the walk.
  Walk Enumerate(absl::Span<const VarId> vars, int64_t* budget, const std::function<bool()>& visit);

 private:
  Interval RangeOfBinary(const ExprNode& e) const;
  Interval RangeOfTable(const ExprNode& e) const;
  std::optional<int64_t> EvalBinary(const ExprNode& e) const;
  std::optional<int64_t> EvalTable(const ExprNode& e) const;
  std::optional<int64_t> EvalVar(VarId var) const;
  void AddVars(const Expr& e, std::vector<VarId>& order, std::vector<bool>& seen) const;

  const Program& program_;
  const VarView view_;
  std::vector<std::optional<int64_t>> fixed_;
  std::vector<std::optional<Interval>> confined_;
};

}  // namespace burnish

#endif  // COMPILER_IR_INDEX_SPACE_H_
