#include "compiler/codegen/llvm/math_emitter.h"

#include "llvm/IR/IRBuilder.h"

namespace burnish {

llvm::Value* EmitMath(llvm::IRBuilderBase& builder, ExprKind kind, llvm::Value* x) {
  return nullptr;
}

llvm::Value* EmitPow(llvm::IRBuilderBase& builder, llvm::Value* x, llvm::Value* y) {
  return nullptr;
}

llvm::Value* EmitFmod(llvm::IRBuilderBase& builder, llvm::Value* x, llvm::Value* y) {
  return nullptr;
}

}  // namespace burnish
