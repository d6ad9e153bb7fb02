// Addresses of accesses as LLVM IR: one flat index, constant + sum(coefficient * atom), which is
// summed from the outermost loop inward.
#ifndef COMPILER_CODEGEN_LLVM_ADDRESS_EMITTER_H_
#define COMPILER_CODEGEN_LLVM_ADDRESS_EMITTER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/llvm/emit_state.h"

namespace burnish {

class ExprEmitter;

// An access under the vectorized variable.
struct LaneAddress {
  LinearForm first;             // The first lane's; the variable stands for its first value.
  std::optional<int64_t> step;  // Elements from one lane to the next; nullopt: they differ.
};

// What elements of a type are in memory.
llvm::Type* MemoryType(llvm::IRBuilderBase& b, DType type);

// Appends what tells the form's terms from all others. False when their values may differ from one
// place to another, or when they must not be computed where they are not asked for.
bool AppendKey(const LinearForm& form, std::string& key);

class AddressEmitter {
 public:
  AddressEmitter(EmitState& state, ExprEmitter& expressions)
      : state_(state), expressions_(expressions) {}

  LaneAddress Of(BufferId buffer, const std::vector<Expr>& indices) const;
  // To the element. `guard` (i1): where it is false the pointer is that of the allocation's start.
  llvm::Value* Pointer(BufferId buffer, const LinearForm& form, llvm::Value* guard = nullptr);
  // Without a promise that the element lies in the buffer.
  llvm::Value* PointerAnywhere(BufferId buffer, const LinearForm& form);
  // The sum (i64).
  llvm::Value* Index(const LinearForm& form);
  // Bytes that the address is a multiple of.
  uint64_t Alignment(BufferId buffer, const LinearForm& form) const;

 private:
  llvm::Value* Advance(BufferId buffer, llvm::Value* pointer, const LinearForm& part, int depth);

  EmitState& state_;
  ExprEmitter& expressions_;
};

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_ADDRESS_EMITTER_H_
