// Loads, stores and prefetches of buffer elements as LLVM IR.
//
// An access is one flat index, constant + sum(coefficient * atom). Under a vectorized variable with
// coefficient 0 it is a scalar, with coefficient 1 a vector. Loads by short steps, forwards or
// backwards, are whole vectors of which shuffles keep the lanes; loads of a few runs of neighbours
// whose order is known (interleaved channels) are a vector a run and shuffles; columns of a square
// whose rows lie in memory, in code that is written out for each column, are its rows and shuffles.
// Anything else is done lane by lane.
#ifndef COMPILER_CODEGEN_LLVM_MEMORY_EMITTER_H_
#define COMPILER_CODEGEN_LLVM_MEMORY_EMITTER_H_

#include <functional>
#include <optional>
#include <vector>

#include "compiler/codegen/llvm/emit_state.h"

namespace llvm {
class Instruction;
}  // namespace llvm

namespace burnish {

class ExprEmitter;

class MemoryEmitter {
 public:
  MemoryEmitter(EmitState& state, ExprEmitter& expressions)
      : state_(state), expressions_(expressions) {}

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
  llvm::Value* LoadRow(BufferId buffer, const std::vector<Expr>& indices, int width);
  void StoreRow(BufferId buffer, const std::vector<Expr>& indices, llvm::Value* value);
  // Of the element at `indices`.
  llvm::Value* RowPointer(BufferId buffer, const std::vector<Expr>& indices) {
    return Pointer(buffer, AddressOf(buffer, indices).form, nullptr);
  }

  // An element of a constant table at run time. Scalar indices only.
  llvm::Value* LoadTable(const ConstTable& table, const std::vector<Expr>& indices);

  // Calls `emit` once per lane, with the vectorized variable bound to that lane's value.
  void ForEachLane(const std::function<void(int lane)>& emit);

 private:
  struct Address {
    LinearForm form;               // Without the vectorized variable.
    int64_t lane_stride = 0;       // Elements from one lane to the next.
    bool lanes_unrelated = false;  // The variable is hidden in an atom.
  };
  Address AddressOf(BufferId buffer, const std::vector<Expr>& indices);
  llvm::Value* Pointer(BufferId buffer, const LinearForm& form, llvm::Value* guard);
  llvm::Value* IndexValue(const LinearForm& form);
  llvm::Value* Advance(BufferId buffer, llvm::Value* pointer, const LinearForm& part, int depth);
  int64_t AlignmentOf(BufferId buffer, const LinearForm& form) const;
  void Annotate(llvm::Instruction* access, BufferId buffer) const;
  llvm::Value* LoadAt(BufferId buffer, const Address& address, int width);
  llvm::Value* TailMask() const;  // <lanes x i1>
  // The lanes whose elements may be read, <lanes x i1>; null: all.
  llvm::Value* LaneMask();
  // Whether lanes without an element are no other element's: of a register array, whose vectors are
  // read and written whole.
  bool EndsRow(BufferId buffer, const std::vector<Expr>& indices);
  // `lane_of`: which lane each element is, the number of lanes for none; empty: each its own.
  llvm::Value* LoadNeighbours(BufferId buffer, const Address& address,
                              const std::vector<int>& lane_of);
  // Null where the step is too long to pay.
  llvm::Value* LoadBySteps(BufferId buffer, const Address& address);
  // Null where the lanes' places are not known to each other, or too far apart to pay.
  llvm::Value* LoadRuns(BufferId buffer, const std::vector<Expr>& indices);
  std::optional<Address> AddressAt(const Expr& load, VarId var, int64_t value, const Address& like);
  // Null where no loop that is written out walks the columns of a square of so many lanes.
  llvm::Value* LoadColumn(const Expr& load, const Address& address);
  void StoreAt(BufferId buffer, const LinearForm& form, llvm::Value* value);
  void StoreOne(const Node& store, const Address& address);
  void StoreLanes(const Node& store);
  void StoreReduced(const Node& store, const Address& address);
  llvm::Value* TableGlobal(const ConstTable& table);

  EmitState& state_;
  ExprEmitter& expressions_;
};

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_MEMORY_EMITTER_H_
