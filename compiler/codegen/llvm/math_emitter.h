// Transcendental functions as straight-line LLVM IR, scalar or vector alike: no libm.
//
// Errors in units of the last place, against libm in double (math_emitter_test; measured over
// random bit patterns and the range of normal results, with and without FMA):
//   f32 exp 1.1, log 0.9, tanh 1.3, erf 1.2, sin and cos 0.5 (any finite x), pow 1; fmod exact
//   f64 exp 1, log 1, tanh 2; fmod exact; erf, sin, cos and pow are not supported
// NaN, infinities and signed zeros are C's. Kernels run with denormals flushed: terms below the
// least normal number may be lost.
#ifndef COMPILER_CODEGEN_LLVM_MATH_EMITTER_H_
#define COMPILER_CODEGEN_LLVM_MATH_EMITTER_H_

#include "compiler/ir/expr.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace burnish {

// Instructions of the target that functions are made of; without them they take some more.
struct MathUnits {
  bool scale = false;  // vscalefps and vscalefpd, x * 2^n, of every vector length (AVX-512F and VL)
};

// kExp, kLog, kTanh, kErf, kSin or kCos of a float or double, or a vector of them. Null where the
// function is not there in that type.
llvm::Value* EmitMath(llvm::IRBuilderBase& builder, const MathUnits& units, ExprKind kind,
                      llvm::Value* x);

// x where `e` is 1 + erf(x) in floats; else null.
Expr OnePlusErfOf(const Expr& e);
// 1 + erf(x) of a float or a vector of them, without the cancellation that the sum has for x < 0:
// what GELU needs, and less work than erf. Error: at most 1.5e-7, and 3 % of results down to 1e-7.
llvm::Value* EmitOnePlusErf(llvm::IRBuilderBase& builder, llvm::Value* x);

// x to the power y. Null for doubles.
llvm::Value* EmitPow(llvm::IRBuilderBase& builder, const MathUnits& units, llvm::Value* x,
                     llvm::Value* y);

// C's fmod, exact; a loop for each lane.
llvm::Value* EmitFmod(llvm::IRBuilderBase& builder, llvm::Value* x, llvm::Value* y);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_MATH_EMITTER_H_
