// One element of arithmetic on values, in double and 64-bit integers: what compiler/ir/expr.h says
// an operation means. On purpose it does not read compiler/ir/expr_kinds.h, which the interpreter,
// constant folding and the simplifier share: a mistake there is found by the checker's own opinion.
#ifndef WORKER_RUNNER_EXPR_VALUE_H_
#define WORKER_RUNNER_EXPR_VALUE_H_

#include <cstdint>

#include "compiler/ir/dtype.h"
#include "compiler/ir/expr.h"

namespace burnish {

// `f` for floats (f32 and f64 are kept in double, unrounded; a storage type holds what it can), `i`
// for all other types.
union ExprValue {
  double f;
  int64_t i;
};

// To the range of `type`, as two's complement does; bools become 0 or 1.
int64_t WrapToType(DType type, int64_t value);

// Why an operation has no value: its result is then 0. Programs come from elsewhere, so that none
// of these is a bug of this process.
enum class ValueError {
  kNone,
  kDivisionByZero,    // Of integers, or a modulo.
  kUnknownOperation,  // For operands of that type.
};

// Whether the functions below know the kind, for operands of that type: to refuse a program before
// it runs.
bool IsKnownUnary(ExprKind kind, DType type);
bool IsKnownBinary(ExprKind kind, DType type);

// `type`: of the operand. `*error` is set where there is one, and else left as it is.
ExprValue UnaryValue(ExprKind kind, DType type, ExprValue a, ValueError* error);
ExprValue CastValue(DType from, DType to, ExprValue a);
// `type`: of the operands.
ExprValue BinaryValue(ExprKind kind, DType type, ExprValue a, ExprValue b, ValueError* error);

}  // namespace burnish

#endif  // WORKER_RUNNER_EXPR_VALUE_H_
