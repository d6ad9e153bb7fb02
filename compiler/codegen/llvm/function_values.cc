#include "compiler/codegen/llvm/function_values.h"

#include <bit>
#include <utility>

#include "compiler/ir/expr_kinds.h"

namespace burnish {
namespace {

// Of the tree's structure; sets `holds_function` where a part is computed by a series.
uint64_t Fingerprint(const ExprNode& e, bool& holds_function) {
  const CostClass cost = InfoOf(e.kind).cost;
  const bool is_remainder = e.kind == ExprKind::kMod && IsFloat(e.dtype);
  holds_function =
      holds_function || is_remainder || cost == CostClass::kFunction || cost == CostClass::kPower;
  constexpr uint64_t kPrime = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio.
  uint64_t hash = static_cast<uint64_t>(e.kind) * 64 + static_cast<uint64_t>(e.dtype);
  const auto mix = [&](uint64_t value) { hash = std::rotl(hash ^ value, 23) * kPrime; };
  mix(static_cast<uint64_t>(e.int_value));
  mix(std::bit_cast<uint64_t>(e.float_value));
  mix(static_cast<uint64_t>(e.id));
  for (const Expr& operand : e.operands) mix(Fingerprint(*operand, holds_function));
  return hash;
}

}  // namespace

std::optional<uint64_t> FunctionValues::KeyOf(const ExprNode& e) {
  bool holds_function = false;
  const uint64_t key = Fingerprint(e, holds_function);
  return holds_function ? std::optional(key) : std::nullopt;
}

llvm::Value* FunctionValues::Find(uint64_t key, const Expr& e, const llvm::Value* mask) const {
  const auto [begin, end] = values_.equal_range(key);
  for (auto it = begin; it != end; ++it) {
    if (it->second.mask == mask && StructurallyEqual(it->second.e, e)) return it->second.value;
  }
  return nullptr;
}

void FunctionValues::Keep(uint64_t key, Expr e, const llvm::Value* mask, llvm::Value* value) {
  values_.emplace(key, Emitted{std::move(e), mask, value});
}

}  // namespace burnish
