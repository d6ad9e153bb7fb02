// Numbers of 8 and 16 bits that stand for real ones: real = scale * (number - zero point).
#ifndef COMPILER_TE_OPS_QUANTIZE_H_
#define COMPILER_TE_OPS_QUANTIZE_H_

#include "compiler/te/ops/common.h"

namespace burnish::ops {

// Element types that values are quantized to.
inline bool IsQuantized(DType type) {
  return type == DType::kI8 || type == DType::kU8 || type == DType::kI16 || type == DType::kU16;
}

// The one definition of rounding to a quantized type (docs/low-precision.md): `value` (f32) to the
// nearest integer, halves to even, plus `zero` (of the quantized type), within the type's limits.
// NaN gives the number 0; infinities give the limits.
Expr Quantize(const Expr& value, const Expr& zero);

}  // namespace burnish::ops

#endif  // COMPILER_TE_OPS_QUANTIZE_H_
