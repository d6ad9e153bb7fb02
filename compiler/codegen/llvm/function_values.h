// Values of a statement's expressions that hold a function (exp, sin, pow ..), so that each is
// emitted once however often it stands in the tree.
#ifndef COMPILER_CODEGEN_LLVM_FUNCTION_VALUES_H_
#define COMPILER_CODEGEN_LLVM_FUNCTION_VALUES_H_

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "compiler/ir/expr.h"

namespace llvm {
class Value;
}  // namespace llvm

namespace burnish {

class FunctionValues {
 public:
  // A fingerprint of the tree; nothing where no part of it is computed by a series.
  static std::optional<uint64_t> KeyOf(const ExprNode& e);

  // What Keep was given for an equal tree under the same mask (loads under one are not those of
  // another); null: nothing.
  llvm::Value* Find(uint64_t key, const Expr& e, const llvm::Value* mask) const;
  void Keep(uint64_t key, Expr e, const llvm::Value* mask, llvm::Value* value);
  void Clear() { values_.clear(); }

 private:
  struct Emitted {
    Expr e;
    const llvm::Value* mask;
    llvm::Value* value;
  };
  std::unordered_multimap<uint64_t, Emitted> values_;
};

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_FUNCTION_VALUES_H_
