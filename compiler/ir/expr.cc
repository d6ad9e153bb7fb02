#include "compiler/ir/expr.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "compiler/ir/block_allocator.h"
#include "compiler/ir/expr_kinds.h"

namespace burnish {
namespace {

Expr Make(ExprNode node) {
  return std::allocate_shared<const ExprNode>(BlockAllocator<ExprNode>(), std::move(node));
}

// The value of an operation on constants of an integer type; null where it is left to run time:
// where it is undefined, for powers, and for divisions by -1, whose quotient may not fit (texts
// that name workloads hold what was folded, and what was not).
Expr FoldInt(ExprKind kind, int64_t a, int64_t b, DType dtype) {
  if (kind == ExprKind::kPow || (DividesIntegers(kind) && (b == 0 || b == -1))) return nullptr;
  const int64_t value = IntBinaryOf(kind, dtype, a, b);
  return InfoOf(kind).gives_bool ? Bool(value != 0) : Int(value, dtype);
}

// Neutral and absorbing elements of integer arithmetic; null where none applies.
Expr FoldNeutral(ExprKind kind, const Expr& a, const Expr& b) {
  switch (kind) {
    case ExprKind::kAdd:
      if (IsInt(a, 0)) return b;
      if (IsInt(b, 0)) return a;
      return nullptr;
    case ExprKind::kSub:
      return IsInt(b, 0) ? a : nullptr;
    case ExprKind::kMul:
      if (IsInt(a, 0) || IsInt(b, 1)) return a;
      if (IsInt(b, 0) || IsInt(a, 1)) return b;
      return nullptr;
    case ExprKind::kDiv:
    case ExprKind::kFloorDiv:
      return IsInt(b, 1) ? a : nullptr;
    case ExprKind::kMod:
      return IsInt(b, 1) ? Int(0, a->dtype) : nullptr;
    case ExprKind::kAnd:
      if (IsInt(a, 1)) return b;
      if (IsInt(b, 1)) return a;
      if (IsInt(a, 0) || IsInt(b, 0)) return Bool(false);
      return nullptr;
    case ExprKind::kOr:
      if (IsInt(a, 0)) return b;
      if (IsInt(b, 0)) return a;
      if (IsInt(a, 1) || IsInt(b, 1)) return Bool(true);
      return nullptr;
    default:
      return nullptr;
  }
}

// The storage type that two values of f32 are both of; nothing where there is none.
std::optional<DType> StoredAs(const Expr& a, const Expr& b) {
  std::optional<DType> stored;
  for (const Expr& e : {a, b}) {
    if (e->kind != ExprKind::kCast || !IsStorageFloat(e->operands[0]->dtype)) continue;
    const DType dtype = e->operands[0]->dtype;
    if (stored.has_value() && dtype != *stored) return std::nullopt;
    stored = dtype;
  }
  if (!stored.has_value()) return std::nullopt;
  for (const Expr& e : {a, b}) {
    const bool is_cast = e->kind == ExprKind::kCast && e->operands[0]->dtype == *stored;
    const bool fits =
        e->kind == ExprKind::kFloatImm && RoundToStorage(*stored, e->float_value) == e->float_value;
    if (!is_cast && !fits) return std::nullopt;
  }
  return stored;
}

}  // namespace

Expr Int(int64_t value, DType dtype) {
  CHECK(!IsFloat(dtype));
  return Make({.kind = ExprKind::kIntImm, .dtype = dtype, .int_value = value});
}

Expr Float(double value, DType dtype) {
  CHECK(IsFloat(dtype));
  return Make(
      {.kind = ExprKind::kFloatImm, .dtype = dtype, .float_value = RoundToStorage(dtype, value)});
}

Expr Bool(bool value) { return Int(value ? 1 : 0, DType::kBool); }

Expr VarRef(VarId var) { return Make({.kind = ExprKind::kVar, .dtype = DType::kI64, .id = var}); }

Expr Self(DType dtype) { return Make({.kind = ExprKind::kSelf, .dtype = dtype}); }

bool IsUnary(ExprKind kind) { return kind >= ExprKind::kNeg && kind <= ExprKind::kCast; }
bool IsBinary(ExprKind kind) { return kind >= ExprKind::kAdd && kind <= ExprKind::kOr; }

Expr Unary(ExprKind kind, Expr operand) {
  CHECK(IsUnary(kind) && kind != ExprKind::kCast);
  const DType dtype = InfoOf(kind).gives_bool ? DType::kBool : operand->dtype;
  if (IsConstInt(operand)) {
    if (kind == ExprKind::kNot) return Bool(operand->int_value == 0);
    if (kind == ExprKind::kNeg) return Int(0, dtype) - operand;
  }
  return Make({.kind = kind, .dtype = dtype, .operands = {std::move(operand)}});
}

Expr Binary(ExprKind kind, Expr a, Expr b) {
  CHECK(IsBinary(kind));
  CHECK(a->dtype == b->dtype);
  const DType dtype = InfoOf(kind).gives_bool ? DType::kBool : a->dtype;
  if (!IsFloat(a->dtype)) {
    if (IsConstInt(a) && IsConstInt(b)) {
      if (Expr folded = FoldInt(kind, a->int_value, b->int_value, a->dtype)) return folded;
    }
    if (Expr folded = FoldNeutral(kind, a, b)) return folded;
  }
  // Not from a list in braces: that would copy what may be moved.
  std::vector<Expr> operands;
  operands.reserve(2);
  operands.push_back(std::move(a));
  operands.push_back(std::move(b));
  return Make({.kind = kind, .dtype = dtype, .operands = std::move(operands)});
}

Expr Cast(DType dtype, Expr operand) {
  const DType from = operand->dtype;
  if (from == dtype) return operand;
  if (IsConstInt(operand) && dtype == DType::kI64) return Int(operand->int_value);
  // Storage types know f32 alone, so that each conversion is defined once.
  if (IsStorageFloat(dtype)) {
    if (from != DType::kF32) return Cast(dtype, Cast(DType::kF32, std::move(operand)));
    // There and back: each value of the type is one of f32.
    if (operand->kind == ExprKind::kCast && operand->operands[0]->dtype == dtype) {
      return operand->operands[0];
    }
    if (operand->kind == ExprKind::kFloatImm) return Float(operand->float_value, dtype);
  } else if (IsStorageFloat(from)) {
    if (dtype != DType::kF32) return Cast(dtype, Cast(DType::kF32, std::move(operand)));
    if (operand->kind == ExprKind::kFloatImm) return Float(operand->float_value);
  }
  return Make({.kind = ExprKind::kCast, .dtype = dtype, .operands = {std::move(operand)}});
}

Expr Select(Expr condition, Expr if_true, Expr if_false) {
  CHECK(if_true->dtype == if_false->dtype);
  if (IsConstInt(condition)) return condition->int_value != 0 ? if_true : if_false;
  // Chosen as it is stored, and widened once: a pad then is one of 16-bit numbers.
  if (const std::optional<DType> stored = StoredAs(if_true, if_false)) {
    return Cast(DType::kF32, Select(std::move(condition), Cast(*stored, std::move(if_true)),
                                    Cast(*stored, std::move(if_false))));
  }
  const DType dtype = if_true->dtype;
  return Make({.kind = ExprKind::kSelect,
               .dtype = dtype,
               .operands = {std::move(condition), std::move(if_true), std::move(if_false)}});
}

Expr Load(BufferId buffer, DType dtype, std::vector<Expr> indices) {
  return Make(
      {.kind = ExprKind::kLoad, .dtype = dtype, .id = buffer, .operands = std::move(indices)});
}

Expr TableLoad(std::shared_ptr<const ConstTable> table, std::vector<Expr> indices) {
  CHECK_EQ(table->shape.size(), indices.size());
  int64_t flat = 0;
  bool constant = true;
  for (size_t d = 0; d < indices.size(); ++d) {
    constant = constant && IsConstInt(indices[d]);
    if (constant) flat = flat * table->shape[d] + indices[d]->int_value;
  }
  const DType dtype = table->dtype;
  if (constant && flat >= 0 && flat < static_cast<int64_t>(table->values.size())) {
    const double value = table->values[flat];
    return IsFloat(dtype) ? Float(value, dtype) : Int(static_cast<int64_t>(value), dtype);
  }
  return Make({.kind = ExprKind::kTable,
               .dtype = dtype,
               .table = std::move(table),
               .operands = std::move(indices)});
}

Expr BoundsCheck(Expr index, Expr extent) {
  return Make({.kind = ExprKind::kBoundsCheck,
               .dtype = DType::kI64,
               .operands = {std::move(index), std::move(extent)}});
}

bool StructurallyEqual(const Expr& a, const Expr& b) {
  if (a == b) return true;
  if (a == nullptr || b == nullptr) return false;
  if (a->kind != b->kind || a->dtype != b->dtype || a->int_value != b->int_value ||
      a->id != b->id || a->operands.size() != b->operands.size()) {
    return false;
  }
  // NaN constants are equal to themselves here: this compares trees, not values.
  if (a->float_value != b->float_value &&
      !(a->float_value != a->float_value && b->float_value != b->float_value)) {
    return false;
  }
  if (a->table != b->table) {
    if (a->table == nullptr || b->table == nullptr || a->table->dtype != b->table->dtype ||
        a->table->shape != b->table->shape || a->table->values != b->table->values) {
      return false;
    }
  }
  for (size_t i = 0; i < a->operands.size(); ++i) {
    if (!StructurallyEqual(a->operands[i], b->operands[i])) return false;
  }
  return true;
}

void VisitExpr(const Expr& e, const std::function<void(const ExprNode&)>& visit) {
  if (e == nullptr) return;
  for (const Expr& operand : e->operands) VisitExpr(operand, visit);
  visit(*e);
}

namespace {

// The node with new operands, through the folding constructors.
Expr Rebuild(const ExprNode& node, std::vector<Expr> operands) {
  switch (node.kind) {
    case ExprKind::kSelect:
      return Select(operands[0], operands[1], operands[2]);
    case ExprKind::kLoad:
      return Load(node.id, node.dtype, std::move(operands));
    case ExprKind::kTable:
      return TableLoad(node.table, std::move(operands));
    case ExprKind::kBoundsCheck:
      return BoundsCheck(operands[0], operands[1]);
    case ExprKind::kCast:
      return Cast(node.dtype, operands[0]);
    default:
      return IsUnary(node.kind) ? Unary(node.kind, operands[0])
                                : Binary(node.kind, operands[0], operands[1]);
  }
}

}  // namespace

namespace {

// Null where nothing changed: most of a tree is kept, and counting its references costs more than
// looking at it.
Expr RewriteOrNull(const Expr& e, const std::function<Expr(const Expr&)>& rewrite) {
  std::vector<Expr> operands;  // Empty until one changes.
  for (size_t i = 0; i < e->operands.size(); ++i) {
    Expr operand = RewriteOrNull(e->operands[i], rewrite);
    if (operand == nullptr || operand == e->operands[i]) continue;
    if (operands.empty()) operands = e->operands;
    operands[i] = std::move(operand);
  }
  if (operands.empty()) return rewrite(e);
  Expr current = Rebuild(*e, std::move(operands));
  Expr replacement = rewrite(current);
  return replacement == nullptr ? current : replacement;
}

}  // namespace

Expr RewriteExpr(const Expr& e, const std::function<Expr(const Expr&)>& rewrite) {
  if (e == nullptr) return e;
  Expr rewritten = RewriteOrNull(e, rewrite);
  return rewritten == nullptr ? e : rewritten;
}

namespace {

// Null: nothing changes. By itself, and not by RewriteExpr: it is half of what lowering does to an
// index, and a variable that folding leaves over is not substituted again.
Expr SubstituteOrNull(const Expr& e, const std::function<Expr(VarId)>& value) {
  if (e->kind == ExprKind::kVar) return value(e->id);
  std::vector<Expr> operands;  // Empty until one changes.
  for (size_t i = 0; i < e->operands.size(); ++i) {
    Expr operand = SubstituteOrNull(e->operands[i], value);
    if (operand == nullptr) continue;
    if (operands.empty()) operands = e->operands;
    operands[i] = std::move(operand);
  }
  return operands.empty() ? nullptr : Rebuild(*e, std::move(operands));
}

}  // namespace

Expr SubstituteVars(const Expr& e, const std::function<Expr(VarId)>& value) {
  if (e == nullptr) return e;
  Expr substituted = SubstituteOrNull(e, value);
  return substituted == nullptr ? e : substituted;
}

namespace {

void CollectVars(const ExprNode& e, std::vector<VarId>& vars) {
  if (e.kind == ExprKind::kVar) vars.push_back(e.id);
  for (const Expr& operand : e.operands) CollectVars(*operand, vars);
}

bool Mentions(const ExprNode& e, VarId var) {
  if (e.kind == ExprKind::kVar) return e.id == var;
  for (const Expr& operand : e.operands) {
    if (Mentions(*operand, var)) return true;
  }
  return false;
}

}  // namespace

std::vector<VarId> FreeVars(const Expr& e) {
  std::vector<VarId> vars;
  if (e == nullptr) return vars;
  CollectVars(*e, vars);
  std::sort(vars.begin(), vars.end());
  vars.erase(std::unique(vars.begin(), vars.end()), vars.end());
  return vars;
}

bool MentionsVar(const Expr& e, VarId var) { return e != nullptr && Mentions(*e, var); }

}  // namespace burnish
