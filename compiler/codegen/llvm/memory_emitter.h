// Loads, stores and prefetches of buffer elements as LLVM IR.
//
// Lanes of a vectorized variable that are one element are a scalar, neighbours a vector. Loads of
// others are whole vectors of neighbours (compiler/ir/access.h) and shuffles; columns of a square
// whose rows lie in memory, in code that is written out for each column, are its rows and shuffles.
// Anything else is done lane by lane.
#ifndef COMPILER_CODEGEN_LLVM_MEMORY_EMITTER_H_
#define COMPILER_CODEGEN_LLVM_MEMORY_EMITTER_H_

#include <functional>
#include <vector>

#include "compiler/codegen/llvm/address_emitter.h"
#include "compiler/codegen/llvm/emit_state.h"
#include "compiler/ir/access.h"

namespace llvm {
class Instruction;
}  // namespace llvm

namespace burnish {

class ExprEmitter;

class MemoryEmitter {
 public:
  MemoryEmitter(EmitState& state, ExprEmitter& expressions)
      : state_(state), expressions_(expressions), addresses_(state, expressions) {}

  // A scalar where the element is the same for all lanes, else a vector. Bools are i1.
  llvm::Value* Load(const Expr& load);
  // Writes `value` (scalar or vector) where the index is the same for all lanes, or a vector of
  // neighbours; else lane by lane, the last lane last. With a combiner it reads, combines, writes.
  void Store(const Node& store);
  // Whether a store of the vectorized loop may be emitted once for all that is left of the loop:
  // for lanes of which the first `tail` have an element.
  bool MayMaskTail(const Node& store);
  void Prefetch(const Node& prefetch);

  // `width` neighbouring elements, the first of which is that at `indices`. No vectorized variable.
  llvm::Value* LoadRow(BufferId buffer, const std::vector<Expr>& indices, int width) {
    return LoadVector(buffer, addresses_.Of(buffer, indices).first, width);
  }
  void StoreRow(BufferId buffer, const std::vector<Expr>& indices, llvm::Value* value) {
    StoreAt(buffer, addresses_.Of(buffer, indices).first, value);
  }
  // Of the element at `indices`.
  llvm::Value* RowPointer(BufferId buffer, const std::vector<Expr>& indices) {
    return addresses_.Pointer(buffer, addresses_.Of(buffer, indices).first);
  }

  AddressEmitter& addresses() { return addresses_; }

  // Calls `emit` once per lane, with the vectorized variable bound to that lane's value.
  void ForEachLane(const std::function<void(int lane)>& emit);
  // The vector of what `emit` gives for each lane.
  llvm::Value* LaneByLane(DType type, const std::function<llvm::Value*()>& emit);

 private:
  // `width` elements: a scalar for 1. Under a mask all of them are read, unless it is off.
  llvm::Value* LoadVector(BufferId buffer, const LinearForm& first, int width);
  // Elements that lanes are taken from, each its own where `place_of` is empty. Under a mask none
  // of other lanes is read: the others, and lanes that are off, may lie outside of the buffer.
  llvm::Value* LoadNeighbours(BufferId buffer, const LinearForm& first, const LaneVector& vector);
  // ---- Of lanes that are neither one element nor neighbours (lane_loads.cc). Null: one by one.
  llvm::Value* LoadApart(const Expr& load, const LaneAddress& address);
  // Where the lanes' places are known to each other, and near enough to pay.
  llvm::Value* LoadRuns(const Expr& load);
  // Where a loop that is written out walks the columns of a square of so many lanes.
  llvm::Value* LoadColumn(const Expr& load, const LaneAddress& address);
  llvm::Value* Join(BufferId buffer, const LinearForm& first,
                    const std::vector<LaneVector>& vectors);
  // ----
  void Annotate(llvm::Instruction* access, BufferId buffer) const;
  llvm::Value* FromMemory(llvm::Instruction* load, BufferId buffer) const;
  llvm::Value* TailMask() const;  // <lanes x i1>
  // The lanes whose elements may be read, <lanes x i1>; null: all.
  llvm::Value* LaneMask();
  // Whether lanes without an element are no other element's: of a register array, whose vectors are
  // read and written whole.
  bool EndsRow(BufferId buffer, const std::vector<Expr>& indices);
  void StoreAt(BufferId buffer, const LinearForm& form, llvm::Value* value);
  void StoreOne(const Node& store, const LaneAddress& address);
  void StoreLanes(const Node& store);
  void StoreReduced(const Node& store, const LaneAddress& address);

  EmitState& state_;
  ExprEmitter& expressions_;
  AddressEmitter addresses_;
};

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_MEMORY_EMITTER_H_
