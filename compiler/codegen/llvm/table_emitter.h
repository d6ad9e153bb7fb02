// Constant tables as LLVM IR.
#ifndef COMPILER_CODEGEN_LLVM_TABLE_EMITTER_H_
#define COMPILER_CODEGEN_LLVM_TABLE_EMITTER_H_

#include "compiler/codegen/llvm/emit_state.h"

namespace burnish {

class ExprEmitter;

// The element at `index` (i64), row-major.
llvm::Value* LoadTable(const ConstTable& table, llvm::Value* index, EmitState& state,
                       ExprEmitter& expressions);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_TABLE_EMITTER_H_
