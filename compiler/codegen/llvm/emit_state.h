// What the emitters of one function share: where code goes, what variables and buffers are there.
#ifndef COMPILER_CODEGEN_LLVM_EMIT_STATE_H_
#define COMPILER_CODEGEN_LLVM_EMIT_STATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "compiler/codegen/llvm/math_emitter.h"
#include "compiler/codegen/llvm/small_float_emitter.h"
#include "compiler/ir/program.h"
#include "compiler/ir/simplify.h"

namespace llvm {
class IRBuilderBase;
class Instruction;
class MDNode;
class Type;
class Value;
}  // namespace llvm

namespace burnish {

// The value of a loop variable at the point of emission.
struct VarBinding {
  bool bound = false;
  llvm::Value* value = nullptr;  // i64; null: the value is `constant`.
  int64_t constant = 0;
  Range range;    // Of `value`.
  int depth = 0;  // Run-time loops around it: addresses are summed from the outside in.
};

// Rows of register arrays are multiples of so many elements where the target masks lanes: of the
// widest vector of floats.
inline constexpr int64_t kRegisterRowLanes = 16;

// A buffer as the function sees it.
struct BufferBinding {
  llvm::Value* pointer = nullptr;  // Start of the allocation; null: unknown to this function.
  llvm::MDNode* scope = nullptr;   // alias.scope and noalias of its accesses; null: none.
  llvm::MDNode* not_aliased = nullptr;
  int64_t alignment_bytes = 1;
  bool in_registers = false;  // An alloca: accesses need constant indices, then it dissolves.
  bool read_only = false;     // Nobody writes it while the function runs.
};

// A region of code in which what was computed before stays valid: a loop's body or a branch.
struct EmitScope {
  int depth = 0;  // Run-time loops around it.
  // Of a loop: the jump into it. Code before it runs once per entry of the loop.
  llvm::Instruction* entry = nullptr;
  // Addresses and indices by a key that says all about them.
  std::unordered_map<std::string, llvm::Value*> values;
  // Columns of squares that were read whole, by a key likewise.
  std::unordered_map<std::string, std::vector<llvm::Value*>> squares;
};

struct EmitState {
  llvm::IRBuilderBase* builder = nullptr;
  const Program* program = nullptr;
  std::vector<VarBinding> vars;  // By VarId.
  std::vector<BufferBinding> buffers;
  // The vectorized variable has the values binding + <0, 1, .. lanes-1>. -1 and 1: none.
  VarId vector_var = -1;
  int lanes = 1;
  // Of the lanes, those that have an element: memory behind them is not touched. 0: all.
  int tail = 0;
  // Where it is false (i1 or <lanes x i1>) loads must not touch memory and data errors do not
  // count: the branches of selects are evaluated without jumps. Null: true everywhere.
  llvm::Value* mask = nullptr;
  // Of loops that are written out around the point of emission, outermost first.
  struct Unrolled {
    const Node* node = nullptr;
    int64_t extent = 0;
  };
  std::vector<Unrolled> unrolled;
  llvm::Value* error_flag = nullptr;  // Alloca of the return code.
  // From the function to here. Unrolled code asks for the same addresses again and again: they are
  // computed once, outside of the loops that they do not depend on.
  std::vector<EmitScope> scopes;
  bool single_lane = false;  // In ForEachLane: variables have values of their own for a moment.
  std::map<const ConstTable*, llvm::Value*> tables;  // Arrays that are in the module already.
  SmallFloatUnits small_floats;                      // What the target converts by itself.
  MathUnits math;
  bool prefetches_through_l1 = false;  // What is asked for into L2 is asked for into L1.
  bool masks_lanes = false;            // Its loads and stores leave lanes out at no cost.
  int integer_vector_bits = 128;       // Of its widest vectors of 16-bit integers.
  int dot4_bits = 0;                   // Of the widest sums of four products of bytes; 0: none.
  bool folds_zeros = false;            // The program's algorithm takes 0 * x for 0 and 0 + x for x.
  int64_t store_count = 0;
  absl::Status status;  // The first error: INVALID_ARGUMENT.

  // Bounds of variables here: what is unrolled is a constant.
  VarRanges Ranges() const;
  // Records an error, unless there is one already.
  void Fail(const std::string& message);
};

}  // namespace burnish

#endif  // COMPILER_CODEGEN_LLVM_EMIT_STATE_H_
