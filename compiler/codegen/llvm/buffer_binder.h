// A function's entry: where its buffers are, and which of them may overlap.
#ifndef COMPILER_CODEGEN_LLVM_BUFFER_BINDER_H_
#define COMPILER_CODEGEN_LLVM_BUFFER_BINDER_H_

#include <cstddef>

#include "compiler/codegen/kernel_layout.h"
#include "compiler/codegen/llvm/emit_state.h"
#include "compiler/codegen/llvm/tile_plan.h"

namespace burnish {

struct KernelArguments {
  llvm::Value* context;  // BurnishKernelContext*
  llvm::Value* worker;   // i64
};

// Emits the loads of the buffers' addresses from the context and the arrays of register buffers,
// and fills state.buffers. Buffers that the function has no address for stay null: in the pack
// function inputs and outputs, everywhere temporaries that are not used or are in tile registers.
void BindBuffers(const KernelLayout& layout, const TilePlan& tiles, bool pack,
                 const KernelArguments& arguments, EmitState& state);

// The field of the context that starts `offset` bytes into it.
llvm::Value* LoadContextField(llvm::IRBuilderBase& builder, llvm::Value* context, size_t offset,
                              llvm::Type* type);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_BUFFER_BINDER_H_
