// Everything else: elementwise and injective blocks, pooling, depthwise convolution, reductions
// over outer axes. The fastest output axis runs in vectors where loads walk it element by element;
// the other axes are fused and dealt out; a small reduction is kept in registers.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tuner/sketch/rule.h"

namespace burnish {
namespace {

// Whether every load that moves with `axis` would be a vector load, and no lane takes a way of its
// own.
bool VectorPays(const Program& program, const Block& block, VarId axis) {
  bool gathers = false;
  for (const Expr& load : DistinctLoads(block)) {
    if (!DependsOn(program, *load, axis)) continue;
    const LinearForm address = AddressOf(program, *load);
    gathers = gathers || address.HidesVar(axis) || address.CoefficientOf(axis) != 1;
  }
  bool divergent = false;
  for (const Expr& e : {block.init, block.step, block.finish}) {
    VisitExpr(e, [&](const ExprNode& node) {
      if (node.kind == ExprKind::kSelect && MentionsVar(node.operands[0], axis)) {
        for (const Expr& side : {node.operands[1], node.operands[2]}) {
          VisitExpr(side, [&](const ExprNode& inner) {
            divergent = divergent || inner.kind == ExprKind::kLoad;
          });
        }
      }
      divergent = divergent || node.kind == ExprKind::kBoundsCheck;
    });
  }
  return !divergent && !gathers;
}

}  // namespace

std::vector<Sketch> SpatialRule(const RuleContext& context, BlockId id) {
  const Program& program = context.program;
  const Block& block = program.blocks[id];
  const std::string name = block.name;
  Sketch sketch{.name = "spatial"};
  const auto add = [&](const std::string& text) { sketch.steps.push_back({.text = text}); };
  const auto loop = [&](absl::string_view what) { return absl::StrCat(name, "_", what); };

  int64_t work = 1;
  for (VarId axis : block.spatial) work *= Extent(program, axis);
  for (VarId axis : block.reduction) work *= Extent(program, axis);

  VarId vector_axis = -1;
  for (VarId axis : block.spatial) {
    if (Extent(program, axis) > 1) vector_axis = axis;
  }
  std::vector<std::string> rows;
  int64_t row_count = 1;
  for (VarId axis : block.spatial) {
    if (axis == vector_axis) continue;
    rows.push_back(NameOf(program, axis));
    row_count *= Extent(program, axis);
  }
  const bool floats = program.buffers[block.output].dtype == DType::kF32;
  const bool vector = vector_axis >= 0 && floats && Extent(program, vector_axis) >= 2 &&
                      VectorPays(program, block, vector_axis);
  if (vector_axis < 0 || (!vector && work < kParallelMin)) {
    // Too little to schedule: the default nest.
    sketch.name = "plain";
    return {sketch};
  }

  const std::string axis = NameOf(program, vector_axis);
  std::string row = rows.empty() ? "" : rows[0];
  std::vector<std::string> order = rows;
  order.push_back(axis);
  if (order.size() > 1) add(absl::StrCat("reorder@1 ", List(order)));
  if (rows.size() > 1) {
    add(absl::StrCat("fuse@1 ", List(rows), "->", loop("r")));
    row = loop("r");
  }
  std::string innermost = axis;
  if (vector) {
    const int64_t lanes =
        std::min<int64_t>(context.isa.float_lanes(), FloorPowerOfTwo(Extent(program, vector_axis)));
    add(absl::StrCat("split@1 ", axis, "->(", loop("vo"), ",", loop("vi"), ") size=$width"));
    Decision width{.name = "width"};
    for (int64_t v = 1; v <= 4; v *= 2) {
      if (v == 1 || v * lanes <= Extent(program, vector_axis)) width.values.push_back(v * lanes);
    }
    sketch.decisions.push_back(width);
    std::vector<std::string> inner = {loop("vo")};
    for (VarId reduction : block.reduction) inner.push_back(NameOf(program, reduction));
    inner.push_back(loop("vi"));
    add(absl::StrCat("reorder@1 ", List(inner)));
    innermost = loop("vo");
    if (!block.reduction.empty()) {
      add(absl::StrCat("stage@1 ", name, "->", loop("acc"), " inside=", loop("vo"),
                       " scope=register"));
    }
  }
  if (work >= kParallelMin) {
    // Deal out what there is most of.
    const bool by_rows = row_count >= context.threads;
    const std::string dealt = by_rows ? row : innermost;
    if (by_rows) {
      add(absl::StrCat("split@1 ", dealt, "->(", loop("p"), ",", loop("p1"),
                       ") parts=", context.threads));
      add(absl::StrCat("parallel@1 ", loop("p")));
    } else {
      if (!rows.empty()) add(absl::StrCat("reorder@1 ", List({dealt, row})));
      add(absl::StrCat("parallel@1 ", dealt));
    }
  }
  if (vector) {
    const int64_t lanes =
        std::min<int64_t>(context.isa.float_lanes(), FloorPowerOfTwo(Extent(program, vector_axis)));
    add(absl::StrCat("vectorize@1 ", loop("vi"), " lanes=", lanes));
    for (VarId reduction : block.reduction) {
      if (Extent(program, reduction) <= 4)
        add(absl::StrCat("unroll@1 ", NameOf(program, reduction)));
    }
  }
  return {sketch};
}

}  // namespace burnish
