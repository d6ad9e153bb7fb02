// Nests on tile registers as instructions of x86's AMX, by the registers of a TilePlan.
//
// By LLVM's intrinsics with immediate register numbers. Its typed interface, where LLVM allocates
// tile registers, is no way: a block of 2x2 tiles with a variable number of rows does not compile
// ("ran out of registers during register allocation"), and with a constant one spills tiles of 1
// KiB around its loop (LLVM 19.1).
#ifndef COMPILER_CODEGEN_LLVM_TILE_EMITTER_H_
#define COMPILER_CODEGEN_LLVM_TILE_EMITTER_H_

#include <cstdint>
#include <vector>

#include "compiler/codegen/llvm/emit_state.h"
#include "compiler/codegen/llvm/tile_plan.h"

namespace burnish {

class MemoryEmitter;

class TileEmitter {
 public:
  // `plan` must outlive this.
  TileEmitter(const TilePlan& plan, EmitState& state) : plan_(plan), state_(state) {}

  // The configuration of a phase's registers, or nothing where it has none. Once a phase and
  // outside of its loops: it takes some 50 ns. The registers are given back at its end: a barrier
  // of the caller's stands between phases, and a thread whose tiles are in use pays for them at
  // each switch.
  void BeginPhase(NodeId phase);
  void EndPhase(NodeId phase);

  // False, with nothing emitted, where the tiles of this nest are in memory.
  bool Emit(NodeId loop, MemoryEmitter& memory);

  // What operands' registers hold is not known any more: control flow goes apart or together here,
  // or memory is written.
  void Forget();

 private:
  // What an operand's register was loaded from; a null base: nothing that is known.
  struct Operand {
    llvm::Value* base = nullptr;
    int64_t offset_bytes = 0, stride_bytes = 0;
    int64_t last_use = 0;

    bool Holds(const Operand& other) const {
      return base == other.base && offset_bytes == other.offset_bytes &&
             stride_bytes == other.stride_bytes;
    }
  };

  int SumOf(const TileNest& nest);
  int OperandOf(const ExprNode& load, int64_t stride_bytes, int first, int count,
                MemoryEmitter& memory);
  void Move(bool is_store, int tile, llvm::Value* pointer, int64_t stride_bytes);

  const TilePlan& plan_;
  EmitState& state_;
  const TileRegisters* registers_ = nullptr;  // Of the present phase; null: none.
  std::vector<Operand> operands_ = std::vector<Operand>(GreatestTiles().count);
  int64_t clock_ = 0;
};

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_TILE_EMITTER_H_
