// Private to the interpreter: expressions as flat code, and the memory that they read.
//
// An expression is compiled once to postfix code over numbered slots (operand k of an operation at
// slot `a` lies in slot a + k, the result replaces slot a), then run many times. Nothing here
// simplifies: the code does what the expression says, in its order.
#ifndef COMPILER_IR_INTERPRETER_CODE_H_
#define COMPILER_IR_INTERPRETER_CODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compiler/ir/program.h"

namespace burnish::interpreter {

// `f` for floats (f32 and f64 are kept in double, unrounded; a storage type holds what it can), `i`
// for all other types.
union Value {
  double f;
  int64_t i;
};

struct Slot {
  Value value;
  double magnitude;  // Valid only when magnitudes are asked for; see interpreter_code.cc.
};

// kPartial: a reduction has begun here and has not finished; only its own block may read it.
enum class CellState : uint8_t { kUnwritten, kPartial, kWritten };

// One buffer, row-major over its shape widened by its border, whatever its storage is.
struct Cells {
  const Buffer* buffer = nullptr;
  std::vector<int64_t> low;    // Border below, one a dimension.
  std::vector<int64_t> sizes;  // shape + both borders
  std::vector<int64_t> strides;
  std::vector<Value> values;
  std::vector<double> magnitudes;  // Empty unless asked for.
  std::vector<CellState> states;

  Cells(const Buffer& buffer, bool magnitudes);
  // Position of the element at `indices` (index k in slot k), -1 where it is outside.
  int64_t Offset(const Slot* indices) const {
    int64_t offset = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const int64_t index = indices[d].value.i + low[d];
      if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(sizes[d])) return -1;
      offset += index * strides[d];
    }
    return offset;
  }
  // Calls visit(offset) for each element of the shape (not the border), row-major.
  template <typename Visitor>
  void ForEachElement(const Visitor& visit) const {
    const int rank = static_cast<int>(sizes.size());
    if (ElementCount(buffer->shape) == 0) return;
    std::vector<int64_t> at(rank, 0);
    while (true) {
      int64_t offset = 0;
      for (int d = 0; d < rank; ++d) offset += (at[d] + low[d]) * strides[d];
      visit(offset);
      int d = rank - 1;
      while (d >= 0 && ++at[d] == buffer->shape[d]) at[d--] = 0;
      if (d < 0) return;
    }
  }
  void Forget() { std::fill(states.begin(), states.end(), CellState::kUnwritten); }
};

enum class Op : uint8_t {
  kConst,
  kVar,
  kSetVar,  // Variable id = slot a.
  kSelf,
  kJump,
  kJumpIfZero,
  kLoad,
  kTable,
  kBoundsCheck,
  kWrap,  // Slot a to the range of dtype.
  kAddInt,
  kSubInt,
  kMulInt,
  kAddFloat,
  kSubFloat,
  kMulFloat,
  kCast,
  // By `kind`:
  kIntUnary,
  kIntBinary,
  kFloatUnary,
  kFloatBinary,
  kFloatCompare,  // Float operands, bool result.
};

struct InterpreterInstruction {
  Op op;
  ExprKind kind;
  DType dtype;      // Of the result.
  DType from;       // kCast: of the operand.
  int32_t a = 0;    // Slot of the first operand and of the result.
  int32_t id = -1;  // Variable or buffer; target of a jump.
  Value constant = {.i = 0};
  const ConstTable* table = nullptr;  // Lives as long as the program.
};

// The results of `exprs` are left in slots 0, 1, ..
struct Code {
  std::vector<InterpreterInstruction> instructions;
  bool empty() const { return instructions.empty(); }
};

// Everything that running code touches.
struct Machine {
  explicit Machine(const Program& program, bool with_magnitudes);

  const Program& program;
  const bool with_magnitudes;
  std::vector<int64_t> vars;  // Current values, by VarId.
  std::vector<Cells> cells;   // By BufferId.
  std::vector<Slot> slots;    // Sized by Compile.
  Slot self = {};
  absl::Status status;  // Of the first failure.
};

// Appends code for `exprs`. Variables are read from Machine::vars, defined ones too: SetVars must
// have run before.
void Compile(Machine& machine, absl::Span<const Expr> exprs, Code& code);
// Code that evaluates the defs of all variables that `vars` are made of, operands first, into
// Machine::vars. `order`: the variables that get a value.
Code CompileDefs(Machine& machine, absl::Span<const VarId> vars, std::vector<VarId>* order);

// False when it failed; `machine.status` then says why. Leaves results in machine.slots.
bool Run(const Code& code, Machine& machine);

// Combines two values of `dtype` as a block's or a store's combiner does.
Slot CombineSlots(Combiner combiner, DType dtype, const Slot& a, const Slot& b);

}  // namespace burnish::interpreter

#endif  // COMPILER_IR_INTERPRETER_CODE_H_
