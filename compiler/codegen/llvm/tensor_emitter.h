// Loop nests that one instruction computes: the rows of compiler/target/instruction.cc that x86
// has.
#ifndef COMPILER_CODEGEN_LLVM_TENSOR_EMITTER_H_
#define COMPILER_CODEGEN_LLVM_TENSOR_EMITTER_H_

#include "compiler/codegen/llvm/emit_state.h"

namespace burnish {

class ExprEmitter;
class TileEmitter;

// Emits the nest of `loop` (kTensorized) as the instruction that it names. False, with nothing
// emitted, where the nest is not the instruction's any more, because its buffers are stored another
// way than when it was scheduled: then it is done as it stands.
bool EmitTensorized(const Node& loop, EmitState& state, ExprEmitter& expressions,
                    TileEmitter& tiles);

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_TENSOR_EMITTER_H_
