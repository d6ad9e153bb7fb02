// Transcendental functions as straight-line LLVM IR, scalar or vector alike: no libm.
//
// Errors are measured against libm in double over sampled floats of the whole range, by
// math_emitter_test. NaN, infinities and (where the caller has not set FTZ and DAZ) denormals
// behave as in C.
//
//   f32 exp, log, tanh, erf  <= 2 ulp (3 without FMA)     f32 sin, cos, pow  <= 1 ulp
//   f64 exp, log, tanh       <= 4 ulp                     f64 pow, erf, sin, cos: not supported
#ifndef COMPILER_CODEGEN_LLVM_MATH_EMITTER_H_
#define COMPILER_CODEGEN_LLVM_MATH_EMITTER_H_

#include "compiler/ir/expr.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace burnish {

// kExp, kLog, kTanh, kErf, kSin or kCos of a float or double, or a vector of them. Null where the
// function is not there in that type.
llvm::Value* EmitMath(llvm::IRBuilderBase& builder, ExprKind kind, llvm::Value* x);

// x to the power y. Null for doubles.
llvm::Value* EmitPow(llvm::IRBuilderBase& builder, llvm::Value* x, llvm::Value* y);

// C's fmod, exact. Null for doubles.
llvm::Value* EmitFmod(llvm::IRBuilderBase& builder, llvm::Value* x, llvm::Value* y);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_MATH_EMITTER_H_
