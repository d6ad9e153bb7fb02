// What is known of elements behind the part of an axis that holds in a run
// (docs/adr/0013-bounded-axes.md).
#ifndef COMPILER_IR_KNOWN_REST_H_
#define COMPILER_IR_KNOWN_REST_H_

#include <functional>
#include <optional>

#include "compiler/ir/program.h"

namespace burnish {

// Of a parameter: along `axis` all elements from some position on are `value`. Axis -1: all
// elements are, in any run.
struct KnownRest {
  int parameter = 0;  // In call order.
  int axis = -1;
  double value = 0;
  // Rests of one number begin at the same position, which a run's sizes say; -1 beside axis -1.
  int extent = -1;

  friend bool operator==(const KnownRest&, const KnownRest&) = default;
  friend auto operator<=>(const KnownRest&, const KnownRest&) = default;
};

// What the expression is where loads are what `of_load` says; nullopt: not known. For a place where
// nothing holds: a product with 0 is 0 and a sum with an infinity is that infinity, whatever the
// other operand is, as they would be if it held numbers.
std::optional<double> KnownValue(
    const Expr& e, const std::function<std::optional<double>(const ExprNode& load)>& of_load);

// Whether combining with the value changes nothing.
bool IsNeutral(Combiner combiner, double value);

}  // namespace burnish

#endif  // COMPILER_IR_KNOWN_REST_H_
