#include "worker/runner/parameter_plan.h"

#include <algorithm>
#include <map>

#include "compiler/ir/contract.h"

namespace burnish {
namespace {

struct Range {
  int64_t low = 0;
  int64_t high = 0;
};

Range RangeOf(DType type) {
  switch (type) {
    case DType::kBool:
      return {0, 1};
    case DType::kU8:
      return {0, 255};
    case DType::kI8:
      return {-128, 127};
    case DType::kU64:
    case DType::kU32:
    case DType::kU16:
      return {0, 200};
    default:
      // Indices and sizes that are used in no known way: small, of both signs.
      return {-100, 100};
  }
}

// Narrows the ranges of the buffers that `e` reads.
void Narrow(const Expr& e, Range to, std::map<BufferId, Range>& ranges) {
  VisitExpr(e, [&](const ExprNode& node) {
    if (node.kind != ExprKind::kLoad || IsFloat(node.dtype)) return;
    const auto [found, is_new] = ranges.emplace(node.id, to);
    if (is_new) return;
    found->second.low = std::max(found->second.low, to.low);
    // The intersection of all uses, and never empty: two uses that contradict each other get some
    // value.
    found->second.high = std::max(found->second.low, std::min(found->second.high, to.high));
  });
}

void NarrowByUse(const Expr& e, std::map<BufferId, Range>& ranges) {
  if (e == nullptr) return;
  VisitExpr(e, [&](const ExprNode& node) {
    if (node.kind == ExprKind::kBoundsCheck && IsConstInt(node.operands[1])) {
      Narrow(node.operands[0], {0, std::max<int64_t>(node.operands[1]->int_value - 1, 0)}, ranges);
    }
    const bool divides = node.kind == ExprKind::kDiv || node.kind == ExprKind::kFloorDiv ||
                         node.kind == ExprKind::kMod;
    // No zero, which is a data error by definition; small, so that quotients differ.
    if (divides && !IsFloat(node.dtype)) Narrow(node.operands[1], {1, 7}, ranges);
  });
}

ArgumentRole RoleOf(BufferRole role) {
  switch (role) {
    case BufferRole::kConstant:
      return ArgumentRole::kConstant;
    case BufferRole::kOutput:
      return ArgumentRole::kOutput;
    default:
      return ArgumentRole::kInput;
  }
}

}  // namespace

ElementType ElementTypeOf(DType type) {
  switch (type) {
    case DType::kF32:
      return ElementType::kF32;
    case DType::kF64:
      return ElementType::kF64;
    case DType::kBf16:
      return ElementType::kBf16;
    case DType::kF16:
      return ElementType::kF16;
    case DType::kI64:
      return ElementType::kI64;
    case DType::kI32:
      return ElementType::kI32;
    case DType::kI16:
      return ElementType::kI16;
    case DType::kI8:
      return ElementType::kI8;
    case DType::kU64:
      return ElementType::kU64;
    case DType::kU32:
      return ElementType::kU32;
    case DType::kU16:
      return ElementType::kU16;
    case DType::kU8:
      return ElementType::kU8;
    case DType::kBool:
      return ElementType::kBool;
  }
  return ElementType::kF32;
}

std::vector<TensorSpec> PlanParameters(const Program& program) {
  std::map<BufferId, Range> ranges;
  for (const Block& block : program.blocks) {
    for (const Expr& e : {block.init, block.step, block.finish}) NarrowByUse(e, ranges);
  }
  std::vector<TensorSpec> parameters;
  for (const BufferId id : ParametersOf(program)) {
    const Buffer& buffer = program.buffers[id];
    TensorSpec spec{.role = RoleOf(buffer.role),
                    .type = ElementTypeOf(buffer.dtype),
                    .shape = buffer.shape,
                    .strides = buffer.storage.strides,
                    .border_value = buffer.storage.border_value,
                    .offset = buffer.storage.offset};
    for (const auto& [below, above] : buffer.storage.border) {
      spec.border_below.push_back(below);
      spec.border_above.push_back(above);
    }
    if (!IsFloat(buffer.dtype)) {
      const auto found = ranges.find(id);
      const Range range = found == ranges.end() ? RangeOf(buffer.dtype) : found->second;
      spec.low = range.low;
      spec.high = range.high;
    }
    parameters.push_back(std::move(spec));
  }
  return parameters;
}

}  // namespace burnish
