// What each kind of expression is and means: one table, a row a kind. Folding, simplifying, the
// interpreter, constant folding of graphs, text, types, cost models and the canonical form read it.
//
// Two places say the same again, on purpose, so that each can be tested against this one: the
// verifier's ranges (index_space.h) and the checker's values (worker/runner/expr_value.h). Code
// generators have to say it in their own language.
#ifndef COMPILER_IR_EXPR_KINDS_H_
#define COMPILER_IR_EXPR_KINDS_H_

#include <cstdint>

#include "compiler/ir/expr.h"

namespace burnish {

// What operands may be. Operands of one expression have one type, but for those of kAny.
enum class OperandTypes : uint8_t {
  kAny,      // The verifier has a rule for the kind.
  kValues,   // Any type, bool too.
  kNumbers,  // Any type but bool.
  kFloats,
  kIntegers,  // Not bool.
  kBools,
};

// What an operation costs, as far as a cost model tells apart. Of integers all are kInteger, but
// for comparisons, logic and functions.
enum class CostClass : uint8_t {
  kFree,  // Constants, variables, loads (which are counted by themselves), rounding.
  kAdd,
  kMultiply,
  kMinMax,
  kNegate,  // Changes the sign only.
  kSelect,
  kCast,
  kDivide,    // And the square root: one instruction of tens of cycles.
  kFunction,  // Computed by a series.
  kPower,
  kInteger,  // Also of floats.
  kCompare,
};

// Null: not an operation on these types. Integers are 64 bits wide and wrap; the caller wraps the
// result to a narrower type. Bools are 0 or 1.
struct ExprMeaning {
  int64_t (*int_unary)(int64_t) = nullptr;
  int64_t (*int_binary)(int64_t, int64_t) = nullptr;  // kDiv, kFloorDiv, kMod: not by 0.
  double (*float_unary)(double) = nullptr;
  double (*float_binary)(double, double) = nullptr;
  bool (*float_test)(double, double) = nullptr;  // kIsNan and kNot pass their operand twice.
};

struct ExprKindInfo {
  ExprKind kind;
  const char* call = nullptr;   // Name in text where it is spelled name(operands).
  const char* infix = nullptr;  // Operator in text.
  int infix_level = 0;          // Binds tighter than lower ones; 1 to 5.
  int operand_count = 0;        // -1: as many as the buffer or table has dimensions.
  OperandTypes operands = OperandTypes::kAny;
  bool gives_bool = false;  // Else the operands' type, but for kinds of OperandTypes::kAny.
  CostClass cost = CostClass::kFree;
  // The canonical form of workloads does not compute such a value again. Part of workload/2, like
  // the names: never changed for a kind that exists, whatever it costs.
  bool is_function = false;
  ExprMeaning meaning = {};
};

const ExprKindInfo& InfoOf(ExprKind kind);
inline constexpr int kExprKindCount = static_cast<int>(ExprKind::kBoundsCheck) + 1;

// Quotient and remainder of division that rounds toward minus infinity; b is not 0. By -1 they
// wrap.
int64_t FloorDivide(int64_t a, int64_t b);
int64_t FloorModulo(int64_t a, int64_t b);

// What an operation gives on integers of `type`, as they are computed (dtype.h). The meanings above
// are those of int64_t; a u64 has an order, quotients and powers of its own. Not wrapped to the
// type.
int64_t IntUnaryOf(ExprKind kind, DType type, int64_t a);
int64_t IntBinaryOf(ExprKind kind, DType type, int64_t a, int64_t b);

// Whether the operation is undefined at b = 0 where operands are integers.
inline bool DividesIntegers(ExprKind kind) {
  return kind == ExprKind::kDiv || kind == ExprKind::kFloorDiv || kind == ExprKind::kMod;
}

}  // namespace burnish

#endif  // COMPILER_IR_EXPR_KINDS_H_
