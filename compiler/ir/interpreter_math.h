// Private to the interpreter: operations (expr_kinds.h) on its slots, and the magnitudes that bound
// what rounding does to them.
//
// Magnitudes. With m(x) the magnitude of x, |x| <= m(x), the rounding error of a value that is
// computed in f32 is bounded by a small multiple of 2^-24 * m:
//   constant, parameter element      |x|       (an element of another buffer: as it was stored)
//   a + b, a - b, sums               m(a) + m(b)
//   a * b, products                  m(a) * m(b)
//   -a, |a|, float to float          m(a)
//   min, max                         the larger of both
//   select                           the chosen branch's (the condition is taken as exact)
//   floor, ceil, round, sign, ints   |x|       (a jump across a step is not covered)
//   any other f(a), f(a, b)          |f| + sum |df/dx| * m(x): own rounding, and what f makes of
//                                    the errors of its operands to first order
#ifndef COMPILER_IR_INTERPRETER_MATH_H_
#define COMPILER_IR_INTERPRETER_MATH_H_

#include <cstdint>

#include "compiler/ir/interpreter_code.h"

namespace burnish::interpreter {

int64_t FloatCompare(ExprKind kind, double a, double b);

// slot[0] = kind(slot[0]) or kind(slot[0], slot[1]); kIsNan and kNot give an integer.
void FloatUnary(ExprKind kind, DType dtype, bool with_magnitude, Slot* slot);
void FloatBinary(ExprKind kind, bool with_magnitude, Slot* slot);

// Floats to integers truncate; NaN gives 0 and values out of range the nearest integer there is.
void CastSlot(DType from, DType to, Slot* slot);

}  // namespace burnish::interpreter

#endif  // COMPILER_IR_INTERPRETER_MATH_H_
