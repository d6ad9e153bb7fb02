// Expressions as LLVM IR.
//
// Under a vectorized variable a value is a scalar where it is the same for all lanes and a vector
// where it is not; an operation on one of each splats the scalar.
#ifndef COMPILER_CODEGEN_LLVM_EXPR_EMITTER_H_
#define COMPILER_CODEGEN_LLVM_EXPR_EMITTER_H_

#include <functional>
#include <memory>

#include "compiler/codegen/llvm/emit_state.h"
#include "compiler/codegen/llvm/function_values.h"

namespace burnish {

class MemoryEmitter;

class ExprEmitter {
 public:
  explicit ExprEmitter(EmitState& state);
  ~ExprEmitter();

  // After an error the value is undefined, and state.status says why; never null.
  llvm::Value* Emit(const Expr& e);
  // The whole value of a statement: each part that holds a function is computed once, however often
  // it stands in the tree. LLVM finds equal arithmetic, but not across a function's jumps, and a
  // tree whose levels use each other twice is large before it is found.
  llvm::Value* EmitStatement(const Expr& e);
  // A condition (i1, or a vector of i1), simplified first.
  llvm::Value* EmitCondition(const Expr& e);

  // old combined with the value of `term`; a sum of products becomes fused multiply-adds.
  llvm::Value* EmitCombine(Combiner combiner, llvm::Value* old, const Expr& term);
  // Of two scalars or two vectors. Not kAssign.
  llvm::Value* Combine(Combiner combiner, DType type, llvm::Value* x, llvm::Value* y);

  // Splats what is scalar to the present number of lanes.
  llvm::Value* ToVector(llvm::Value* value);
  // Type of values of `type`: bool is i1.
  llvm::Type* ScalarType(DType type);
  // Where `bad` is true and the mask allows it, makes `code` the return code, unless there is one.
  void RecordError(llvm::Value* bad, int code);
  // One i1: whether any lane is set.
  llvm::Value* AnyLane(llvm::Value* condition);

  MemoryEmitter& memory() { return *memory_; }

 private:
  llvm::Value* EmitAnew(const Expr& e);
  llvm::Value* EmitVar(VarId var);
  llvm::Value* EmitUnary(const Expr& e);  // Null, like the others: no code for it in this type.
  llvm::Value* EmitCast(llvm::Value* value, DType from, DType to);
  llvm::Value* EmitBinary(const Expr& e);
  llvm::Value* EmitArithmetic(const Expr& e, llvm::Value* a, llvm::Value* b);
  llvm::Value* EmitCompare(ExprKind kind, DType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* EmitMinMax(bool is_max, DType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* EmitIntegerDivision(const Expr& e, llvm::Value* a, llvm::Value* b);
  llvm::Value* EmitSelect(const Expr& e);
  llvm::Value* EmitTable(const Expr& e);
  llvm::Value* EmitBoundsCheck(const Expr& e);
  llvm::Value* UnderMask(llvm::Value* mask, const Expr& e);
  void Unify(llvm::Value*& a, llvm::Value*& b);

  EmitState& state_;
  std::unique_ptr<MemoryEmitter> memory_;
  bool in_statement_ = false;
  FunctionValues function_values_;  // Of the statement.
};

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_EXPR_EMITTER_H_
