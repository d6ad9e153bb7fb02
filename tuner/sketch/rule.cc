#include "tuner/sketch/rule.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace burnish {

const std::vector<SketchRule>& SketchRules() {
  static const auto& rules = *new std::vector<SketchRule>{
      {"border", BorderRule},         {"contraction", ContractionRule},
      {"window", WindowRule},         {"row_reduction", RowReductionRule},
      {"interleave", InterleaveRule}, {"transpose", TransposeRule},
      {"spatial", SpatialRule},
  };
  return rules;
}

std::string NameOf(const Program& program, VarId var) { return program.vars[var].name; }

std::string List(const std::vector<std::string>& names) {
  return absl::StrCat("(", absl::StrJoin(names, ","), ")");
}

int64_t Extent(const Program& program, VarId axis) { return MaxExtent(program, axis); }

VarRanges AxisRanges(const Program& program) {
  return [&program](VarId var) -> std::optional<Range> {
    return Range{0, MaxExtent(program, var) - 1};
  };
}

LinearForm AddressOf(const Program& program, const ExprNode& load) {
  const Buffer& buffer = program.buffers[load.id];
  Expr address = Int(0);
  for (size_t d = 0; d < load.operands.size(); ++d) {
    address = address + load.operands[d] * buffer.storage.strides[d];
  }
  return ToLinear(address, AxisRanges(program));
}

bool DependsOn(const Program& program, const ExprNode& load, VarId axis) {
  return std::any_of(load.operands.begin(), load.operands.end(),
                     [&](const Expr& index) { return MentionsVar(index, axis); });
}

std::vector<Expr> DistinctLoads(const Block& block) {
  std::vector<Expr> loads;
  for (const Expr& e : {block.init, block.step, block.finish}) {
    RewriteExpr(e, [&](const Expr& node) -> Expr {
      if (node->kind == ExprKind::kLoad &&
          std::none_of(loads.begin(), loads.end(),
                       [&](const Expr& seen) { return StructurallyEqual(seen, node); })) {
        loads.push_back(node);
      }
      return nullptr;
    });
  }
  return loads;
}

bool IsUniformMap(const Program& program, const Block& block) {
  if (!block.reduction.empty() || program.buffers[block.output].dtype != DType::kF32 ||
      !WritesInAxisOrder(program, block)) {
    return false;
  }
  bool uniform = true;
  for (const Expr& e : {block.init, block.step, block.finish}) {
    if (e == nullptr) continue;
    VisitExpr(e, [&](const ExprNode& node) {
      uniform = uniform && node.kind != ExprKind::kSelect && node.kind != ExprKind::kBoundsCheck;
    });
  }
  return uniform;
}

int64_t FloorPowerOfTwo(int64_t value) {
  int64_t power = 1;
  while (power * 2 <= value) power *= 2;
  return power;
}

}  // namespace burnish
