// Exact integer reasoning on index expressions: ranges, canonical sums, and proofs by enumeration.
#ifndef COMPILER_IR_SIMPLIFY_H_
#define COMPILER_IR_SIMPLIFY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "compiler/ir/expr.h"

namespace burnish {

// Inclusive bounds.
struct Range {
  int64_t min = 0;
  int64_t max = 0;
};

// Bounds of a variable; nullopt where unknown.
using VarRanges = std::function<std::optional<Range>(VarId)>;

// Bounds of an integer expression; nullopt where they are unknown. Sound, not always tight.
std::optional<Range> RangeOf(const Expr& e, const VarRanges& ranges);

// An integer expression as constant + sum(coefficient * atom), atoms being variables, floor
// divisions, moduli, minima, table look-ups ..; each atom once, in a fixed order.
struct LinearForm {
  int64_t constant = 0;
  absl::InlinedVector<std::pair<Expr, int64_t>, 4> terms;
  // What a step of `var` adds; nullopt where `var` occurs inside another atom, too: then steps
  // differ.
  std::optional<int64_t> StepOf(VarId var) const;
};
LinearForm ToLinear(const Expr& e, const VarRanges& ranges);
Expr FromLinear(const LinearForm& form);
// Whether the two differ by a constant at most.
bool HaveSameTerms(const LinearForm& a, const LinearForm& b);
// Makes `form` that of its sum with scale * e.
void AddLinear(LinearForm& form, const Expr& e, int64_t scale, const VarRanges& ranges);
// The same for an `e` that Simplify has given by ranges as narrow: what it has left is not tried
// again.
void AddSimplified(LinearForm& form, const Expr& e, int64_t scale, const VarRanges& ranges);

// Canonical form: divisions and moduli by constants are resolved where ranges allow it
// ((a*16+b)/16 = a and (a*16+b)%16 = b for 0 <= b < 16; (x/c)*c + x%c = x), loads' indices and
// operands of floating-point nodes are simplified too. Equal integer functions often, not always,
// become equal trees.
Expr Simplify(const Expr& e, const VarRanges& ranges);

// The value of an integer expression without loads; `value` gives the variables.
int64_t EvalInt(const Expr& e, const std::function<int64_t(VarId)>& value);

// Calls visit(values) for each assignment of `vars` in the box [0, extents). False, with nothing
// visited, when there are over `limit` assignments.
bool EnumerateBox(const std::vector<int64_t>& extents, int64_t limit,
                  const std::function<void(const std::vector<int64_t>&)>& visit);

}  // namespace burnish

#endif  // COMPILER_IR_SIMPLIFY_H_
