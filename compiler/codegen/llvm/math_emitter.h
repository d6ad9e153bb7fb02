// Transcendental functions as straight-line LLVM IR, scalar or vector alike: no libm.
//
// Errors in units of the last place, against libm in double (math_functions_test; measured over
// random bit patterns and the range of normal results, with and without FMA):
//   f32 exp 1.1, log 0.9, tanh 1.3, erf 1.2, sin and cos 0.5 (any finite x), pow 1; fmod exact
//   f64 exp 1, log 1, tanh 2, erf 1.2, sin and cos 0.8 (any finite x), pow 0.7; fmod exact
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
  bool fused_multiply_add = false;
};

// kExp, kLog, kTanh, kErf, kSin or kCos of a float or double, or a vector of them. Null for other
// kinds.
llvm::Value* EmitMath(llvm::IRBuilderBase& builder, const MathUnits& units, ExprKind kind,
                      llvm::Value* x);

// What `e` is 1 + erf of, in floats or doubles; x is null where it is something else.
struct OnePlusErf {
  Expr x;
  bool times_root_half = false;  // Of x * sqrt(1/2), where it is not rounded (doubles only).
};
OnePlusErf OnePlusErfOf(const Expr& e);
// 1 + erf(x) without the cancellation that the sum has for x < 0: what GELU needs. Of floats it is
// less work than erf; error at most 1.5e-7, and 3 % of results down to 1e-7. Of doubles 4 units of
// the last place, while the result is a normal number.
llvm::Value* EmitOnePlusErf(llvm::IRBuilderBase& builder, const MathUnits& units, llvm::Value* x,
                            bool times_root_half);

// x to the power y.
llvm::Value* EmitPow(llvm::IRBuilderBase& builder, const MathUnits& units, llvm::Value* x,
                     llvm::Value* y);

// C's fmod, exact; a loop for each lane.
llvm::Value* EmitFmod(llvm::IRBuilderBase& builder, llvm::Value* x, llvm::Value* y);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_MATH_EMITTER_H_
