#include "compiler/codegen/llvm/address_emitter.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/llvm/expr_emitter.h"
#include "compiler/ir/access.h"
#include "compiler/ir/expr_kinds.h"
#include "llvm/IR/IRBuilder.h"

namespace burnish {
namespace {

bool IsVar(const Expr& atom, VarId var) { return atom->kind == ExprKind::kVar && atom->id == var; }

void AppendNumber(int64_t number, std::string& key) {
  key.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Appends what tells `e` from every other index expression. False when its value may differ from
// one place to another, or when it must not be computed where it is not asked for.
bool AppendKey(const Expr& e, std::string& key) {
  key.push_back(static_cast<char>(e->kind));
  AppendNumber(e->kind == ExprKind::kVar ? e->id : e->int_value, key);
  bool movable = IsUnary(e->kind) || IsBinary(e->kind) || e->kind == ExprKind::kVar ||
                 e->kind == ExprKind::kIntImm || e->kind == ExprKind::kSelect;
  // A division by anything but a constant may record a data error.
  if (e->kind == ExprKind::kDiv || e->kind == ExprKind::kFloorDiv || e->kind == ExprKind::kMod) {
    movable = movable && IsConstInt(e->operands[1]) && e->operands[1]->int_value > 0;
  }
  for (const Expr& operand : e->operands) movable = AppendKey(operand, key) && movable;
  return movable && !IsFloat(e->dtype);
}

}  // namespace

llvm::Type* MemoryType(llvm::IRBuilderBase& b, DType type) {
  if (type == DType::kF32) return b.getFloatTy();
  if (type == DType::kF64) return b.getDoubleTy();
  return b.getIntNTy(static_cast<unsigned>(SizeBytes(type)) * 8);
}

bool AppendKey(const LinearForm& form, std::string& key) {
  bool movable = true;
  for (const auto& [atom, coefficient] : form.terms) {
    AppendNumber(coefficient, key);
    movable = AppendKey(atom, key) && movable;
  }
  return movable;
}

LaneAddress AddressEmitter::Of(BufferId buffer, const std::vector<Expr>& indices) const {
  LaneAddress address{
      .first = AddressOf(state_.program->buffers[buffer].storage, indices, state_.Ranges()),
      .step = 0};
  if (state_.lanes == 1) return address;
  const VarId var = state_.vector_var;
  address.step = address.first.StepOf(var);
  // A constant base becomes part of the constant, so that the access needs no register.
  const VarBinding& base = state_.vars[var];
  if (base.value == nullptr && address.step.value_or(0) != 0) {
    address.first.constant += *address.step * base.constant;
    auto& terms = address.first.terms;
    terms.erase(std::remove_if(terms.begin(), terms.end(),
                               [&](const auto& term) { return IsVar(term.first, var); }),
                terms.end());
  }
  return address;
}

// The vectorized variable stands for its first lane.
llvm::Value* AddressEmitter::Index(const LinearForm& form) {
  llvm::IRBuilderBase& b = *state_.builder;
  const int lanes = std::exchange(state_.lanes, 1);
  llvm::Value* sum = b.getInt64(form.constant);
  for (const auto& [atom, coefficient] : form.terms) {
    sum = b.CreateAdd(sum, b.CreateMul(expressions_.Emit(atom), b.getInt64(coefficient)));
  }
  state_.lanes = lanes;
  return sum;
}

// The pointer plus so many elements, where all variables of `part` are bound in loops of at most
// `depth`. Computed once, before the first loop that it does not depend on.
llvm::Value* AddressEmitter::Advance(BufferId buffer, llvm::Value* pointer, const LinearForm& part,
                                     int depth) {
  llvm::IRBuilderBase& b = *state_.builder;
  llvm::Type* const type = MemoryType(b, state_.program->buffers[buffer].dtype);
  std::string key(reinterpret_cast<const char*>(&pointer), sizeof(pointer));
  const bool movable = AppendKey(part, key) && !state_.single_lane;
  if (!movable) return b.CreateInBoundsGEP(type, pointer, Index(part));
  size_t inside = 1;  // The first scope that is too deep.
  while (inside < state_.scopes.size() &&
         (state_.scopes[inside].entry == nullptr || state_.scopes[inside].depth <= depth)) {
    ++inside;
  }
  for (size_t i = 0; i < inside; ++i) {
    const auto found = state_.scopes[i].values.find(key);
    if (found != state_.scopes[i].values.end()) return found->second;
  }
  const llvm::IRBuilderBase::InsertPointGuard restore(b);
  if (inside < state_.scopes.size()) b.SetInsertPoint(state_.scopes[inside].entry);
  llvm::Value* const moved = b.CreateInBoundsGEP(type, pointer, Index(part));
  state_.scopes[inside - 1].values.emplace(std::move(key), moved);
  return moved;
}

llvm::Value* AddressEmitter::Pointer(BufferId buffer, const LinearForm& form, llvm::Value* guard) {
  llvm::IRBuilderBase& b = *state_.builder;
  const BufferBinding& binding = state_.buffers[buffer];
  llvm::Type* const type = MemoryType(b, state_.program->buffers[buffer].dtype);
  if (guard != nullptr) {
    llvm::Value* const index = b.CreateSelect(guard, Index(form), b.getInt64(0));
    return b.CreateInBoundsGEP(type, binding.pointer, index);
  }
  if (binding.in_registers && !form.terms.empty()) {
    state_.Fail(absl::StrCat("register buffer ", state_.program->buffers[buffer].name,
                             " has an index that is not constant after unrolling"));
  }
  // From the outermost loop to the innermost, the constant last: what does not change in a loop is
  // added before it, and neighbouring accesses differ by a displacement only. Terms that cannot be
  // moved come last: a sum that was moved before a loop cannot use a value from inside it.
  std::map<int, LinearForm> by_depth;
  for (const auto& term : form.terms) {
    std::string key;
    int depth = AppendKey(term.first, key) ? 0 : std::numeric_limits<int>::max();
    for (VarId var : FreeVars(term.first)) depth = std::max(depth, state_.vars[var].depth);
    by_depth[depth].terms.push_back(term);
  }
  llvm::Value* pointer = binding.pointer;
  for (const auto& [depth, part] : by_depth) pointer = Advance(buffer, pointer, part, depth);
  if (form.constant == 0) return pointer;
  return b.CreateInBoundsGEP(type, pointer, b.getInt64(form.constant));
}

llvm::Value* AddressEmitter::PointerAnywhere(BufferId buffer, const LinearForm& form) {
  llvm::IRBuilderBase& b = *state_.builder;
  return b.CreateGEP(MemoryType(b, state_.program->buffers[buffer].dtype),
                     state_.buffers[buffer].pointer, Index(form));
}

uint64_t AddressEmitter::Alignment(BufferId buffer, const LinearForm& form) const {
  const int64_t size = SizeBytes(state_.program->buffers[buffer].dtype);
  int64_t bytes = state_.buffers[buffer].alignment_bytes;
  bytes = std::gcd(bytes, form.constant * size);
  for (const auto& [atom, coefficient] : form.terms) {
    int64_t step = coefficient * size;
    // The first lane of a vector loop is a multiple of its lanes.
    if (state_.lanes > 1 && IsVar(atom, state_.vector_var)) step *= state_.lanes;
    bytes = std::gcd(bytes, step);
  }
  return static_cast<uint64_t>(bytes);
}

}  // namespace burnish
