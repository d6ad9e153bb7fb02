// Expressions of the tensor program IR: index arithmetic and element values in one type.
//
// An Expr is an immutable tree that is shared freely between programs: variables and buffers are
// named by their position in the Program that owns them (VarId, BufferId), so that a Program is
// copied by value and its expressions keep their meaning in the copy.
#ifndef COMPILER_IR_EXPR_H_
#define COMPILER_IR_EXPR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "compiler/ir/dtype.h"

namespace burnish {

// Position in Program::vars and Program::buffers. -1 where none is meant.
using VarId = int32_t;
using BufferId = int32_t;

enum class ExprKind : uint8_t {
  kIntImm,    // int_value, of dtype
  kFloatImm,  // float_value, of dtype
  kVar,       // the value of variable `id`, i64
  kSelf,      // in a block's finish: the finished reduction value
  // Unary, one operand.
  kNeg,
  kAbs,
  kSqrt,
  kExp,
  kLog,
  kTanh,
  kErf,
  kSin,
  kCos,
  kFloor,
  kCeil,
  kRound,
  kSign,
  kNot,
  kIsNan,
  kCast,  // operand converted to dtype: floats to integers truncate, anything to bool is != 0
  // Binary, two operands of one dtype. Integer kDiv truncates; kFloorDiv and kMod round toward
  // minus infinity (kMod on floats is C's fmod). kMin and kMax return NaN if an operand is NaN.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kMin,
  kMax,
  kPow,
  kLt,
  kLe,
  kEq,
  kNe,
  kAnd,
  kOr,  // bool results
  // operands: condition, then, else. Only the chosen branch is evaluated.
  kSelect,
  kLoad,   // buffer `id` at operands (one i64 index a dimension)
  kTable,  // `table` at operands: a small constant array, part of the expression
  // operands: index, extent. An index in [-extent, -1] counts from the end; beyond that the kernel
  // returns a data error and the value is 0. For indices that are read from tensors.
  kBoundsCheck,
};

// A small constant array: matrices of transforms, extents of ragged loops. Row-major.
struct ConstTable {
  DType dtype = DType::kI64;
  std::vector<int64_t> shape;
  std::vector<double> values;  // Exact for every integer that is used as an index (< 2^53).
};

struct ExprNode;
using Expr = std::shared_ptr<const ExprNode>;

struct ExprNode {
  ExprKind kind;
  DType dtype;  // Of the value.
  int64_t int_value = 0;
  double float_value = 0;
  int32_t id = -1;  // VarId of kVar, BufferId of kLoad.
  std::shared_ptr<const ConstTable> table;
  std::vector<Expr> operands;
};

// ---- Constructors. They fold constants and drop neutral elements of *integer* arithmetic only;
// floating-point expressions are built as written.
Expr Int(int64_t value, DType dtype = DType::kI64);
Expr Float(double value, DType dtype = DType::kF32);
Expr Bool(bool value);
Expr VarRef(VarId var);
Expr Self(DType dtype);
Expr Unary(ExprKind kind, Expr operand);     // dtype of the operand; kNot and kIsNan give bool
Expr Binary(ExprKind kind, Expr a, Expr b);  // CHECKs that the dtypes agree
Expr Cast(DType dtype, Expr operand);
Expr Select(Expr condition, Expr if_true, Expr if_false);
Expr Load(BufferId buffer, DType dtype, std::vector<Expr> indices);
Expr TableLoad(std::shared_ptr<const ConstTable> table, std::vector<Expr> indices);
Expr BoundsCheck(Expr index, Expr extent);

inline Expr operator+(Expr a, Expr b) { return Binary(ExprKind::kAdd, std::move(a), std::move(b)); }
inline Expr operator-(Expr a, Expr b) { return Binary(ExprKind::kSub, std::move(a), std::move(b)); }
inline Expr operator*(Expr a, Expr b) { return Binary(ExprKind::kMul, std::move(a), std::move(b)); }
inline Expr operator+(Expr a, int64_t b) { return std::move(a) + Int(b); }
inline Expr operator-(Expr a, int64_t b) { return std::move(a) - Int(b); }
inline Expr operator*(Expr a, int64_t b) { return std::move(a) * Int(b); }
inline Expr FloorDiv(Expr a, Expr b) {
  return Binary(ExprKind::kFloorDiv, std::move(a), std::move(b));
}
inline Expr FloorDiv(Expr a, int64_t b) { return FloorDiv(std::move(a), Int(b)); }
inline Expr Mod(Expr a, Expr b) { return Binary(ExprKind::kMod, std::move(a), std::move(b)); }
inline Expr Mod(Expr a, int64_t b) { return Mod(std::move(a), Int(b)); }
inline Expr Min(Expr a, Expr b) { return Binary(ExprKind::kMin, std::move(a), std::move(b)); }
inline Expr Max(Expr a, Expr b) { return Binary(ExprKind::kMax, std::move(a), std::move(b)); }
inline Expr Lt(Expr a, Expr b) { return Binary(ExprKind::kLt, std::move(a), std::move(b)); }
inline Expr Le(Expr a, Expr b) { return Binary(ExprKind::kLe, std::move(a), std::move(b)); }
inline Expr Eq(Expr a, Expr b) { return Binary(ExprKind::kEq, std::move(a), std::move(b)); }
inline Expr And(Expr a, Expr b) { return Binary(ExprKind::kAnd, std::move(a), std::move(b)); }

// ---- Queries.
inline bool IsInt(const Expr& e, int64_t value) {
  return e->kind == ExprKind::kIntImm && e->int_value == value;
}
inline bool IsConstInt(const Expr& e) { return e->kind == ExprKind::kIntImm; }
bool IsUnary(ExprKind kind);
bool IsBinary(ExprKind kind);

// Same tree, node for node (tables by value).
bool StructurallyEqual(const Expr& a, const Expr& b);

// Calls `visit` on every node, operands first.
void VisitExpr(const Expr& e, const std::function<void(const ExprNode&)>& visit);

// Rebuilds `e` bottom-up: `rewrite` sees each node after its operands were rewritten and returns
// its replacement, or null to keep it. Untouched subtrees are shared with `e`.
Expr RewriteExpr(const Expr& e, const std::function<Expr(const Expr&)>& rewrite);

// Replaces variables: `value(var)` gives the replacement, or null to keep the variable.
Expr SubstituteVars(const Expr& e, const std::function<Expr(VarId)>& value);

// Variables that `e` mentions, sorted, each once.
std::vector<VarId> FreeVars(const Expr& e);
bool MentionsVar(const Expr& e, VarId var);

}  // namespace burnish

#endif  // COMPILER_IR_EXPR_H_
