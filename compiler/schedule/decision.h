// Open decisions of a schedule, conditions over them, and steps that depend on them.
//
// Conditions and sizes are expressions of compiler/ir in which variable d is the value of decision
// d: data that can be counted, printed and sent. Precedents: MLIR's transform dialect keeps a knob,
// a structural choice and a joint constraint apart (transform.tune.knob, .alternatives,
// .smt.constrain_params).
#ifndef COMPILER_SCHEDULE_DECISION_H_
#define COMPILER_SCHEDULE_DECISION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "compiler/ir/expr.h"
#include "compiler/schedule/step.h"

namespace burnish {

// How the values of a decision relate to each other; search moves accordingly.
enum class DecisionKind : uint8_t {
  kSize,    // A length or a count: neighbouring values are alike.
  kChoice,  // One of several ways: no value is nearer to another.
};

// One open choice. Values are what stands in the trace (max=6), never positions in this list.
struct Decision {
  std::string name;  // Unique in its sketch: points are told apart by it.
  DecisionKind kind = DecisionKind::kSize;
  std::vector<int64_t> values;  // Ascending, at least one. A switch has the values 0 and 1.
};

// A step of a sketch. Arguments may be expressions over the decisions.
struct OpenStep {
  Step step;
  Expr when;  // The step is taken where this holds; null: always.
};

// A value for each decision, in the sketch's order.
using Point = std::vector<int64_t>;

// The value of an expression over decisions.
int64_t ValueAt(const Expr& e, absl::Span<const int64_t> point);

// The steps at a point: those whose conditions hold, with integers for expressions.
Trace StepsAt(absl::Span<const OpenStep> steps, absl::Span<const int64_t> point);

// ceil(a / b) of positive numbers, folded where both are constant.
Expr CeilDiv(Expr a, Expr b);
Expr Or(Expr a, Expr b);

}  // namespace burnish

#endif  // COMPILER_SCHEDULE_DECISION_H_
