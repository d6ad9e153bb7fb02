// Transcendental functions of doubles that need more digits than a double on the way: angles,
// powers and the tail of the error function, in pairs of doubles. Internal to math_emitter.
//
// Sources: Dekker, "A floating-point technique for extending the available precision", 1971; fdlibm
// (the kernels of sine and cosine); Payne and Hanek, "Radian reduction for trigonometric
// functions", SIGNUM 1983.
#ifndef COMPILER_CODEGEN_LLVM_DOUBLE_MATH_H_
#define COMPILER_CODEGEN_LLVM_DOUBLE_MATH_H_

#include "compiler/codegen/llvm/math_emitter.h"

namespace burnish {

// Operands are doubles or vectors of them.
llvm::Value* EmitDoubleErf(llvm::IRBuilderBase& builder, const MathUnits& units, llvm::Value* x);
llvm::Value* EmitDoubleOnePlusErf(llvm::IRBuilderBase& builder, const MathUnits& units,
                                  llvm::Value* x, bool times_root_half);
llvm::Value* EmitDoubleSinOrCos(llvm::IRBuilderBase& builder, const MathUnits& units,
                                llvm::Value* x, bool cos);
llvm::Value* EmitDoublePow(llvm::IRBuilderBase& builder, const MathUnits& units, llvm::Value* x,
                           llvm::Value* y);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_DOUBLE_MATH_H_
